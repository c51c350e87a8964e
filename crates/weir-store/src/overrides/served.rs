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

#[derive(sqlx::FromRow)]
struct Row {
    tenant_id: Uuid,
    id: Uuid,
    rule_id: Uuid,
    #[sqlx(rename = "spec!")]
    spec: String,
}

served_rows!(
    "overrides",
    r#"r.id, r.rule_id, r.spec::text AS "spec!""#,
    Row,
    served -> ServedOverride,
    OverrideId
);

fn served(row: Row) -> ServedOverride {
    ServedOverride {
        id: OverrideId::from_u128(row.id.as_u128()),
        rule_id: RuleId::from_u128(row.rule_id.as_u128()),
        spec: row.spec.into(),
    }
}
