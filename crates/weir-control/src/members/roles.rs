//! Roles in JSON, and the rule that admins cannot change owners.

use weir_http::problem::Problem;
use weir_store::MemberRole;
use weir_wire::tenants::Role;

/// A role from JSON.
pub(crate) fn role(role: Role) -> MemberRole {
    match role {
        Role::Viewer => MemberRole::Viewer,
        Role::Editor => MemberRole::Editor,
        Role::Admin => MemberRole::Admin,
        Role::Owner => MemberRole::Owner,
    }
}

/// Refuses a caller below owner who tries to create, change or remove an owner.
pub(crate) fn only_owners_touch_owners(
    caller: MemberRole,
    touched: &[MemberRole],
) -> Result<(), Problem> {
    if caller < MemberRole::Owner && touched.contains(&MemberRole::Owner) {
        return Err(Problem::forbidden("only owners can manage owners"));
    }
    Ok(())
}
