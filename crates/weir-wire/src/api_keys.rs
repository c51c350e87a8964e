//! API keys.

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// Most namespaces of a key.
pub const KEY_NAMESPACES_MAX: usize = 20;

/// A permission of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum KeyScope {
    /// Send checks and refunds to gates.
    Check,
    /// Let limits count as exhausted for a time.
    Exhaust,
    /// Make tokens with which customers read their own usage.
    View,
    /// Read the tenant's configuration and statistics.
    Read,
    /// Read the tenant's audit log, and nothing else.
    Audit,
    /// Change rules and overrides, test and reset.
    Write,
    /// Everything of `write`, and manage keys and members.
    Admin,
}

/// `POST /tenants/{tenant}/keys`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    /// A name that people recognise the key by.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "checkout", min_length = 1, max_length = 100)
    )]
    pub name: String,
    /// The permissions of the key.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 6))]
    pub scopes: Vec<KeyScope>,
    /// The only namespaces in which the key has its permissions, which are then `read` and `write` only: the others are not of a
    /// namespace. If left out, the key is not restricted.
    #[cfg_attr(feature = "openapi", schema(example = json!(["payments"])))]
    #[serde(default)]
    pub namespaces: Option<Vec<String>>,
    /// The time from which the key no longer works; if left out, it works until it is revoked.
    #[serde(default)]
    pub expires_at: Option<DateTime>,
}

/// A key without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiKey {
    /// `key_…`
    pub id: String,
    /// A name that people recognise the key by.
    pub name: String,
    /// The permissions of the key.
    pub scopes: Vec<KeyScope>,
    /// The only namespaces in which the key has them; null if it is not restricted.
    pub namespaces: Option<Vec<String>>,
    /// The public part of the secret: `weir_<hint>_…`.
    pub hint: String,
    /// The person or key that created it.
    pub created_by: String,
    /// Whether the person who created it is no longer a member of the tenant.
    #[serde(default)]
    pub created_by_former_member: bool,
    /// The time of creation.
    pub created_at: DateTime,
    /// The time from which the key no longer works.
    pub expires_at: Option<DateTime>,
    /// After a rotation: the time until which the previous secret also works.
    pub previous_expires_at: Option<DateTime>,
    /// The time of the last accepted use, to about a minute; null if there was none.
    pub last_used_at: Option<DateTime>,
    /// The requests with this key at gates, in lists of keys.
    #[serde(default)]
    pub requests: Option<KeyRequests>,
}

/// The requests with a key at gates: checks, records, refunds and the like; each check of a batch counts. The counts are up to
/// two minutes old.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyRequests {
    /// The start of the first hour.
    pub start: DateTime,
    /// The requests of each hour, of which the last one is the present hour.
    #[cfg_attr(feature = "openapi", schema(min_items = 24, max_items = 24))]
    pub hours: Vec<u64>,
    /// The requests of the last 60 minutes: those of the present hour, and the hour before in proportion.
    pub last_hour: u64,
    /// The gate of the last request; null if there was none in these hours.
    pub last_gate: Option<KeyGate>,
}

/// A gate that a key was used at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyGate {
    /// `gate_…`
    pub id: String,
    /// The address at which clients reach it; null for callers below the role `editor`, and for gates that stopped long ago.
    pub address: Option<String>,
}

/// A key with its secret, which is shown only in this answer.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IssuedKey {
    /// `key_…`
    pub id: String,
    /// A name that people recognise the key by.
    pub name: String,
    /// The permissions of the key.
    pub scopes: Vec<KeyScope>,
    /// The only namespaces in which the key has them; null if it is not restricted.
    pub namespaces: Option<Vec<String>>,
    /// The public part of the secret: `weir_<hint>_…`.
    pub hint: String,
    /// The key to send as `Authorization: Bearer …`. It cannot be shown again.
    pub secret: String,
    /// The time of creation.
    pub created_at: DateTime,
    /// The time from which the key no longer works.
    pub expires_at: Option<DateTime>,
    /// After a rotation: the time until which the previous secret also works.
    pub previous_expires_at: Option<DateTime>,
    /// The version of the rulebook from which a gate knows the key.
    pub rulebook_version: u64,
}

impl std::fmt::Debug for IssuedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IssuedKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// `POST /tenants/{tenant}/keys/{key}/rotate`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RotateKey {
    /// The time for which the previous secret also works; 0 ends it at once.
    #[cfg_attr(feature = "openapi", schema(example = 3600, maximum = 2_592_000))]
    pub overlap_s: u32,
}
