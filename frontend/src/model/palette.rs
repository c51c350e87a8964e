//! What the palette finds: pages, rules, keys, and somebody who is counted, by what is typed.

use std::collections::BTreeMap;

use crate::model::request_link::request_link;

/// Something to go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub kind: &'static str,
    pub label: String,
    /// More words by which it is found, and which tell it from others.
    pub detail: String,
    /// Where it is, below the tenant.
    pub page: String,
}

/// The entries that have every word of the query, the best first; all of them, in their order, for an empty query.
/// `user=u-17` also finds whoever is counted so.
pub fn found(query: &str, entries: &[Entry]) -> Vec<Entry> {
    let query = query.trim().to_lowercase();
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
    subject(&query).into_iter().chain(ranked).take(MOST).collect()
}

/// The text to ask the server for: the longest word, of `user=u-17` the value. Nothing while it is too short to tell much.
pub fn searched(query: &str) -> Option<String> {
    let longest = query.split_whitespace().max_by_key(|word| word.chars().count())?;
    let value = longest.split_once('=').map_or(longest, |(_, value)| value);
    (value.chars().count() >= SEARCHED_CHARS).then(|| value.to_owned())
}

/// How far a word is from an entry; none when it is not there.
fn rank(word: &str, entry: &Entry) -> Option<u32> {
    let label = entry.label.to_lowercase();
    let starts =
        |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|part| part.starts_with(word));
    match label {
        _ if label.starts_with(word) => Some(0),
        _ if starts(&label) => Some(1),
        _ if label.contains(word) => Some(2),
        _ if entry.detail.to_lowercase().contains(word) => Some(3),
        _ if word.len() > 1 && in_order(word, &label) => Some(6),
        _ => None,
    }
}

/// Whether the letters of a word come in a text in this order, such as `lpu` in `login-per-user`.
fn in_order(word: &str, text: &str) -> bool {
    let mut letters = text.chars();
    word.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

/// Whoever is named as `attribute=value`, several of them apart by blanks.
fn subject(query: &str) -> Option<Entry> {
    let pairs = query.split_whitespace().map(|word| {
        let (name, value) = word.split_once('=')?;
        (!name.is_empty() && !value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    });
    let attributes: BTreeMap<String, String> = pairs.collect::<Option<_>>()?;
    if attributes.is_empty() {
        return None;
    }
    let label = format!("Try a check of {}", crate::model::words::subject(&attributes));
    let page = request_link(None, &attributes);
    Some(Entry { kind: "Subject", label, detail: String::new(), page })
}

const SEARCHED_CHARS: usize = 2;
/// At most so many are shown.
const MOST: usize = 30;

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
        found(query, &entries).into_iter().map(|it| it.label).collect()
    }

    #[test]
    fn the_nearest_comes_first() {
        assert_eq!(labels("login"), ["login-per-user", "old-login"]);
        assert_eq!(labels("user"), ["login-per-user", "superuser"]);
        assert_eq!(labels("API"), ["api-per-key", "superuser"]);
        assert_eq!(labels("lpu"), ["login-per-user"]);
        assert_eq!(labels("nothing like it"), Vec::<String>::new());
    }

    #[test]
    fn every_word_must_be_there_and_none_finds_all() {
        assert_eq!(labels("web old"), ["old-login"]);
        assert_eq!(labels(" ").len(), 5);
    }

    #[test]
    fn the_server_is_asked_for_the_longest_word_or_value() {
        assert_eq!(searched("web login-per-user").as_deref(), Some("login-per-user"));
        assert_eq!(searched("user=u-17").as_deref(), Some("u-17"));
        assert_eq!(searched("user="), None);
        assert_eq!(searched(" a "), None);
    }

    #[test]
    fn somebody_is_found_by_attribute_and_value() {
        assert_eq!(labels("user=u-17"), ["Try a check of user u-17"]);
        assert_eq!(labels("user="), Vec::<String>::new());
    }
}
