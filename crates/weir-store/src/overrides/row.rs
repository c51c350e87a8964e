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
    /// Which.
    pub id: OverrideId,
    /// Whose.
    pub tenant_id: TenantId,
    /// Of which rule.
    pub rule_id: RuleId,
    /// For whom.
    pub subject: Value,
    /// The limits or the action, as the API writes them.
    pub spec: Value,
    /// Why.
    pub reason: String,
    /// Until when.
    pub expires_at: Option<Timestamp>,
    /// How often it was written.
    pub revision: u64,
    /// The rulebook version from which it holds.
    pub rulebook_version: u64,
    /// Since when.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
}

/// As Postgres answers.
pub(super) struct Row {
    pub(super) tenant_id: Uuid,
    pub(super) id: Uuid,
    pub(super) rule_id: Uuid,
    pub(super) subject: Value,
    pub(super) spec: Value,
    pub(super) reason: String,
    pub(super) expires_at: Option<OffsetDateTime>,
    pub(super) revision: i64,
    pub(super) rulebook_version: i64,
    pub(super) created_at: OffsetDateTime,
    pub(super) updated_at: OffsetDateTime,
}

impl From<Row> for OverrideRow {
    fn from(row: Row) -> Self {
        Self {
            id: OverrideId::from_u128(row.id.as_u128()),
            tenant_id: TenantId::from_u128(row.tenant_id.as_u128()),
            rule_id: RuleId::from_u128(row.rule_id.as_u128()),
            subject: row.subject,
            spec: row.spec,
            reason: row.reason,
            expires_at: row.expires_at.map(timestamp),
            revision: unsigned(row.revision),
            rulebook_version: unsigned(row.rulebook_version),
            created_at: timestamp(row.created_at),
            updated_at: timestamp(row.updated_at),
        }
    }
}
