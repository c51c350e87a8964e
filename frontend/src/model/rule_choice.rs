//! Choosing among many rules: what they are called, which of them what is typed finds, and what is said of that.

use weir_wire::rules::RuleAnswer;

/// A value, and what it is called.
pub type Choosable = (String, String);

/// Namespace and name.
pub fn name(rule: &RuleAnswer) -> String {
    format!("{} / {}", rule.rule.namespace, rule.rule.name)
}

/// The rules by their ids.
pub fn by_id(rules: &[RuleAnswer]) -> Vec<Choosable> {
    rules.iter().map(|rule| (rule.id.clone(), name(rule))).collect()
}

/// What is typed as the server searches for it: names have no blanks, so those around the slash say nothing.
pub fn searched(typed: &str) -> String {
    typed.split_whitespace().collect::<String>().to_lowercase()
}

/// Those with a text, as far as they are shown.
pub fn found(all: impl IntoIterator<Item = Choosable>, text: &str) -> Vec<Choosable> {
    all.into_iter().filter(|(_, label)| searched(label).contains(text)).take(SHOWN).collect()
}

/// How far a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// Nobody looks for anything.
    Closed,
    /// Nothing is typed yet.
    Begun,
    /// The server was not heard yet.
    Running,
    /// So many lines are shown, perhaps not of all.
    Done { shown: usize, more: bool },
}

/// What is said below the field; `first` is how many rules are there without a search, and there are more.
pub fn said(search: Search, first: usize) -> String {
    match search {
        Search::Closed => {
            format!("More than {first} rules: type to find one")
        }
        Search::Begun => {
            format!("{} of more than {first} rules: type to find others", SHOWN.min(first))
        }
        Search::Running => "Searching…".to_owned(),
        Search::Done { shown: 0, .. } => "No rule has this in its namespace or name".to_owned(),
        Search::Done { shown, more: true } => format!("The first {shown}: type more to see others"),
        Search::Done { shown, more: false } => format!("{shown} found"),
    }
}

/// At most so many are shown at once.
const SHOWN: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_with_and_without_blanks() {
        let all =
            ["web / login", "web / logout", "api / login"].map(|it| (String::new(), it.to_owned()));
        let labels = |typed: &str| {
            let found = found(all.clone(), &searched(typed));
            found.into_iter().map(|(_, label)| label).collect::<Vec<_>>()
        };
        assert_eq!(labels(" Web / LOG"), ["web / login", "web / logout"]);
        assert_eq!(labels("login"), ["web / login", "api / login"]);
        assert_eq!(labels("").len(), 3);
        assert_eq!(labels("mail"), [""; 0]);
    }

    #[test]
    fn what_is_not_shown_is_said() {
        let many = vec![(String::new(), "web / login".to_owned()); 60];
        assert_eq!(found(many, "log").len(), 50);
        let done = |shown, more| said(Search::Done { shown, more }, 200);
        assert_eq!(done(50, true), "The first 50: type more to see others");
        assert_eq!(done(1, false), "1 found");
        assert!(done(0, false).starts_with("No rule"));
    }
}
