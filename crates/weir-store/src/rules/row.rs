//! The columns of a rule.

/// The columns that only rules have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleColumns {
    /// The namespace.
    pub namespace: String,
    /// The name, unique in the namespace.
    pub name: String,
    /// The attributes by whose values the counters of the namespace are spread.
    pub spread_by: Vec<String>,
    /// The counter slot of each limit, in the order of the body.
    pub slots: Vec<u32>,
    /// The lowest counter slot that was never used.
    pub next_slot: u32,
}

/// A statement that returns rules: `$head`, the columns, `$tail`.
macro_rules! query_rules {
    ($($statement:tt)+) => {
        $crate::specs::query_specs!(
            (
                weir_domain::id::RuleId,
                "rules",
                "concat_ws(' ', namespace, name, spec)",
                "namespace,
                name,
                slots,
                next_slot,
                (
                    SELECT n.spread_by FROM namespaces n
                    WHERE n.tenant_id = rules.tenant_id AND n.name = rules.namespace
                ) AS spread_by"
            ),
            |row| $crate::rules::row::RuleColumns {
                namespace: row.namespace,
                name: row.name,
                // None if the namespace has no settings.
                spread_by: row.spread_by.unwrap_or_default(),
                slots: row.slots.into_iter().map($crate::rules::row::slot).collect(),
                next_slot: $crate::rules::row::slot(row.next_slot),
            },
            $($statement)+
        )
    };
}
pub(super) use query_rules;

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

pub(crate) fn slot(stored: i32) -> u32 {
    u32::try_from(stored).unwrap_or(0)
}
