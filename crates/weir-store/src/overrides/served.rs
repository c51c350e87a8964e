//! The columns of overrides that gates load.

use uuid::Uuid;
use weir_domain::id::{OverrideId, RuleId, TenantId};

use crate::connection::PooledConnection;
use crate::error::StoreError;
use crate::message::{Answers, statement};
use crate::served::{TenantRange, served_rows};

/// An override as gates load it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedOverride {
    /// The override's id.
    pub id: OverrideId,
    /// The rule.
    pub rule_id: RuleId,
    /// The override in the API's format, as text.
    pub spec: Box<str>,
}

served_rows!(
    "overrides",
    "r.rule_id, ",
    { rule_id: Uuid },
    |row| ServedOverride {
        id: OverrideId::from_u128(row.id.as_u128()),
        rule_id: RuleId::from_u128(row.rule_id.as_u128()),
        spec: row.spec.into(),
    },
    ServedOverride,
    OverrideId
);
