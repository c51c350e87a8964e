//! The audit log.

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// One thing that somebody did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// `audit_…`
    pub id: String,
    /// When.
    pub at: DateTime,
    /// Who.
    pub actor: AuditActor,
    /// What, such as `rule.update`.
    #[cfg_attr(feature = "openapi", schema(example = "rule.update"))]
    pub action: String,
    /// To what kind of thing.
    #[cfg_attr(feature = "openapi", schema(example = "rule"))]
    pub object_kind: String,
    /// To which.
    pub object_id: String,
    /// What was there before.
    pub before: Option<serde_json::Value>,
    /// What was there after.
    pub after: Option<serde_json::Value>,
    /// The address it came from.
    pub ip: Option<String>,
    /// The request that did it.
    pub request_id: String,
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditActor {
    /// A person, a key or the installation itself.
    pub kind: ActorKind,
    /// `user_…` or `key_…`; null for the installation itself.
    pub id: Option<String>,
    /// The e-mail of the person or the name of the key, as it was then.
    pub name: Option<String>,
}

/// What kind of actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// A person who signed in.
    Person,
    /// An API key.
    Key,
    /// The installation itself.
    System,
}

/// One revision of a rule: who changed it, when, from what to what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RuleRevision {
    /// Counts from 1.
    pub revision: u64,
    /// When.
    pub at: DateTime,
    /// Who.
    pub actor: AuditActor,
    /// The rule before; null for the first revision.
    pub before: Option<serde_json::Value>,
    /// The rule from then on.
    pub after: serde_json::Value,
}

/// `POST /tenants/{tenant}/rules/{rule}/revert`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RevertRule {
    /// The revision whose content shall hold again, as a new revision.
    pub revision: u64,
}
