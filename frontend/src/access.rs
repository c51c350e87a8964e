//! What the signed-in person may do in the tenant on screen, and what to tell them about the rest.

use leptos::prelude::*;
use weir_wire::tenants::Role;

/// The person's role there, once it is known; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Access(Memo<Option<Role>>);

impl Access {
    pub fn new(role: Memo<Option<Role>>) -> Self {
        Self(role)
    }

    /// Why something that needs a role is off, in words; tracked. Nothing is off while the role is not known.
    pub fn lacks(self, needed: Role) -> Option<String> {
        let role = self.0.get()?;
        (role < needed).then(|| lacking(role, needed))
    }
}

/// From least to most.
pub const ROLES: [Role; 4] = [Role::Viewer, Role::Editor, Role::Admin, Role::Owner];

/// What a role is called.
pub const fn role_word(role: Role) -> &'static str {
    match role {
        Role::Viewer => "viewer",
        Role::Editor => "editor",
        Role::Admin => "admin",
        Role::Owner => "owner",
    }
}

/// The same with its article.
pub fn a_role(role: Role) -> String {
    let article = if role == Role::Viewer { "a" } else { "an" };
    format!("{article} {}", role_word(role))
}

fn lacking(role: Role, needed: Role) -> String {
    let who = match needed {
        Role::Viewer => "members",
        Role::Editor => "editors, admins and owners",
        Role::Admin => "admins and owners",
        Role::Owner => "owners",
    };
    format!("Only {who} may do this; you are {}.", a_role(role))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_too_low_is_told_who_may() {
        assert_eq!(
            lacking(Role::Viewer, Role::Editor),
            "Only editors, admins and owners may do this; you are a viewer."
        );
        assert_eq!(lacking(Role::Admin, Role::Owner), "Only owners may do this; you are an admin.");
    }
}
