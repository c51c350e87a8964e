//! The audit log: written and read, never changed.

use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{AuditId, TenantId};
use weir_domain::time::Timestamp;

use crate::actor::Actor;
use crate::convert::{all, stored, timestamp, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};

/// Something that was done, to be remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAudit {
    /// Which entry.
    pub id: AuditId,
    /// Whose affairs; none for a person's own.
    pub tenant_id: Option<TenantId>,
    /// Who did it.
    pub actor: Actor,
    /// What was done, such as `rule.update`.
    pub action: String,
    /// The kind of thing it was done to.
    pub object_kind: String,
    /// Which thing.
    pub object_id: String,
    /// What it was.
    pub before: Option<Value>,
    /// What it became.
    pub after: Option<Value>,
    /// From where.
    pub ip: Option<String>,
    /// In which request.
    pub request_id: String,
    /// When.
    pub at: Timestamp,
}

/// Something that was done.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRow {
    /// Which entry.
    pub id: AuditId,
    /// Whose affairs; none for a person's own.
    pub tenant_id: Option<TenantId>,
    /// Who did it.
    pub actor: Actor,
    /// What was done, such as `rule.update`.
    pub action: String,
    /// The kind of thing it was done to.
    pub object_kind: String,
    /// Which thing.
    pub object_id: String,
    /// What it was.
    pub before: Option<Value>,
    /// What it became.
    pub after: Option<Value>,
    /// From where.
    pub ip: Option<String>,
    /// In which request.
    pub request_id: String,
    /// When.
    pub at: Timestamp,
}

/// Which entries are wanted; nothing given wants all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// What was done, such as `rule.update`, or `rule` for all that was done to rules.
    pub action: Option<String>,
    /// In the name of who did it, in any case.
    pub actor: Option<String>,
    /// In the name, e-mail or id of the thing, in the address it came from or the id of the request, in any case.
    pub search: Option<String>,
    /// Not before.
    pub from: Option<Timestamp>,
    /// Before.
    pub to: Option<Timestamp>,
}

/// The table of audit entries.
#[derive(Debug)]
pub struct Audit<'t> {
    conn: &'t mut PgConnection,
}

impl<'t> Audit<'t> {
    pub(crate) fn new(conn: &'t mut PgConnection) -> Self {
        Self { conn }
    }

    /// Adds an entry, in the transaction of what it tells of.
    pub async fn append(self, new: &NewAudit) -> Result<(), StoreError> {
        sqlx::query!(
            "-- audit.append
            INSERT INTO audit_entries (
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
                at
            )
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
            uuid(new.id.to_u128()),
            new.tenant_id.map(|id| uuid(id.to_u128())),
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
            stored(new.at),
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// A tenant's entries, newest first.
    pub async fn list(
        self,
        tenant_id: TenantId,
        filter: &AuditFilter,
        page: &Page<AuditId>,
    ) -> Result<Listing<AuditRow>, StoreError> {
        let rows = sqlx::query_as!(
            Row,
            "-- audit.list
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
                at
            FROM audit_entries
            WHERE tenant_id = $1
                AND ($2::uuid IS NULL OR id < $2)
                AND ($4::text IS NULL OR action = $4 OR starts_with(action, $4 || '.'))
                AND ($5::text IS NULL OR strpos(lower(actor_label), lower($5)) > 0)
                AND (
                    $6::text IS NULL
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
                        lower($6)
                    ) > 0
                )
                AND ($7::timestamptz IS NULL OR at >= $7)
                AND ($8::timestamptz IS NULL OR at < $8)
            ORDER BY id DESC
            LIMIT $3",
            uuid(tenant_id.to_u128()),
            page.after.map(|id| uuid(id.to_u128())),
            page.fetch(),
            filter.action,
            filter.actor,
            filter.search,
            filter.from.map(stored),
            filter.to.map(stored),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(all(rows)?))
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
        })
    }
}
