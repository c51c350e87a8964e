//! Rules: their bodies in the API's format, and the counter slots of their limits.

mod activity;
mod list;
mod others;
mod outage;
mod row;
mod served;

use weir_domain::id::{RuleId, TenantId};
use weir_domain::pattern_budget::PatternCost;
use weir_domain::time::Timestamp;

use crate::actor::Actor;
use crate::connection::PooledConnection;
use crate::convert::{signed, stored, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};
use crate::rule_revisions::{self, RevisionRow};

pub use activity::{COUNTED_OVERRIDES_MAX, RuleActivity};
pub use list::{RuleAfter, RuleFilter, RuleHas};
pub use others::OtherRules;
pub use outage::OutageRules;
pub use row::RuleRow;
use row::{Row, query_rules, stored_patterns, stored_slot, stored_slots};
pub use served::ServedRule;
pub(crate) use served::{changed, changed_statement, of_tenants, remaining, remaining_statement};

/// The fields of a rule that its author sets.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleBody {
    /// The namespace.
    pub namespace: String,
    /// The name, unique in the namespace.
    pub name: String,
    /// The body in the API's format.
    pub spec: serde_json::Value,
    /// The counter slot of each limit, in the order of the body.
    pub slots: Vec<u32>,
    /// The lowest counter slot that was never used.
    pub next_slot: u32,
    /// The cost of the regular expressions.
    pub patterns: PatternCost,
}

/// A rule to be inserted or updated.
#[derive(Debug, Clone)]
pub struct RuleWrite {
    /// The tenant that owns the rule.
    pub tenant_id: TenantId,
    /// The rule's id.
    pub id: RuleId,
    /// The new content.
    pub body: RuleBody,
    /// The set of rules as code to which the rule belongs from this write on. `None` leaves it where it is.
    pub managed_by: Option<String>,
    /// The current time.
    pub now: Timestamp,
}

/// The table of rules.
#[derive(Debug)]
pub struct Rules<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Rules<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Inserts a rule and its first revision.
    pub async fn insert(self, new: &RuleWrite, actor: &Actor) -> Result<RuleRow, StoreError> {
        let row: RuleRow = query_rules!(
            "-- rules.insert
            INSERT INTO rules (
                tenant_id,
                id,
                namespace,
                name,
                spec,
                slots,
                next_slot,
                revision,
                created_at,
                updated_at,
                patterns,
                pattern_bytes,
                managed_by,
                applied_digest
            )
            VALUES (
                $1, $2, $3, $4, $5, $6, $7, 1, $8, $8, $9, $10, $11,
                CASE WHEN $11::text IS NOT NULL THEN md5(concat_ws(' ', $3::text, $4::text, $5::jsonb)) END
            )
            RETURNING",
            "",
            uuid(new.tenant_id.to_u128()),
            uuid(new.id.to_u128()),
            new.body.namespace,
            new.body.name,
            new.body.spec,
            &stored_slots(&new.body.slots),
            stored_slot(new.body.next_slot),
            stored(new.now),
            stored_patterns(new.body.patterns.patterns),
            signed(new.body.patterns.bytes),
            new.managed_by.as_deref(),
        )
        .fetch_one(&mut *self.conn)
        .await?
        .into();
        rule_revisions::insert(self.conn, None, &row, actor);
        Ok(row)
    }

    /// Updates a rule if it still has the revision that the caller read, and adds a revision. `None` if it does not
    /// exist.
    pub async fn update(
        self,
        write: &RuleWrite,
        expected_revision: u64,
        actor: &Actor,
    ) -> Result<Option<RuleRow>, StoreError> {
        let before = match lock(self.conn, write.tenant_id, write.id).await? {
            None => return Ok(None),
            Some(row) if row.revision != expected_revision => return Err(StoreError::Stale),
            Some(row) => row.spec,
        };
        let row: RuleRow = query_rules!(
            "-- rules.update
            UPDATE rules
            SET
                namespace = $3,
                name = $4,
                spec = $5,
                slots = $6,
                next_slot = $7,
                revision = revision + 1,
                updated_at = $8,
                patterns = $9,
                pattern_bytes = $10,
                managed_by = coalesce($11, managed_by),
                applied_digest = CASE
                    WHEN $11::text IS NULL THEN applied_digest
                    ELSE md5(concat_ws(' ', $3::text, $4::text, $5::jsonb))
                END
            WHERE tenant_id = $1 AND id = $2
            RETURNING",
            "",
            uuid(write.tenant_id.to_u128()),
            uuid(write.id.to_u128()),
            write.body.namespace,
            write.body.name,
            write.body.spec,
            &stored_slots(&write.body.slots),
            stored_slot(write.body.next_slot),
            stored(write.now),
            stored_patterns(write.body.patterns.patterns),
            signed(write.body.patterns.bytes),
            write.managed_by.as_deref(),
        )
        .fetch_one(&mut *self.conn)
        .await?
        .into();
        rule_revisions::insert(self.conn, Some(&before), &row, actor);
        Ok(Some(row))
    }

    /// Deletes a rule with its overrides and revisions, and returns its last content.
    pub async fn delete(
        self,
        tenant_id: TenantId,
        id: RuleId,
        expected_revision: Option<u64>,
    ) -> Result<Option<RuleRow>, StoreError> {
        let Some(row) = lock(self.conn, tenant_id, id).await? else {
            return Ok(None);
        };
        if expected_revision.is_some_and(|expected| expected != row.revision) {
            return Err(StoreError::Stale);
        }
        sqlx::query!(
            "-- rules.delete
            DELETE FROM rules WHERE tenant_id = $1 AND id = $2",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .execute(self.conn)
        .await?;
        Ok(Some(row))
    }

    /// Returns the rule with this id.
    pub async fn find(
        self,
        tenant_id: TenantId,
        id: RuleId,
    ) -> Result<Option<RuleRow>, StoreError> {
        let row = query_rules!(
            "-- rules.find
            SELECT",
            "FROM rules
            WHERE tenant_id = $1 AND id = $2",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(RuleRow::from))
    }

    /// Lists the revisions of a rule, newest first. The page starts before a revision.
    pub async fn revisions(
        self,
        tenant_id: TenantId,
        id: RuleId,
        page: &Page<u64>,
    ) -> Result<Listing<RevisionRow>, StoreError> {
        rule_revisions::list(self.conn, tenant_id, id, page).await
    }

    /// Deletes all but the newest `most` revisions of a rule of the tenant in scope. Returns the number of deleted
    /// rows.
    pub async fn keep_revisions(self, id: RuleId, most: u64) -> Result<u64, StoreError> {
        rule_revisions::keep(self.conn, id, most).await
    }

    /// Returns one revision of a rule.
    pub async fn revision(
        self,
        tenant_id: TenantId,
        id: RuleId,
        revision: u64,
    ) -> Result<Option<RevisionRow>, StoreError> {
        rule_revisions::find(self.conn, tenant_id, id, revision).await
    }
}

/// All rules of a namespace.
pub(crate) async fn of_namespace(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    namespace: &str,
) -> Result<Vec<RuleRow>, StoreError> {
    let rows = query_rules!(
        "-- rules.of_namespace
        SELECT",
        "FROM rules
        WHERE tenant_id = $1 AND namespace = $2
        ORDER BY id",
        uuid(tenant_id.to_u128()),
        namespace,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(RuleRow::from).collect())
}

async fn lock(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    id: RuleId,
) -> Result<Option<RuleRow>, StoreError> {
    let row = query_rules!(
        "-- rules.lock
        SELECT",
        "FROM rules
        WHERE tenant_id = $1 AND id = $2
        FOR UPDATE",
        uuid(tenant_id.to_u128()),
        uuid(id.to_u128()),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(RuleRow::from))
}
