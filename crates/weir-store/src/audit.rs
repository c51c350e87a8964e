//! The audit log: hash chains of entries that can be appended and read, but not changed.
//!
//! The database assigns the time, the sequence number and the hash of an entry (a trigger of `audit_entries`).

use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{AuditId, TenantId, UserId};
use weir_domain::time::Timestamp;

use crate::actor::Actor;
use crate::connection::PooledConnection;
use crate::convert::{all, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::message::statement;
use crate::page::{Listing, Page};

pub(crate) mod chain;

/// An entry to append. The database adds the time.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAudit {
    /// The entry's id.
    pub id: AuditId,
    /// The tenant of the log. `None` selects the personal log of the actor, or the installation's log if the actor is not
    /// a person.
    pub tenant_id: Option<TenantId>,
    /// The person, key or system that acted.
    pub actor: Actor,
    /// The action, such as `rule.update`.
    pub action: String,
    /// The kind of the changed object.
    pub object_kind: String,
    /// The id of the changed object.
    pub object_id: String,
    /// The object before the change.
    pub before: Option<Value>,
    /// The object after the change.
    pub after: Option<Value>,
    /// The client's address.
    pub ip: Option<String>,
    /// The id of the request.
    pub request_id: String,
}

/// A stored entry.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRow {
    /// The entry's id.
    pub id: AuditId,
    /// The tenant of the log. `None` for personal logs and the installation's.
    pub tenant_id: Option<TenantId>,
    /// The person, key or system that acted.
    pub actor: Actor,
    /// The action, such as `rule.update`.
    pub action: String,
    /// The kind of the changed object.
    pub object_kind: String,
    /// The id of the changed object.
    pub object_id: String,
    /// The object before the change.
    pub before: Option<Value>,
    /// The object after the change.
    pub after: Option<Value>,
    /// The client's address.
    pub ip: Option<String>,
    /// The id of the request.
    pub request_id: String,
    /// The time of the insertion, from the database.
    pub at: Timestamp,
    /// The sequence number in the chain of the log, from 1.
    pub seq: u64,
}

/// The log to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditLog {
    /// A tenant's log.
    Tenant {
        /// The tenant.
        id: TenantId,
        /// Whether to include refused log-ins of its members.
        log_ins: bool,
    },
    /// A person's own log.
    Person(UserId),
    /// All logs outside of tenants: personal logs and the installation's.
    Installation,
}

/// Restricts a list of entries. A field that is `None` does not restrict it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// The action, such as `rule.update`, or its first part, such as `rule` for all actions on rules.
    pub action: Option<String>,
    /// A part of the actor's name, in any case.
    pub actor: Option<String>,
    /// A part of the object's name, e-mail or id, of the client's address or of the request's id, in any case.
    pub search: Option<String>,
    /// The start of the range, inclusive.
    pub from: Option<Timestamp>,
    /// The end of the range, exclusive.
    pub to: Option<Timestamp>,
}

/// The table of audit entries.
#[derive(Debug)]
pub struct Audit<'t> {
    conn: &'t mut PooledConnection,
    appended: &'t mut Vec<NewAudit>,
}

impl<'t> Audit<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection, appended: &'t mut Vec<NewAudit>) -> Self {
        Self { conn, appended }
    }

    /// Appends an entry, in the transaction of the change it describes. Locks the log's chain until the end of the
    /// transaction, so call it after the change. The entry travels with the next statement, which returns its error.
    pub fn append(self, new: &NewAudit) {
        self.insert(new, None);
    }

    /// Appends an entry to a person's log. An actor other than that person must be an operator or the system.
    pub fn append_about(self, user_id: UserId, new: &NewAudit) {
        self.insert(new, Some(user_id));
    }

    fn insert(self, new: &NewAudit, user_id: Option<UserId>) {
        self.conn.defer(statement!(
            "-- audit.append
            INSERT INTO audit_entries (
                id,
                tenant_id,
                user_id,
                actor_kind,
                actor_id,
                actor_label,
                action,
                object_kind,
                object_id,
                before,
                after,
                ip,
                request_id
            )
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
            uuid(new.id.to_u128()),
            new.tenant_id.map(|id| uuid(id.to_u128())),
            user_id.map(|id| uuid(id.to_u128())),
            new.actor.kind(),
            new.actor.stored_id(),
            new.actor.label(),
            new.action,
            new.object_kind,
            new.object_id,
            new.before,
            new.after,
            new.ip,
            new.request_id,
        ));
        self.appended.push(new.clone());
    }

    /// Lists the entries of a log after a sequence number, oldest first, at most `limit`. Entries of refused log-ins that belong to
    /// members' own logs are not part of a tenant's. The number is taken under a lock that lasts until the entry is
    /// committed, so no entry appears later before one that was read. `None` for all logs outside of tenants, which have no
    /// common order.
    pub async fn tail(
        self,
        log: AuditLog,
        after: u64,
        limit: u32,
    ) -> Result<Option<Vec<AuditRow>>, StoreError> {
        let chain = match log {
            AuditLog::Tenant { id, .. } => uuid(id.to_u128()),
            AuditLog::Person(id) => uuid(id.to_u128()),
            AuditLog::Installation => return Ok(None),
        };
        let rows = sqlx::query_as!(
            Row,
            "-- audit.tail
            SELECT
                id,
                tenant_id,
                actor_kind,
                actor_id,
                actor_label,
                action,
                object_kind,
                object_id,
                before,
                after,
                ip,
                request_id,
                at,
                seq
            FROM audit_entries
            WHERE chain = $1 AND seq > $2
            ORDER BY seq
            LIMIT $3",
            chain,
            i64::try_from(after).unwrap_or(i64::MAX),
            i64::from(limit),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(Some(all(rows)?))
    }

    /// Lists the entries of a log, newest first.
    pub async fn list(
        self,
        log: AuditLog,
        filter: &AuditFilter,
        page: &Page<AuditId>,
    ) -> Result<Listing<AuditRow>, StoreError> {
        let (tenant_id, user_id, log_ins, installation) = match log {
            AuditLog::Tenant { id, log_ins } => (Some(uuid(id.to_u128())), None, log_ins, false),
            AuditLog::Person(id) => (None, Some(uuid(id.to_u128())), false, false),
            AuditLog::Installation => (None, None, false, true),
        };
        let rows = sqlx::query_as!(
            Row,
            r#"-- audit.list
            WITH log AS (
                SELECT * FROM audit_entries WHERE tenant_id = $8
                UNION ALL
                SELECT * FROM audit_entries WHERE tenant_id IS NULL AND user_id = $9
                UNION ALL
                SELECT * FROM audit_entries
                WHERE $10 AND tenant_id IS NULL AND action = 'user.login_refused'
                    AND user_id IN (SELECT m.user_id FROM memberships m WHERE m.tenant_id = $8)
                UNION ALL
                SELECT * FROM audit_entries WHERE $11 AND tenant_id IS NULL
            )
            SELECT
                id AS "id!",
                tenant_id,
                actor_kind AS "actor_kind!",
                actor_id,
                actor_label AS "actor_label!",
                action AS "action!",
                object_kind AS "object_kind!",
                object_id AS "object_id!",
                before,
                after,
                ip,
                request_id AS "request_id!",
                at AS "at!",
                seq AS "seq!"
            FROM log
            WHERE ($1::uuid IS NULL OR id < $1)
                AND ($3::text IS NULL OR action = $3 OR starts_with(action, $3 || '.'))
                AND ($4::text IS NULL OR strpos(lower(actor_label), lower($4)) > 0)
                AND (
                    $5::text IS NULL
                    OR strpos(
                        lower(concat_ws(
                            ' ',
                            object_id,
                            after ->> 'name',
                            before ->> 'name',
                            after ->> 'email',
                            before ->> 'email',
                            ip,
                            request_id
                        )),
                        lower($5)
                    ) > 0
                )
                AND ($6::timestamptz IS NULL OR at >= $6)
                AND ($7::timestamptz IS NULL OR at < $7)
            ORDER BY id DESC
            LIMIT $2"#,
            page.after.map(|id| uuid(id.to_u128())),
            page.fetch(),
            filter.action,
            filter.actor,
            filter.search,
            filter.from.map(stored),
            filter.to.map(stored),
            tenant_id,
            user_id,
            log_ins,
            installation,
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(all(rows)?))
    }

    /// Removes entries older than `days`, at most `most` of each log, and records the last removed entry in each log.
    /// Returns the number of removed entries.
    pub async fn purge(self, days: u16, most: u32) -> Result<u64, StoreError> {
        let purged = sqlx::query_scalar!(
            r#"-- audit.purge
            SELECT weir_purge_audit($1, $2) AS "purged!""#,
            i32::from(days),
            i32::try_from(most).unwrap_or(i32::MAX),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(purged))
    }
}

struct Row {
    id: Uuid,
    tenant_id: Option<Uuid>,
    actor_kind: String,
    actor_id: Option<Uuid>,
    actor_label: String,
    action: String,
    object_kind: String,
    object_id: String,
    before: Option<Value>,
    after: Option<Value>,
    ip: Option<String>,
    request_id: String,
    at: OffsetDateTime,
    seq: i64,
}

impl TryFrom<Row> for AuditRow {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: AuditId::from_u128(row.id.as_u128()),
            tenant_id: row.tenant_id.map(|id| TenantId::from_u128(id.as_u128())),
            actor: Actor::from_stored(&row.actor_kind, row.actor_id, row.actor_label)?,
            action: row.action,
            object_kind: row.object_kind,
            object_id: row.object_id,
            before: row.before,
            after: row.after,
            ip: row.ip,
            request_id: row.request_id,
            at: timestamp(row.at),
            seq: unsigned(row.seq),
        })
    }
}
