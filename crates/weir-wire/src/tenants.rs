//! Tenants and roles in JSON.

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// A role in a tenant. Each role includes the previous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Can read.
    Viewer,
    /// Changes rules and overrides, tests and resets.
    Editor,
    /// Manages keys and members.
    Admin,
    /// Can do everything, including deleting the tenant.
    Owner,
}

/// Whether limits are enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// Rules decide.
    On,
    /// Every check is allowed and takes nothing.
    Off,
}

impl Enforcement {
    /// Whether rules decide.
    pub const fn is_on(self) -> bool {
        matches!(self, Self::On)
    }
}

impl From<bool> for Enforcement {
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}

/// `GET, PUT /operator/enforcement`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct InstallationEnforcement {
    /// Whether limits are enforced, for every tenant.
    pub enforcement: Enforcement,
}

/// A tenant: a customer of this installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tenant {
    /// `tenant_…`
    pub id: String,
    /// The name.
    pub name: String,
    /// The role of the caller in the tenant; null for an operator who is not a member.
    pub role: Option<Role>,
    /// Whether an operator has suspended the tenant: nothing can be changed, and checks are refused.
    pub suspended: bool,
    /// Whether gates record some of its checks for what-if runs.
    pub record_checks: bool,
    /// The attribute that names the tenant's own customers; null if plans are not used.
    #[serde(default)]
    pub customer_attribute: Option<String>,
    /// Whether the limits of the tenant are enforced, by its own switch.
    pub enforcement: Enforcement,
    /// Whether limits are enforced at all, by the operators' switch for every tenant.
    pub installation_enforcement: Enforcement,
    /// The time of creation.
    pub created_at: DateTime,
}

/// `POST /tenants`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateTenant {
    /// The name.
    #[cfg_attr(feature = "openapi", schema(example = "Acme", min_length = 1, max_length = 100))]
    pub name: String,
}

/// `PATCH /tenants/{tenant}`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateTenant {
    /// The new name; if left out, the name stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "Acme", min_length = 1, max_length = 100))]
    pub name: Option<String>,
    /// Whether gates record some of its checks; if left out, the setting stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_checks: Option<bool>,
    /// The attribute that names the tenant's own customers; null: plans are not used. If left out, it stays.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, example = "org"))]
    pub customer_attribute: Option<Option<String>>,
    /// Whether the limits of the tenant are enforced; if left out, the switch stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<Enforcement>,
}

/// `DELETE /tenants/{tenant}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DeleteTenant {
    /// The present name of the tenant, as a confirmation. A deletion cannot be undone.
    pub name: String,
}

/// `PATCH /operator/tenants/{tenant}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SuspendTenant {
    /// Whether the tenant is suspended.
    pub suspended: bool,
}

/// A field that is given, be it null.
fn present<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
