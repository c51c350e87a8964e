//! Rules: their bodies in the API's format, and the counter slots of their limits.

mod activity;
mod list;
mod others;
mod outage;
mod row;
mod served;

use serde_json::Value;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::pattern_budget::PatternCost;

use crate::actor::Actor;
use crate::connection::PooledConnection;
use crate::convert::{all, signed, stored, unsigned, uuid};
use crate::error::StoreError;
use crate::message::statement;
use crate::page::{Listing, Page};
use crate::revisions::{RevisionRow, revised, revision_writes};
use crate::specs::{Revised, Spec, SpecRow, SpecWrite, Specs, spec_statements};

pub use activity::{COUNTED_OVERRIDES_MAX, RuleActivity};
pub use list::{RuleAfter, RuleFilter, RuleHas};
pub use others::OtherRules;
pub use outage::OutageRules;
pub use row::RuleColumns;
use row::{query_rules, stored_patterns, stored_slot, stored_slots};
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
    pub spec: Value,
    /// The counter slot of each limit, in the order of the body.
    pub slots: Vec<u32>,
    /// The lowest counter slot that was never used.
    pub next_slot: u32,
    /// The cost of the regular expressions.
    pub patterns: PatternCost,
}

/// The kind of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSpec;

/// A rule.
pub type RuleRow = SpecRow<RuleSpec>;
/// A rule to be inserted or updated.
pub type RuleWrite = SpecWrite<RuleSpec>;
/// The table of rules.
pub type Rules<'t> = Specs<'t, RuleSpec>;

/// A statement that writes a rule and returns it.
macro_rules! write_rule {
    ($write:ident, $sql:literal $(, $more:expr)?) => {
        query_rules!(
            $sql,
            "",
            uuid($write.tenant_id.to_u128()),
            uuid($write.id.to_u128()),
            $write.body.namespace,
            $write.body.name,
            $write.body.spec,
            &stored_slots(&$write.body.slots),
            stored_slot($write.body.next_slot),
            stored($write.now),
            stored_patterns($write.body.patterns.patterns),
            signed($write.body.patterns.bytes),
            $write.managed_by.as_deref()
            $(, $more)?
        )
    };
}

impl Spec for RuleSpec {
    type Id = RuleId;
    type Columns = RuleColumns;
    type Body = RuleBody;

    spec_statements!("rules", query_rules);
    revision_writes!("rule_revisions", "rule_id", "weir_keep_revisions");

    async fn insert(conn: &mut PooledConnection, new: &RuleWrite) -> Result<RuleRow, StoreError> {
        let inserted = write_rule!(
            new,
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
            RETURNING"
        );
        Ok(inserted.fetch_one(conn).await?)
    }

    async fn update(
        conn: &mut PooledConnection,
        write: &RuleWrite,
        revision: u64,
    ) -> Result<Option<RuleRow>, StoreError> {
        let updated = write_rule!(
            write,
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
            WHERE tenant_id = $1 AND id = $2 AND revision = $12
            RETURNING",
            signed(revision)
        );
        Ok(updated.fetch_optional(conn).await?)
    }
}

revised!(RuleSpec, "rule_revisions", "rule_id");

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
    );
    Ok(rows.fetch_all(conn).await?)
}
