//! The forms of what people type in: e-mail addresses and names.

use weir_domain::names;
use weir_http::problem::Problem;

/// Checks an e-mail address as far as it can be checked without writing to it.
pub(crate) fn email(text: &str) -> Result<(), Problem> {
    let well_formed = text.len() <= 254
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
        && text.split_once('@').is_some_and(|(user, host)| {
            !user.is_empty() && !host.is_empty() && !host.contains('@')
        });
    if well_formed {
        Ok(())
    } else {
        Err(Problem::invalid_field("email", "must be an e-mail address"))
    }
}

/// Checks the name of a tenant, a key or a person.
pub(crate) fn name(field: &str, text: &str) -> Result<(), Problem> {
    let refused = |reason: String| Err(Problem::invalid_field(field, reason));
    if text.is_empty() || text.trim() != text {
        return refused("must not be empty or begin or end with a blank".to_owned());
    }
    if text.contains('\n') {
        return refused("must not contain control characters".to_owned());
    }
    names::prose(text, 100).or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_keep_to_their_forms() {
        for fine in ["ada@example.com", "a@b", "ü@example.com"] {
            assert!(email(fine).is_ok(), "{fine}");
        }
        for wrong in
            ["", "ada", "@b", "a@", "a@b@c", "a b@c", "a@b\n", &format!("{}@b", "a".repeat(260))]
        {
            assert!(email(wrong).is_err(), "{wrong}");
        }
        assert!(name("name", "Käse & Söhne").is_ok());
        for wrong in ["", " a", "a ", "a\nb", "a\u{0}b", &"a".repeat(101)] {
            assert!(name("name", wrong).is_err(), "{wrong:?}");
        }
    }
}
