//! The filter of live denials: a text and one value of each facet, and the counts of the values.

use std::collections::BTreeMap;

use weir_wire::stats::DenialEntry;

use crate::model::subject;

/// The properties of denials to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facet {
    Outcome,
    Namespace,
    Rule,
}

impl Facet {
    pub const ALL: [Self; 3] = [Self::Outcome, Self::Namespace, Self::Rule];

    pub const fn title(self) -> &'static str {
        match self {
            Self::Outcome => "Outcome",
            Self::Namespace => "Namespace",
            Self::Rule => "Rule",
        }
    }

    fn value(self, denial: &DenialEntry) -> String {
        match self {
            Self::Outcome if denial.shadow => "Would deny (shadow)".to_owned(),
            Self::Outcome if denial.degraded => "Denied without Redis".to_owned(),
            Self::Outcome => "Denied".to_owned(),
            Self::Namespace => denial.namespace.clone(),
            Self::Rule => denial.rule.clone(),
        }
    }
}

/// The choice of denials; the default shows all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LiveFilter {
    /// A text in subject, rule or namespace, in any case.
    pub text: String,
    chosen: [Option<String>; 3],
}

impl LiveFilter {
    pub fn is_chosen(&self, facet: Facet, value: &str) -> bool {
        self.chosen[facet as usize].as_deref() == Some(value)
    }

    /// Chooses a value; choosing it again shows all values.
    pub fn toggle(&mut self, facet: Facet, value: String) {
        let chosen = &mut self.chosen[facet as usize];
        *chosen = if chosen.as_ref() == Some(&value) { None } else { Some(value) };
    }

    /// The chosen namespace; empty for all.
    pub fn namespace(&self) -> &str {
        self.chosen[Facet::Namespace as usize].as_deref().unwrap_or_default()
    }

    /// Shows one namespace, or all for an empty text.
    pub fn set_namespace(&mut self, namespace: String) {
        let chosen = Some(namespace).filter(|namespace| !namespace.is_empty());
        self.chosen[Facet::Namespace as usize] = chosen;
    }

    pub fn shows(&self, denial: &DenialEntry) -> bool {
        self.has_text(denial) && Facet::ALL.iter().all(|facet| self.admits(*facet, denial))
    }

    /// The values of a facet and their counts among the denials that the rest of the filter shows, most frequent first.
    pub fn counts(&self, facet: Facet, denials: &[DenialEntry]) -> Vec<(String, u64)> {
        let others = |denial: &&DenialEntry| {
            let other = |other: &Facet| *other == facet || self.admits(*other, denial);
            self.has_text(denial) && Facet::ALL.iter().all(other)
        };
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for denial in denials.iter().filter(others) {
            *counts.entry(facet.value(denial)).or_default() += u64::from(denial.stands_for);
        }
        if let Some(chosen) = &self.chosen[facet as usize] {
            counts.entry(chosen.clone()).or_default();
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }

    fn admits(&self, facet: Facet, denial: &DenialEntry) -> bool {
        self.chosen[facet as usize].as_ref().is_none_or(|chosen| *chosen == facet.value(denial))
    }

    fn has_text(&self, denial: &DenialEntry) -> bool {
        let text = self.text.trim().to_lowercase();
        let whole =
            format!("{} {} {}", subject::label(&denial.subject), denial.rule, denial.namespace);
        text.is_empty() || whole.to_lowercase().contains(&text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn denials() -> Vec<DenialEntry> {
        let denial = |namespace: &str, rule: &str, user: &str, shadow: bool| -> DenialEntry {
            serde_json::from_value(json!({
                "id": "denial_1", "at": "2026-11-21T22:40:00Z", "namespace": namespace, "rule_id": rule, "rule": rule,
                "shadow": shadow, "subject": {"user": user}, "cost": 1, "retry_after_ms": 10, "degraded": false,
                "stands_for": 2
            }))
            .expect("a denial")
        };
        vec![
            denial("api", "login", "Ada", false),
            denial("api", "login", "bob", false),
            denial("api", "search", "ada", true),
            denial("mail", "mails", "cleo", false),
        ]
    }

    #[test]
    fn text_and_facets_restrict_together() {
        let denials = denials();
        let shown =
            |filter: &LiveFilter| denials.iter().filter(|denial| filter.shows(denial)).count();
        let mut filter = LiveFilter::default();
        assert_eq!(shown(&filter), 4);
        filter.text = " ADA".to_owned();
        assert_eq!(shown(&filter), 2);
        filter.toggle(Facet::Outcome, "Denied".to_owned());
        assert_eq!(shown(&filter), 1);
        filter.toggle(Facet::Namespace, "mail".to_owned());
        assert_eq!(shown(&filter), 0);
        filter.toggle(Facet::Namespace, "mail".to_owned());
        assert_eq!(shown(&filter), 1, "a second choice removes the first");
    }

    #[test]
    fn a_facet_counts_what_the_others_show() {
        let mut filter = LiveFilter::default();
        filter.toggle(Facet::Namespace, "api".to_owned());
        let counts = |filter: &LiveFilter, facet| filter.counts(facet, &denials());
        let pair = |name: &str, count| (name.to_owned(), count);
        assert_eq!(counts(&filter, Facet::Rule), [pair("login", 4), pair("search", 2)]);
        assert_eq!(counts(&filter, Facet::Namespace), [pair("api", 6), pair("mail", 2)]);
        filter.text = "zzz".to_owned();
        assert_eq!(counts(&filter, Facet::Namespace), [pair("api", 0)], "the chosen one stays");
        assert_eq!(filter.namespace(), "api");
        filter.set_namespace(String::new());
        assert_eq!(counts(&filter, Facet::Namespace), []);
    }
}
