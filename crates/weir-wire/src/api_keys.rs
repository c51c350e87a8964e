//! API keys.

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// What a key may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum KeyScope {
    /// Ask the data plane.
    Check,
    /// Read the tenant's configuration and statistics.
    Read,
    /// Change rules and overrides, test and reset.
    Write,
    /// Manage keys and members too.
    Admin,
}

/// `POST /tenants/{tenant}/keys`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    /// What to recognise it by.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "checkout", min_length = 1, max_length = 100)
    )]
    pub name: String,
    /// What it may be used for.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 4))]
    pub scopes: Vec<KeyScope>,
    /// When it stops working; never without.
    #[serde(default)]
    pub expires_at: Option<DateTime>,
}

/// A key without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiKey {
    /// `key_…`
    pub id: String,
    /// What to recognise it by.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<KeyScope>,
    /// The public part of the secret: `weir_<hint>_…`.
    pub hint: String,
    /// Who made it.
    pub created_by: String,
    /// Whether the person who made it is no longer a member of the tenant.
    #[serde(default)]
    pub created_by_former_member: bool,
    /// When it was made.
    pub created_at: DateTime,
    /// When it stops working.
    pub expires_at: Option<DateTime>,
    /// After a rotation: until when the secret before it also works.
    pub previous_expires_at: Option<DateTime>,
    /// When it was last accepted, to about a minute; null: never.
    pub last_used_at: Option<DateTime>,
}

/// A key with its secret, which is shown this one time.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IssuedKey {
    /// `key_…`
    pub id: String,
    /// What to recognise it by.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<KeyScope>,
    /// The public part of the secret: `weir_<hint>_…`.
    pub hint: String,
    /// The key to send as `Authorization: Bearer …`. It cannot be shown again.
    pub secret: String,
    /// When it was made.
    pub created_at: DateTime,
    /// When it stops working.
    pub expires_at: Option<DateTime>,
    /// After a rotation: until when the secret before it also works.
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
    /// How long the secret before also works; 0 ends it at once.
    #[cfg_attr(feature = "openapi", schema(example = 3600, maximum = 2_592_000))]
    pub overlap_s: u32,
}
