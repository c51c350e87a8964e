//! The filter and order of the rule list, stored in the URL.

use weir_wire::rules::RuleAnswer;
use weir_wire::words::Mode;

use crate::model::labels;

/// The filter of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleFilter {
    /// Words that must all occur in the rule's names or text.
    pub typed: String,
    pub mode: Option<Mode>,
    pub order: Order,
    pub descending: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// By namespace, then name.
    #[default]
    Name,
    Mode,
    /// By the time of the last change.
    Changed,
}

impl Order {
    pub const ALL: [Self; 3] = [Self::Name, Self::Mode, Self::Changed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Mode => "mode",
            Self::Changed => "changed",
        }
    }
}

impl RuleFilter {
    /// Reads the filter from URL parameters; unknown values are ignored.
    pub fn of(parameter: impl Fn(&str) -> Option<String>) -> Self {
        let mode = parameter("mode");
        let sort = parameter("sort").unwrap_or_default();
        let named = |order: &Order| order.as_str() == sort.trim_start_matches('-');
        Self {
            typed: parameter("q").unwrap_or_default(),
            mode: Mode::ALL
                .iter()
                .copied()
                .find(|candidate| mode.as_deref() == Some(candidate.as_str())),
            order: Order::ALL.into_iter().find(named).unwrap_or_default(),
            descending: sort.starts_with('-'),
        }
    }

    /// The URL query of the filter, without default values; `encode` encodes a component.
    pub fn query(&self, encode: impl Fn(&str) -> String) -> String {
        let mut parts = Vec::new();
        if !self.typed.is_empty() {
            parts.push(format!("q={}", encode(&self.typed)));
        }
        if let Some(mode) = self.mode {
            parts.push(format!("mode={}", mode.as_str()));
        }
        if self.descending || self.order != Order::default() {
            let sign = if self.descending { "-" } else { "" };
            parts.push(format!("sort={sign}{}", self.order.as_str()));
        }
        if parts.is_empty() { String::new() } else { format!("?{}", parts.join("&")) }
    }

    /// Whether filtering needs the texts of the rules.
    pub fn needs_texts(&self) -> bool {
        !self.typed.trim().is_empty()
    }

    /// The indexes of the matching rules in the chosen order; `texts` are the texts of the rules, if they are needed.
    pub fn arrange(&self, rules: &[RuleAnswer], texts: &[String]) -> Vec<usize> {
        let typed = self.typed.to_lowercase();
        let words: Vec<_> = typed.split_whitespace().collect();
        let has = |at: usize| words.iter().all(|word| texts[at].contains(word));
        let of_mode = |at: usize| self.mode.is_none_or(|mode| mode == rules[at].rule.mode);
        let mut places: Vec<_> =
            (0..rules.len()).filter(|at| of_mode(*at) && (words.is_empty() || has(*at))).collect();
        let name = |at: &usize| (rules[*at].rule.namespace.as_str(), rules[*at].rule.name.as_str());
        match self.order {
            Order::Name => places.sort_by(|a, b| name(a).cmp(&name(b))),
            Order::Mode => {
                let mode = |at: &usize| rules[*at].rule.mode as u8;
                places.sort_by(|a, b| (mode(a), name(a)).cmp(&(mode(b), name(b))));
            }
            Order::Changed => {
                places.sort_by_key(|at| std::cmp::Reverse(rules[*at].updated_at.0.as_millis()));
            }
        }
        if self.descending {
            places.reverse();
        }
        places
    }
}

/// The searchable text of a rule, in lower case.
pub fn text(rule: &RuleAnswer) -> String {
    let body = &rule.rule;
    let sentence = labels::sentence(body);
    format!("{} {} {} {sentence}", body.namespace, body.name, body.description).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(name: &str, mode: &str, minute: u32) -> RuleAnswer {
        serde_json::from_value(serde_json::json!({
            "id": format!("rule_{name}"), "namespace": "api", "name": name, "mode": mode,
            "count_by": ["user"], "limits": [{"algorithm": "spacing", "interval_ms": 1000}],
            "revision": 1, "rulebook_version": 1,
            "created_at": "2026-11-21T03:00:00Z", "updated_at": format!("2026-11-21T03:{minute:02}:00Z")
        }))
        .expect("a rule")
    }

    fn names(filter: &RuleFilter) -> Vec<String> {
        let rules =
            [rule("login", "enforce", 1), rule("export", "off", 3), rule("pay", "shadow", 2)];
        let texts: Vec<_> = rules.iter().map(text).collect();
        filter.arrange(&rules, &texts).into_iter().map(|at| rules[at].rule.name.clone()).collect()
    }

    #[test]
    fn all_words_must_occur_somewhere() {
        let typed = |typed: &str| RuleFilter { typed: typed.to_owned(), ..RuleFilter::default() };
        assert_eq!(names(&typed("")), ["export", "login", "pay"]);
        assert_eq!(names(&typed("API Login")), ["login"]);
        assert_eq!(names(&typed("apart export")), ["export"]);
        assert_eq!(names(&typed("login nobody")), Vec::<String>::new());
        let off = RuleFilter { mode: Some(Mode::Off), ..RuleFilter::default() };
        assert_eq!(names(&off), ["export"]);
    }

    #[test]
    fn each_order_goes_both_ways() {
        let by = |order, descending| RuleFilter { order, descending, ..RuleFilter::default() };
        assert_eq!(names(&by(Order::Changed, false)), ["export", "pay", "login"]);
        assert_eq!(names(&by(Order::Mode, false)), ["login", "pay", "export"]);
        assert_eq!(names(&by(Order::Name, true)), ["pay", "login", "export"]);
    }

    #[test]
    fn filters_survive_the_url() {
        let filter = RuleFilter {
            typed: "login".to_owned(),
            mode: Some(Mode::Shadow),
            order: Order::Changed,
            descending: true,
        };
        let query = filter.query(str::to_owned);
        assert_eq!(query, "?q=login&mode=shadow&sort=-changed");
        let read = |name: &str| {
            let found =
                query[1..].split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
            found.map(str::to_owned)
        };
        assert_eq!(RuleFilter::of(read), filter);
        assert_eq!(RuleFilter::default().query(str::to_owned), "");
        assert_eq!(RuleFilter::of(|_| Some("nonsense".to_owned())).order, Order::Name);
    }
}
