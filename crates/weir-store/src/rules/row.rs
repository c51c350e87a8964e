//! The columns of a rule.

use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::convert::{timestamp, unsigned};

/// A rule.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleRow {
    /// The rule's id.
    pub id: RuleId,
    /// The tenant that owns the rule.
    pub tenant_id: TenantId,
    /// The namespace.
    pub namespace: String,
    /// The name, unique in the namespace.
    pub name: String,
    /// The body in the API's format.
    pub spec: serde_json::Value,
    /// The attributes by whose values the counters of the namespace are spread.
    pub spread_by: Vec<String>,
    /// The counter slot of each limit, in the order of the body.
    pub slots: Vec<u32>,
    /// The lowest counter slot that was never used.
    pub next_slot: u32,
    /// The set of rules as code to which the rule belongs.
    pub managed_by: Option<String>,
    /// Whether the rule differs from what the last apply of its set wrote.
    pub edited: bool,
    /// The number of writes so far.
    pub revision: u64,
    /// The version of the rulebook from which gates serve the rule; 0 inside the transaction that writes it.
    pub rulebook_version: u64,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last write.
    pub updated_at: Timestamp,
}

/// The columns as Postgres returns them.
pub(super) struct Row {
    pub(super) tenant_id: Uuid,
    pub(super) id: Uuid,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) spec: serde_json::Value,
    /// `None` if the namespace has no settings.
    pub(super) spread_by: Option<Vec<String>>,
    pub(super) slots: Vec<i32>,
    pub(super) next_slot: i32,
    pub(super) managed_by: Option<String>,
    pub(super) edited: bool,
    pub(super) revision: i64,
    /// `None` until the change is published.
    pub(super) rulebook_version: Option<i64>,
    pub(super) created_at: OffsetDateTime,
    pub(super) updated_at: OffsetDateTime,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_rules {
    ($head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + "
                tenant_id,
                id,
                namespace,
                name,
                spec,
                (
                    SELECT n.spread_by FROM namespaces n
                    WHERE n.tenant_id = rules.tenant_id AND n.name = rules.namespace
                ) AS spread_by,
                slots,
                next_slot,
                managed_by,
                coalesce(
                    managed_by IS NOT NULL
                        AND applied_digest <> md5(concat_ws(' ', namespace, name, spec)),
                    false
                ) AS \"edited!\",
                revision,
                (
                    SELECT c.rulebook_version FROM tenant_changes c
                    WHERE c.tenant_id = rules.tenant_id AND c.sequence = rules.sequence
                ) AS rulebook_version,
                created_at,
                updated_at
                "
                + $tail
            $(, $argument)*
        )
    };
}
pub(super) use query_rules;

impl From<Row> for RuleRow {
    fn from(row: Row) -> Self {
        Self {
            id: RuleId::from_u128(row.id.as_u128()),
            tenant_id: TenantId::from_u128(row.tenant_id.as_u128()),
            namespace: row.namespace,
            name: row.name,
            spec: row.spec,
            spread_by: row.spread_by.unwrap_or_default(),
            slots: row.slots.into_iter().map(slot).collect(),
            next_slot: slot(row.next_slot),
            managed_by: row.managed_by,
            edited: row.edited,
            revision: unsigned(row.revision),
            rulebook_version: row.rulebook_version.map_or(0, unsigned),
            created_at: timestamp(row.created_at),
            updated_at: timestamp(row.updated_at),
        }
    }
}

pub(super) fn stored_slot(slot: u32) -> i32 {
    i32::try_from(slot).unwrap_or(i32::MAX)
}

pub(super) fn stored_slots(slots: &[u32]) -> Vec<i32> {
    slots.iter().copied().map(stored_slot).collect()
}

/// Saturates far above the bound: a rule has at most 16 conditions.
pub(super) fn stored_patterns(patterns: u64) -> i32 {
    i32::try_from(patterns).unwrap_or(i32::MAX)
}

pub(super) fn slot(stored: i32) -> u32 {
    u32::try_from(stored).unwrap_or(0)
}
