//! The texts of the messages that Weir sends to people. Links have their token in the fragment, which browsers send to no
//! server. Texts that strangers choose, such as names of tenants, are quoted, short, never the beginning, and no links.

use weir_domain::id::UserId;
use weir_domain::time::Timestamp;
use weir_mail::Mail;
use weir_store::NewSignup;
use weir_wire::members::{Invitation, InvitationToken};
use weir_wire::second_factors::ResetToken;
use weir_wire::sessions::SignUpToken;
use weir_wire::tenants::Role;

use crate::state::MailParts;

/// The most characters of a name in a message.
const NAME_CHARS_MAX: usize = 40;

/// The link to the page on which a person sets a new password.
pub fn reset_link(dashboard_url: &str, token: &ResetToken) -> String {
    format!("{dashboard_url}/reset#{}", token.0)
}

impl MailParts {
    /// The message with which a person sets a new password.
    pub(crate) fn password_reset(
        &self,
        to: &str,
        token: &ResetToken,
        at: Timestamp,
        id: UserId,
    ) -> Mail {
        let link = reset_link(&self.dashboard_url, token);
        let text = format!(
            "Somebody asked for a new password for the Weir account of {to}.\r\n\
             \r\n\
             To set one, open this link within one hour:\r\n\
             \r\n\
             {link}\r\n\
             \r\n\
             The link works once. All sessions of the account then end.\r\n\
             If you did not ask for it, ignore this message: your password stays the same.\r\n"
        );
        Mail {
            id: format!("reset_{:x}_{id}", at.as_millis_u64()),
            at,
            to: to.to_owned(),
            subject: "Set a new password for Weir".to_owned(),
            text,
        }
    }

    /// The message with which a person finishes a sign-up.
    pub(crate) fn confirm_signup(&self, new: &NewSignup, token: &SignUpToken, id: String) -> Mail {
        let NewSignup { email, tenant_name, now, .. } = new;
        let tenant_name = unlinked(tenant_name);
        let link = format!("{}/confirm#{}", self.dashboard_url, token.0);
        let text = format!(
            "Somebody signed up for Weir with the address {email}, for the tenant \"{tenant_name}\".\r\n\
             \r\n\
             To choose a password and finish, open this link within 24 hours:\r\n\
             \r\n\
             {link}\r\n\
             \r\n\
             The link works once. If you sign up again, a new link replaces it.\r\n\
             If you did not sign up, ignore this message: no account is created.\r\n"
        );
        let subject = "Confirm your sign-up for Weir".to_owned();
        Mail { id, at: *now, to: email.clone(), subject, text }
    }

    /// The message to a person who signed up with the address of an account.
    pub(crate) fn existing_account(&self, to: &str, id: String, at: Timestamp) -> Mail {
        let dashboard = &self.dashboard_url;
        let text = format!(
            "Somebody signed up for Weir with the address {to}, which has an account already.\r\n\
             \r\n\
             To sign in, open {dashboard}/sign-in\r\n\
             If you forgot your password, open {dashboard}/forgot\r\n\
             \r\n\
             If you did not sign up, ignore this message: the account stays the same.\r\n"
        );
        let subject = "You already have a Weir account".to_owned();
        Mail { id, at, to: to.to_owned(), subject, text }
    }

    /// The message that invites a person to a tenant.
    pub(crate) fn invitation(
        &self,
        invitation: &Invitation,
        tenant_name: &str,
        token: &InvitationToken,
        at: Timestamp,
    ) -> Mail {
        let Invitation { id, email, role, invited_by, .. } = invitation;
        let tenant_name = unlinked(tenant_name);
        // An address of an account, or `key` and a name.
        let invited_by = match invited_by.strip_prefix("key ") {
            Some(key) => format!("the key \"{}\"", unlinked(key)),
            None => invited_by.clone(),
        };
        let role = match role {
            Role::Viewer => "a viewer",
            Role::Editor => "an editor",
            Role::Admin => "an admin",
            Role::Owner => "an owner",
        };
        let link = format!("{}/accept#{}", self.dashboard_url, token.0);
        let text = format!(
            "On Weir, {invited_by} invited {email} to join the tenant \"{tenant_name}\" as {role}.\r\n\
             \r\n\
             To accept, open this link within seven days:\r\n\
             \r\n\
             {link}\r\n\
             \r\n\
             The link works once, for this address alone.\r\n\
             If you do not expect an invitation, ignore this message.\r\n"
        );
        Mail {
            id: id.clone(),
            at,
            to: email.clone(),
            subject: format!("Invitation to \"{tenant_name}\" on Weir"),
            text,
        }
    }
}

/// A name in one line and without what mail programs turn into a link: `https://`, domains, addresses.
pub(crate) fn unlinked(name: &str) -> String {
    let mut plain = String::new();
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        let ends_word = letters.peek().is_none_or(|next| next.is_whitespace());
        match letter {
            '"' => plain.push('\''),
            '/' | '\\' | '@' | '<' | '>' => plain.push(' '),
            ':' if !ends_word => plain.push(' '),
            '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}' if !ends_word => plain.push_str(". "),
            _ if letter.is_control() => plain.push(' '),
            _ => plain.push(letter),
        }
    }
    let words: Vec<_> = plain.split_whitespace().collect();
    let plain = words.join(" ");
    match plain.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}…", plain[..end].trim_end()),
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_messages_are_short_and_no_links() {
        for (name, shown) in [
            ("Acme Inc.", "Acme Inc."),
            ("Acme: Sales", "Acme: Sales"),
            ("Bücher & Co. KG", "Bücher & Co. KG"),
            ("https://evil.example/login", "https evil. example login"),
            ("www.evil.example", "www. evil. example"),
            ("a@evil.example", "a evil. example"),
            ("evil。example", "evil. example"),
            ("javascript:alert", "javascript alert"),
            ("\" <b>Weir", "' b Weir"),
            (
                "Your account is locked: https://evil.example",
                "Your account is locked: https evil. exam…",
            ),
        ] {
            assert_eq!(unlinked(name), shown);
        }
        assert_eq!(unlinked(&"x".repeat(100)).chars().count(), NAME_CHARS_MAX + 1);
    }
}
