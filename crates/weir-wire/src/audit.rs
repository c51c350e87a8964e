//! The audit log.

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// One recorded action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// `audit_…`
    pub id: String,
    /// The log of the entry: the tenant's id; null for a person's log and the installation's.
    pub tenant_id: Option<String>,
    /// The position of the entry in the hash chain of its log, from 1. A gap means that entries are missing.
    pub seq: u64,
    /// The time at which the database recorded the entry.
    pub at: DateTime,
    /// The person, key or system that acted.
    pub actor: AuditActor,
    /// The action, such as `rule.update`.
    #[cfg_attr(feature = "openapi", schema(example = "rule.update"))]
    pub action: String,
    /// The kind of the changed object.
    #[cfg_attr(feature = "openapi", schema(example = "rule"))]
    pub object_kind: String,
    /// The id of the changed object.
    pub object_id: String,
    /// The object before the change.
    pub before: Option<serde_json::Value>,
    /// The object after the change.
    pub after: Option<serde_json::Value>,
    /// The difference in words, such as `burst 40 → 15`; null if there is none.
    #[serde(default)]
    pub summary: Option<String>,
    /// The client's address.
    pub ip: Option<String>,
    /// The id of the request.
    pub request_id: String,
}

/// The person, key or system that acted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditActor {
    /// A person, a key or the installation itself.
    pub kind: ActorKind,
    /// `user_…` or `key_…`; null for the installation itself and for clients that did not sign in.
    pub id: Option<String>,
    /// The e-mail of the person or the name of the key, as it was then.
    pub name: Option<String>,
}

/// The kind of actor.
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
    /// A client without a valid sign-in.
    Anonymous,
}

/// One revision of a rule or profile: its actor, its time, and the object before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Revision {
    /// The number of the revision, from 1.
    pub revision: u64,
    /// The time.
    pub at: DateTime,
    /// The actor.
    pub actor: AuditActor,
    /// The object before the change; null for the first revision.
    pub before: Option<serde_json::Value>,
    /// The object after the change.
    pub after: serde_json::Value,
}

/// `POST /tenants/{tenant}/rules/{rule}/revert`, `POST /tenants/{tenant}/profiles/{profile}/revert`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RevertBody {
    /// The revision to restore, as a new revision.
    pub revision: u64,
}
