//! The role of the signed-in person in the current tenant, and the message shown where that role is not enough.

use leptos::prelude::*;
use weir_wire::tenants::Role;

/// The person's role, once it has loaded; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Access(Memo<Option<Role>>);

impl Access {
    pub fn new(role: Memo<Option<Role>>) -> Self {
        Self(role)
    }

    /// Whether the person's role is at least `needed`; tracked. `false` while the role is loading.
    pub fn has(self, needed: Role) -> bool {
        self.0.get().is_some_and(|role| role >= needed)
    }

    /// The message to show if the person's role is below `needed`; tracked. `None` while the role is loading.
    pub fn missing_role(self, needed: Role) -> Option<String> {
        let role = self.0.get()?;
        (role < needed).then(|| missing_role_message(role, needed))
    }
}

/// All roles, lowest first.
pub const ROLES: [Role; 4] = [Role::Viewer, Role::Editor, Role::Admin, Role::Owner];

/// The display name of a role.
pub const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Viewer => "Viewer",
        Role::Editor => "Editor",
        Role::Admin => "Admin",
        Role::Owner => "Owner",
    }
}

/// The display name with its article.
pub fn role_with_article(role: Role) -> String {
    let article = if role == Role::Viewer { "a" } else { "an" };
    format!("{article} {}", role_name(role))
}

fn missing_role_message(role: Role, needed: Role) -> String {
    format!(
        "You need the {} role to do this. You are {}.",
        role_name(needed),
        role_with_article(role)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_required_role() {
        assert_eq!(
            missing_role_message(Role::Viewer, Role::Editor),
            "You need the Editor role to do this. You are a Viewer."
        );
        assert_eq!(
            missing_role_message(Role::Admin, Role::Owner),
            "You need the Owner role to do this. You are an Admin."
        );
    }
}
