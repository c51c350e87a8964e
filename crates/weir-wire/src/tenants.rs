//! Tenants, and what their members may do.

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// What a member may do; each may all that the one before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads.
    Viewer,
    /// Changes rules and overrides, tests and resets.
    Editor,
    /// Manages keys and members.
    Admin,
    /// All, deleting the tenant included.
    Owner,
}

/// Whether limits hold.
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
    /// Whether limits hold, for every tenant.
    pub enforcement: Enforcement,
}

/// A customer of this installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tenant {
    /// `tenant_…`
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What the caller may do there; null for an operator who is no member.
    pub role: Option<Role>,
    /// Whether an operator has suspended it: nothing can be changed, and checks are refused.
    pub suspended: bool,
    /// Whether gates keep some of its checks, for a day, so that changes of rules can be tried on them.
    pub record_checks: bool,
    /// Whether its limits hold, by its own switch.
    pub enforcement: Enforcement,
    /// Whether limits hold at all, by the operators' switch for every tenant.
    pub installation_enforcement: Enforcement,
    /// Since when it exists.
    pub created_at: DateTime,
}

/// `POST /tenants`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateTenant {
    /// What to call it.
    #[cfg_attr(feature = "openapi", schema(example = "Acme", min_length = 1, max_length = 100))]
    pub name: String,
}

/// `PATCH /tenants/{tenant}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateTenant {
    /// What to call it from now on; left out: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = "Acme", min_length = 1, max_length = 100))]
    pub name: Option<String>,
    /// Whether gates keep some of its checks; left out: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_checks: Option<bool>,
    /// Whether its limits hold; left out: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<Enforcement>,
}

/// `DELETE /tenants/{tenant}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DeleteTenant {
    /// Its present name, typed again: what is deleted does not come back.
    pub name: String,
}

/// `PATCH /operator/tenants/{tenant}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SuspendTenant {
    /// Whether it is suspended from now on.
    pub suspended: bool,
}
