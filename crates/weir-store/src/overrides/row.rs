//! The columns of an override.

use serde_json::Value;
use weir_domain::id::RuleId;
use weir_domain::time::Timestamp;

/// The columns that only overrides have.
#[derive(Debug, Clone, PartialEq)]
pub struct OverrideColumns {
    /// The rule.
    pub rule_id: RuleId,
    /// The subject, as attributes and their values.
    pub subject: Value,
    /// The reason that the author gave.
    pub reason: String,
    /// The digest of what the last apply of its set wrote.
    pub applied_digest: Option<String>,
    /// The time after which the override does not apply.
    pub expires_at: Option<Timestamp>,
}

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
            |row| $crate::overrides::row::OverrideColumns {
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
