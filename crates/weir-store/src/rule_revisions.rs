//! The revisions of rules: the actor, the time, and the body before and after.

use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::actor::Actor;
use crate::connection::PooledConnection;
use crate::convert::{all, signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::message::statement;
use crate::page::{Listing, Page};
use crate::rules::RuleRow;

/// A revision of a rule or of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionRow {
    /// The revision's number, from 1.
    pub revision: u64,
    /// The person, key or system that wrote it.
    pub actor: Actor,
    /// The time of the write.
    pub at: Timestamp,
    /// The body before the write. `None` for the first revision.
    pub before: Option<Value>,
    /// The body after the write.
    pub after: Value,
}

/// The columns as Postgres returns them.
pub(crate) struct Row {
    pub(crate) revision: i64,
    pub(crate) actor_kind: String,
    pub(crate) actor_id: Option<Uuid>,
    pub(crate) actor_label: String,
    pub(crate) at: OffsetDateTime,
    pub(crate) before: Option<Value>,
    pub(crate) after: Value,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_revisions {
    ($head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + "
                revision,
                actor_kind,
                actor_id,
                actor_label,
                at,
                before,
                after
                "
                + $tail
            $(, $argument)*
        )
    };
}
pub(crate) use query_revisions;

/// Adds a revision. It travels with the next statement.
pub(crate) fn insert(
    conn: &mut PooledConnection,
    before: Option<&Value>,
    rule: &RuleRow,
    actor: &Actor,
) {
    conn.defer(statement!(
        "-- rule_revisions.insert
        INSERT INTO rule_revisions (
            tenant_id,
            rule_id,
            revision,
            actor_kind,
            actor_id,
            actor_label,
            at,
            before,
            after
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        uuid(rule.tenant_id.to_u128()),
        uuid(rule.id.to_u128()),
        signed(rule.revision),
        actor.kind(),
        actor.stored_id(),
        actor.label(),
        stored(rule.updated_at),
        before,
        rule.spec,
    ));
}

/// Deletes all but the newest `most` revisions of a rule of the tenant in scope. Returns the number of deleted rows.
pub(crate) async fn keep(
    conn: &mut PooledConnection,
    rule_id: RuleId,
    most: u64,
) -> Result<u64, StoreError> {
    let removed = sqlx::query_scalar!(
        r#"-- rule_revisions.keep
        SELECT weir_keep_revisions($1, $2) AS "removed!""#,
        uuid(rule_id.to_u128()),
        signed(most),
    )
    .fetch_one(conn)
    .await?;
    Ok(unsigned(removed))
}

pub(crate) async fn list(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    rule_id: RuleId,
    page: &Page<u64>,
) -> Result<Listing<RevisionRow>, StoreError> {
    let rows = query_revisions!(
        "-- rule_revisions.list
        SELECT",
        "FROM rule_revisions
        WHERE tenant_id = $1 AND rule_id = $2 AND ($3::bigint IS NULL OR revision < $3)
        ORDER BY revision DESC
        LIMIT $4",
        uuid(tenant_id.to_u128()),
        uuid(rule_id.to_u128()),
        page.after.map(signed),
        page.fetch(),
    )
    .fetch_all(conn)
    .await?;
    Ok(page.listing(all(rows)?))
}

pub(crate) async fn find(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    rule_id: RuleId,
    revision: u64,
) -> Result<Option<RevisionRow>, StoreError> {
    query_revisions!(
        "-- rule_revisions.find
        SELECT",
        "FROM rule_revisions
        WHERE tenant_id = $1 AND rule_id = $2 AND revision = $3",
        uuid(tenant_id.to_u128()),
        uuid(rule_id.to_u128()),
        signed(revision),
    )
    .fetch_optional(conn)
    .await?
    .map(RevisionRow::try_from)
    .transpose()
}

impl TryFrom<Row> for RevisionRow {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            revision: unsigned(row.revision),
            actor: Actor::from_stored(&row.actor_kind, row.actor_id, row.actor_label)?,
            at: timestamp(row.at),
            before: row.before,
            after: row.after,
        })
    }
}
