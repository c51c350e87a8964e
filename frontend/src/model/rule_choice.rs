//! Choosing from many rules: names, search, and the status line.

use weir_wire::rules::RuleAnswer;

/// A value and its label.
pub type RuleOption = (String, String);

/// The namespace and name.
pub fn name(rule: &RuleAnswer) -> String {
    format!("{} / {}", rule.rule.namespace, rule.rule.name)
}

/// The rules with their ids as values.
pub fn by_id(rules: &[RuleAnswer]) -> Vec<RuleOption> {
    rules.iter().map(|rule| (rule.id.clone(), name(rule))).collect()
}

/// The search text in the server's form: names contain no spaces, so spaces around the slash are removed.
pub fn search_text(typed: &str) -> String {
    typed.split_whitespace().collect::<String>().to_lowercase()
}

/// The options that contain a text, up to the maximum shown.
pub fn matching(all: impl IntoIterator<Item = RuleOption>, text: &str) -> Vec<RuleOption> {
    all.into_iter().filter(|(_, label)| search_text(label).contains(text)).take(SHOWN).collect()
}

/// The state of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// The list is closed.
    Closed,
    /// The search text is empty.
    Begun,
    /// Waiting for the server.
    Running,
    /// The number of options shown, and whether there are more.
    Done { shown: usize, more: bool },
}

/// The status line below the field; `first` is the number of rules listed without a search, of which there are more.
pub fn status_text(search: Search, first: usize) -> String {
    match search {
        Search::Closed => {
            format!("More than {first} rules. Type to search.")
        }
        Search::Begun => {
            format!("Showing {} of more than {first} rules. Type to search.", SHOWN.min(first))
        }
        Search::Running => "Searching…".to_owned(),
        Search::Done { shown: 0, .. } => "No matching rules".to_owned(),
        Search::Done { shown, more: true } => {
            format!("Showing the first {shown}. Keep typing to narrow the search.")
        }
        Search::Done { shown, more: false } => format!("{shown} found"),
    }
}

const SHOWN: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_with_and_without_spaces() {
        let all = ["web / login", "web / logout", "api / login"]
            .map(|name| (String::new(), name.to_owned()));
        let labels = |typed: &str| {
            let matching = matching(all.clone(), &search_text(typed));
            matching.into_iter().map(|(_, label)| label).collect::<Vec<_>>()
        };
        assert_eq!(labels(" Web / LOG"), ["web / login", "web / logout"]);
        assert_eq!(labels("login"), ["web / login", "api / login"]);
        assert_eq!(labels("").len(), 3);
        assert_eq!(labels("mail"), [""; 0]);
    }

    #[test]
    fn the_status_reports_hidden_options() {
        let many = vec![(String::new(), "web / login".to_owned()); 60];
        assert_eq!(matching(many, "log").len(), 50);
        let done = |shown, more| status_text(Search::Done { shown, more }, 200);
        assert_eq!(done(50, true), "Showing the first 50. Keep typing to narrow the search.");
        assert_eq!(done(1, false), "1 found");
        assert_eq!(done(0, false), "No matching rules");
    }
}
