//! The filter of the rule list, stored in the URL.

use weir_wire::rules::RuleAnswer;
use weir_wire::words::Mode;

use crate::model::labels;

/// The filter of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleFilter {
    /// Words that must all occur in the rule's names or text.
    pub typed: String,
    pub mode: Option<Mode>,
    pub denials: DenialFilter,
}

/// Whether a rule denied a check, or would have denied one, in the last hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DenialFilter {
    #[default]
    Any,
    Some,
    None,
}

impl DenialFilter {
    pub const ALL: [(Self, &str); 3] = [
        (Self::Any, "Any"),
        (Self::Some, "Denied in the last hour"),
        (Self::None, "No denials in the last hour"),
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Some => "some",
            Self::None => "none",
        }
    }
}

impl RuleFilter {
    /// The names of all URL parameters of a filter.
    pub const PARAMETERS: [&'static str; 3] = ["q", "mode", "denials"];

    /// Reads the filter from URL parameters; unknown values are ignored.
    pub fn of(parameter: impl Fn(&str) -> Option<String>) -> Self {
        let (mode, denials) = (parameter("mode"), parameter("denials").unwrap_or_default());
        let denials = DenialFilter::ALL.into_iter().find(|(one, _)| one.as_str() == denials);
        Self {
            typed: parameter("q").unwrap_or_default(),
            mode: Mode::ALL
                .iter()
                .copied()
                .find(|candidate| mode.as_deref() == Some(candidate.as_str())),
            denials: denials.map(|(one, _)| one).unwrap_or_default(),
        }
    }

    /// The URL parameters of the filter; empty for default values.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let mode = self.mode.map(|mode| mode.as_str().to_owned()).unwrap_or_default();
        let denials = self.denials.as_str().to_owned();
        vec![("q", self.typed.clone()), ("mode", mode), ("denials", denials)]
    }

    /// Whether filtering needs the texts of the rules.
    pub fn needs_texts(&self) -> bool {
        !self.typed.trim().is_empty()
    }

    /// The places of the matching rules of a namespace, or of all if it is empty. `texts` are the texts of the rules, if
    /// they are needed; `denies` states whether a rule denied something.
    pub fn matching(
        &self,
        namespace: &str,
        rules: &[RuleAnswer],
        texts: &[String],
        denies: impl Fn(&str) -> bool,
    ) -> Vec<usize> {
        let typed = self.typed.to_lowercase();
        let words: Vec<_> = typed.split_whitespace().collect();
        let has = |at: usize| words.iter().all(|word| texts[at].contains(word));
        let matches = |at: &usize| {
            let rule = &rules[*at];
            let denial = match self.denials {
                DenialFilter::Any => true,
                DenialFilter::Some => denies(&rule.id),
                DenialFilter::None => !denies(&rule.id),
            };
            self.mode.is_none_or(|mode| mode == rule.rule.mode)
                && (namespace.is_empty() || namespace == rule.rule.namespace)
                && denial
                && (words.is_empty() || has(*at))
        };
        (0..rules.len()).filter(matches).collect()
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

    fn rule(namespace: &str, name: &str, mode: &str) -> RuleAnswer {
        serde_json::from_value(serde_json::json!({
            "id": format!("rule_{name}"), "namespace": namespace, "name": name, "mode": mode,
            "count_by": ["user"], "limits": [{"algorithm": "spacing", "interval_ms": 1000}],
            "revision": 1, "rulebook_version": 1,
            "created_at": "2026-11-21T03:00:00Z", "updated_at": "2026-11-21T03:01:00Z"
        }))
        .expect("a rule")
    }

    fn names(filter: &RuleFilter, namespace: &str) -> Vec<String> {
        let rules = [
            rule("api", "login", "enforce"),
            rule("jobs", "export", "off"),
            rule("api", "pay", "shadow"),
        ];
        let texts: Vec<_> = rules.iter().map(text).collect();
        let places = filter.matching(namespace, &rules, &texts, |id| id == "rule_pay");
        places.into_iter().map(|at| rules[at].rule.name.clone()).collect()
    }

    #[test]
    fn all_words_must_occur_somewhere() {
        let typed = |typed: &str| RuleFilter { typed: typed.to_owned(), ..RuleFilter::default() };
        assert_eq!(names(&typed(""), ""), ["login", "export", "pay"]);
        assert_eq!(names(&typed("API Login"), ""), ["login"]);
        assert_eq!(names(&typed("apart export"), ""), ["export"]);
        assert_eq!(names(&typed("login nobody"), ""), Vec::<String>::new());
    }

    #[test]
    fn namespace_mode_and_denials_select_rules() {
        let off = RuleFilter { mode: Some(Mode::Off), ..RuleFilter::default() };
        assert_eq!(names(&off, ""), ["export"]);
        assert_eq!(names(&off, "api"), Vec::<String>::new());
        assert_eq!(names(&RuleFilter::default(), "api"), ["login", "pay"]);
        let denials = |denials| RuleFilter { denials, ..RuleFilter::default() };
        assert_eq!(names(&denials(DenialFilter::Some), ""), ["pay"]);
        assert_eq!(names(&denials(DenialFilter::None), "api"), ["login"]);
    }

    #[test]
    fn filters_survive_the_url() {
        let filter = RuleFilter {
            typed: "login".to_owned(),
            mode: Some(Mode::Shadow),
            denials: DenialFilter::None,
        };
        let written = filter.parameters();
        let read = |name: &str| {
            let found = written.iter().find(|(parameter, _)| *parameter == name);
            found.map(|(_, value)| value.clone())
        };
        assert_eq!(RuleFilter::of(read), filter);
        assert!(RuleFilter::default().parameters().iter().all(|(_, value)| value.is_empty()));
        assert_eq!(RuleFilter::of(|_| Some("nonsense".to_owned())).mode, None);
    }
}
