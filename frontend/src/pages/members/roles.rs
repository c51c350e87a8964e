//! The roles to choose from when a person is invited.

use weir_wire::tenants::Role;

use crate::access::{ROLES, role_name};

/// The permissions of a role, for the select.
pub(super) fn role_options() -> Vec<(Role, String)> {
    ROLES.map(|role| (role, format!("{}: {}", role_name(role), permissions(role)))).to_vec()
}

/// The permissions of a role.
pub(super) const fn permissions(role: Role) -> &'static str {
    match role {
        Role::Viewer => "read-only",
        Role::Editor => "rules and overrides",
        Role::Admin => "plus keys and members",
        Role::Owner => "everything",
    }
}
