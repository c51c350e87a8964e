//! The search of the command palette: pages, rules, keys, and subjects.

use std::collections::BTreeMap;

use weir_domain::id::RequestId;
use weir_wire::search::{SearchHit, SearchKind};

use crate::model::request_link::encoded;
use crate::model::subject::{label, page};
use crate::model::why;

/// A destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub kind: &'static str,
    pub label: String,
    /// More search text, which also tells the entry from others.
    pub detail: String,
    /// The path below the tenant.
    pub page: String,
}

impl Entry {
    /// Something that the server found for a text.
    pub fn of(hit: SearchHit, text: &str) -> Self {
        let subject = hit.subject.unwrap_or_default();
        let name = hit.name.unwrap_or_else(|| label(&subject));
        let (kind, page) = match hit.kind {
            SearchKind::Subject => ("Subject", page(&subject)),
            SearchKind::Rule => ("Rule", format!("rules/{}", hit.id.unwrap_or_default())),
            SearchKind::Override => ("Override", format!("overrides?q={}", encoded(text))),
            SearchKind::Alert => ("Alert", "alerts".to_owned()),
            SearchKind::Webhook => ("Webhook", "alerts".to_owned()),
            SearchKind::Member => ("Member", "members".to_owned()),
            SearchKind::Key => ("Key", "keys".to_owned()),
            SearchKind::Audit => ("Audit entry", format!("audit?q={}", encoded(&name))),
        };
        let detail = match hit.kind {
            SearchKind::Audit => format!("{} {text}", hit.detail),
            _ => hit.detail,
        };
        let found = Self { kind, label: name, detail, page };
        if found.is_guess() {
            Self { label: format!("Open as {}", found.label), ..found }
        } else {
            found
        }
    }

    /// Whether it is a subject of which the server knows nothing.
    fn is_guess(&self) -> bool {
        self.kind == "Subject" && self.detail.is_empty()
    }
}

/// The entries that contain every word of the query, best match first; all entries, in order, for an empty query. A
/// query such as `user=u-17` also finds that subject, and the id of a request the page about its denial.
pub fn search(query: &str, entries: &[Entry]) -> Vec<Entry> {
    let typed = query.trim();
    let query = typed.to_lowercase();
    let words: Vec<&str> = query.split_whitespace().map(value).collect();
    let mut ranked: Vec<(u32, &Entry)> = entries
        .iter()
        .filter_map(|entry| {
            let ranks = words.iter().map(|word| rank(word, entry));
            let rank = ranks.sum::<Option<u32>>()?;
            Some((if entry.is_guess() { rank + GUESS_RANK } else { rank }, entry))
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut ranked: Vec<Entry> = ranked.into_iter().map(|(_, entry)| entry.clone()).collect();
    if let Some(named) = subject(typed) {
        let known = ranked.iter().position(|entry| entry.page == named.page);
        let first = known.map_or(named, |at| ranked.remove(at));
        ranked.insert(0, first);
    }
    if let Ok(request) = typed.parse::<RequestId>() {
        let label = format!("Why was {request} denied?");
        let entry = Entry {
            kind: "Denial",
            label,
            detail: String::new(),
            page: why::page(&request.to_string()),
        };
        ranked.insert(0, entry);
    }
    ranked.truncate(MAX_RESULTS);
    ranked
}

/// The text to search for on the server: the whole text, or the longest value of pairs such as `user=u-17`. `None` if it is too
/// short.
pub fn server_query(query: &str) -> Option<String> {
    let query = query.trim();
    let value = if query.contains('=') {
        query.split_whitespace().map(value).max_by_key(|word| word.chars().count())?
    } else {
        query
    };
    (value.chars().count() >= SEARCHED_CHARS).then(|| value.to_owned())
}

/// The value of `user=u-17`, else the whole word.
fn value(word: &str) -> &str {
    word.split_once('=').map_or(word, |(_, value)| value)
}

/// The distance between a word and an entry; `None` without a match.
fn rank(word: &str, entry: &Entry) -> Option<u32> {
    let label = entry.label.to_lowercase();
    if word.is_empty() {
        return None;
    }
    let starts =
        |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|part| part.starts_with(word));
    match label {
        _ if label.starts_with(word) => Some(0),
        _ if starts(&label) => Some(1),
        _ if label.contains(word) => Some(2),
        _ if entry.detail.to_lowercase().contains(word) => Some(3),
        // An id.
        _ if word.contains('_') && entry.page.to_lowercase().contains(word) => Some(4),
        _ if word.len() > 1 && is_abbreviation(word, &label) => Some(6),
        _ => None,
    }
}

/// Whether a word consists of the first letters of parts of a text, such as `lpu` of `login-per-user`.
fn is_abbreviation(word: &str, text: &str) -> bool {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter_map(|part| part.chars().next());
    parts.collect::<String>().contains(word)
}

/// The subject named by `attribute=value` pairs.
fn subject(query: &str) -> Option<Entry> {
    let pairs = query.split_whitespace().map(|word| {
        let (name, value) = word.split_once('=')?;
        (!name.is_empty() && !value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    });
    let attributes: BTreeMap<String, String> = pairs.collect::<Option<_>>()?;
    if attributes.is_empty() {
        return None;
    }
    let (label, page) = (format!("Open as {}", label(&attributes)), page(&attributes));
    Some(Entry { kind: "Subject", label, detail: String::new(), page })
}

/// The distance of a subject that only the text names: after all that is known.
const GUESS_RANK: u32 = 100;
const SEARCHED_CHARS: usize = 2;
const MAX_RESULTS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(label: &str, detail: &str) -> Entry {
        Entry {
            kind: "Rule",
            label: label.to_owned(),
            detail: detail.to_owned(),
            page: String::new(),
        }
    }

    fn labels(query: &str) -> Vec<String> {
        let entries = [
            entry("Rules", ""),
            entry("login-per-user", "web"),
            entry("api-per-key", "api"),
            entry("old-login", "web"),
            entry("superuser", "api"),
        ];
        search(query, &entries).into_iter().map(|entry| entry.label).collect()
    }

    #[test]
    fn the_best_match_comes_first() {
        assert_eq!(labels("login"), ["login-per-user", "old-login"]);
        assert_eq!(labels("user"), ["login-per-user", "superuser"]);
        assert_eq!(labels("API"), ["api-per-key", "superuser"]);
        assert_eq!(labels("lpu"), ["login-per-user"]);
        assert_eq!(labels("nothing like it"), Vec::<String>::new());
    }

    #[test]
    fn every_word_must_match_and_an_empty_query_finds_all() {
        assert_eq!(labels("web old"), ["old-login"]);
        assert_eq!(labels(" ").len(), 5);
    }

    #[test]
    fn the_server_is_queried_for_the_text_or_the_longest_value() {
        assert_eq!(server_query(" Acme Corp ").as_deref(), Some("Acme Corp"));
        assert_eq!(server_query("a=1 user=u-17").as_deref(), Some("u-17"));
        assert_eq!(server_query("user=u-17").as_deref(), Some("u-17"));
        assert_eq!(server_query("user="), None);
        assert_eq!(server_query(" a "), None);
    }

    #[test]
    fn what_the_server_finds_leads_to_its_page() {
        let hit = |kind: &str, name: Option<&str>, detail: &str, subject: Option<&str>| -> Entry {
            let subject = subject.map(|value| serde_json::json!({ "customer": value }));
            let hit = serde_json::json!({
                "kind": kind, "id": "rule_1", "name": name, "detail": detail, "subject": subject
            });
            Entry::of(serde_json::from_value(hit).expect("a hit"), "umb rella")
        };
        let entries = [
            hit("subject", None, "at least 586 denials in the last day", Some("umbrella")),
            hit("subject", None, "", Some("umb rella")),
            hit("rule", Some("per-umbrella"), "api", None),
            hit("override", None, "api-per-customer", Some("umbrella")),
            hit("alert", Some("Token volume"), "", None),
            hit("audit", Some("req_7"), "rule.update", None),
        ];
        let shown: Vec<_> = entries.iter().map(|entry| (&*entry.label, &*entry.page)).collect();
        let of = |value: &str| format!("subjects?attributes=%7B%22customer%22%3A%22{value}%22%7D");
        assert_eq!(shown[0], ("customer umbrella", &*of("umbrella")));
        assert_eq!(shown[1], ("Open as customer umb rella", &*of("umb%20rella")));
        let expected = [
            ("per-umbrella", "rules/rule_1"),
            ("customer umbrella", "overrides?q=umb%20rella"),
            ("Token volume", "alerts"),
            ("req_7", "audit?q=req_7"),
        ];
        assert_eq!(shown[2..], expected);
        let found = search("customer=umbrella", &entries);
        assert_eq!((found.len(), &found[0]), (3, &entries[0]), "the known subject comes first");
        let by_word = search("umb", &entries);
        let last = by_word.last().map(|entry| &*entry.label);
        assert_eq!(last, Some("Open as customer umb rella"), "what is known comes first");
        assert_eq!(search("RULE_1", &entries), [entries[2].clone()], "by its id");
    }

    #[test]
    fn id_of_a_request_leads_to_its_denial_whether_it_is_in_the_log_or_not() {
        let id = "req_01JD3Z9W2XK7Q8R5T6V0ABCDEF";
        let found = search(&format!(" {id} "), &[entry("Rules", "")]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].label, format!("Why was {id} denied?"));
        assert_eq!(found[0].page, format!("why/{id}"));
        assert_eq!(labels("req_1"), Vec::<String>::new(), "only a whole id");
    }

    #[test]
    fn subjects_are_found_by_attribute_and_value() {
        assert_eq!(labels("user=U-17"), ["Open as user U-17"]);
        assert_eq!(labels("user="), Vec::<String>::new());
    }
}
