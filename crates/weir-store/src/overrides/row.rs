//! The columns of an override.

use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{OverrideId, RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::convert::{timestamp, unsigned};

/// An override.
#[derive(Debug, Clone, PartialEq)]
pub struct OverrideRow {
    /// The override's id.
    pub id: OverrideId,
    /// The tenant that owns the rule.
    pub tenant_id: TenantId,
    /// The rule.
    pub rule_id: RuleId,
    /// The subject, as attributes and their values.
    pub subject: Value,
    /// The limits or the action, in the API's format.
    pub spec: Value,
    /// The reason that the author gave.
    pub reason: String,
    /// The set of rules as code to which the override belongs.
    pub managed_by: Option<String>,
    /// Whether the override differs from what the last apply of its set wrote.
    pub edited: bool,
    /// The digest of what the last apply of its set wrote.
    pub applied_digest: Option<String>,
    /// The time after which the override does not apply.
    pub expires_at: Option<Timestamp>,
    /// The number of writes so far.
    pub revision: u64,
    /// The version of the rulebook from which gates serve the override; 0 inside the transaction that writes it.
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
    pub(super) rule_id: Uuid,
    pub(super) subject: Value,
    pub(super) spec: Value,
    pub(super) reason: String,
    pub(super) managed_by: Option<String>,
    pub(super) edited: bool,
    pub(super) applied_digest: Option<String>,
    pub(super) expires_at: Option<OffsetDateTime>,
    pub(super) revision: i64,
    /// `None` until the change is published.
    pub(super) rulebook_version: Option<i64>,
    pub(super) created_at: OffsetDateTime,
    pub(super) updated_at: OffsetDateTime,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_overrides {
    ($head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + "
                tenant_id,
                id,
                rule_id,
                subject,
                spec,
                reason,
                managed_by,
                coalesce(
                    managed_by IS NOT NULL AND applied_digest <> md5(spec::text), false
                ) AS \"edited!\",
                applied_digest,
                expires_at,
                revision,
                (
                    SELECT c.rulebook_version FROM tenant_changes c
                    WHERE c.tenant_id = overrides.tenant_id AND c.sequence = overrides.sequence
                ) AS rulebook_version,
                created_at,
                updated_at
                "
                + $tail
            $(, $argument)*
        )
    };
}
pub(super) use query_overrides;

impl From<Row> for OverrideRow {
    fn from(row: Row) -> Self {
        Self {
            id: OverrideId::from_u128(row.id.as_u128()),
            tenant_id: TenantId::from_u128(row.tenant_id.as_u128()),
            rule_id: RuleId::from_u128(row.rule_id.as_u128()),
            subject: row.subject,
            spec: row.spec,
            reason: row.reason,
            managed_by: row.managed_by,
            edited: row.edited,
            applied_digest: row.applied_digest,
            expires_at: row.expires_at.map(timestamp),
            revision: unsigned(row.revision),
            rulebook_version: row.rulebook_version.map_or(0, unsigned),
            created_at: timestamp(row.created_at),
            updated_at: timestamp(row.updated_at),
        }
    }
}
