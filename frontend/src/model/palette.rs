//! The search of the command palette: pages, rules, keys, and subjects.

use std::collections::BTreeMap;

use crate::model::subject::{label, page};

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

/// The entries that contain every word of the query, best match first; all entries, in order, for an empty query. A
/// query such as `user=u-17` also finds that subject.
pub fn search(query: &str, entries: &[Entry]) -> Vec<Entry> {
    let typed = query.trim();
    let query = typed.to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    let mut ranked: Vec<(u32, &Entry)> = entries
        .iter()
        .filter_map(|entry| {
            let ranks = words.iter().map(|word| rank(word, entry));
            ranks.sum::<Option<u32>>().map(|rank| (rank, entry))
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let ranked = ranked.into_iter().map(|(_, entry)| entry.clone());
    subject(typed).into_iter().chain(ranked).take(MAX_RESULTS).collect()
}

/// The text to search for on the server: the longest word, or the value of `user=u-17`. `None` if it is too short.
pub fn server_query(query: &str) -> Option<String> {
    let longest = query.split_whitespace().max_by_key(|word| word.chars().count())?;
    let value = longest.split_once('=').map_or(longest, |(_, value)| value);
    (value.chars().count() >= SEARCHED_CHARS).then(|| value.to_owned())
}

/// The distance between a word and an entry; `None` without a match.
fn rank(word: &str, entry: &Entry) -> Option<u32> {
    let label = entry.label.to_lowercase();
    let starts =
        |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|part| part.starts_with(word));
    match label {
        _ if label.starts_with(word) => Some(0),
        _ if starts(&label) => Some(1),
        _ if label.contains(word) => Some(2),
        _ if entry.detail.to_lowercase().contains(word) => Some(3),
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
    let (label, page) = (format!("Open subject {}", label(&attributes)), page(&attributes));
    Some(Entry { kind: "Subject", label, detail: String::new(), page })
}

const SEARCHED_CHARS: usize = 2;
const MAX_RESULTS: usize = 30;

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
    fn the_server_is_queried_for_the_longest_word_or_value() {
        assert_eq!(server_query("web login-per-user").as_deref(), Some("login-per-user"));
        assert_eq!(server_query("user=u-17").as_deref(), Some("u-17"));
        assert_eq!(server_query("user="), None);
        assert_eq!(server_query(" a "), None);
    }

    #[test]
    fn subjects_are_found_by_attribute_and_value() {
        assert_eq!(labels("user=U-17"), ["Open subject user U-17"]);
        assert_eq!(labels("user="), Vec::<String>::new());
    }
}
