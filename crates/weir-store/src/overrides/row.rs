//! The columns of an override.

/// A statement that returns overrides: `$head`, the columns, `$tail`.
macro_rules! query_overrides {
    ($($statement:tt)+) => {
        $crate::specs::query_specs!(
            (
                weir_domain::id::OverrideId,
                "overrides",
                "spec::text",
                "rule_id,
                subject,
                reason,
                applied_digest,
                expires_at"
            ),
            |row| $crate::overrides::OverrideColumns {
                rule_id: weir_domain::id::RuleId::from_u128(row.rule_id.as_u128()),
                subject: row.subject,
                reason: row.reason,
                applied_digest: row.applied_digest,
                expires_at: row.expires_at.map($crate::convert::timestamp),
            },
            $($statement)+
        )
    };
}
pub(super) use query_overrides;
