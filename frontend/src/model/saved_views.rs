//! Saved views of a list page: its filter, order, columns and density under a name.

use serde::{Deserialize, Serialize};

use crate::model::json;

/// The most views of a page.
pub const VIEWS_MAX: usize = 20;
/// The most characters of a name.
pub const NAME_CHARS_MAX: usize = 60;

/// A named view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedView {
    pub name: String,
    /// The query of the URL, sorted by name.
    pub query: Vec<(String, String)>,
}

/// The views of a page, in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SavedViews(Vec<SavedView>);

impl SavedViews {
    /// Parses stored views; none if the text cannot be read.
    pub fn parse(stored: &str) -> Self {
        let mut views: Self = json::read(stored).unwrap_or_default();
        views.0.truncate(VIEWS_MAX);
        views
    }

    /// The text to store.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn all(&self) -> &[SavedView] {
        &self.0
    }

    /// Whether a view with a new name cannot be added.
    pub fn is_full(&self) -> bool {
        self.0.len() >= VIEWS_MAX
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|view| view.name == name)
    }

    /// The reason why a view cannot be saved under this name.
    pub fn problem(&self, name: &str) -> Option<String> {
        let name = name.trim();
        if name.chars().count() > NAME_CHARS_MAX {
            return Some(format!("must be at most {NAME_CHARS_MAX} characters"));
        }
        (self.is_full() && !self.has(name))
            .then(|| format!("{VIEWS_MAX} are saved, which is the maximum. Delete one first."))
    }

    /// Adds a view, or replaces the one with this name.
    pub fn put(&mut self, name: &str, query: Vec<(String, String)>) {
        let name = name.trim().to_owned();
        self.0.retain(|view| view.name != name);
        self.0.push(SavedView { name, query });
        self.0.sort_by_cached_key(|view| view.name.to_lowercase());
    }

    pub fn remove(&mut self, name: &str) {
        self.0.retain(|view| view.name != name);
    }
}

/// The part of a URL's query that a view stores, sorted by name. The form that the URL opens does not belong to it.
pub fn view_query(query: impl IntoIterator<Item = (String, String)>) -> Vec<(String, String)> {
    let belongs = |(name, value): &(String, String)| name != "new" && !value.is_empty();
    let mut query: Vec<_> = query.into_iter().filter(belongs).collect();
    query.sort();
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Vec<(String, String)> {
        let pair = |pair: &str| pair.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned()));
        view_query(text.split('&').filter_map(pair))
    }

    #[test]
    fn views_are_stored_and_read_again() {
        let mut views = SavedViews::default();
        views.put(" Shadow rules ", query("sort=-denied&mode=shadow&new=1&q="));
        views.put("api", query("namespace=api"));
        let names: Vec<_> = views.all().iter().map(|view| view.name.as_str()).collect();
        assert_eq!(names, ["api", "Shadow rules"]);
        assert_eq!(views.all()[1].query, query("mode=shadow&sort=-denied"));
        assert_eq!(SavedViews::parse(&views.text()), views);
        assert_eq!(SavedViews::parse("no views"), SavedViews::default());
    }

    #[test]
    fn a_name_is_used_once() {
        let mut views = SavedViews::default();
        views.put("api", query("namespace=api"));
        views.put("api", query("namespace=web"));
        assert_eq!(views.all().len(), 1);
        assert_eq!(views.all()[0].query, query("namespace=web"));
        views.remove("api");
        assert_eq!(views, SavedViews::default());
    }

    #[test]
    fn views_of_a_page_are_bounded() {
        let mut views = SavedViews::default();
        for number in 0..VIEWS_MAX {
            assert_eq!(views.problem("one more"), None);
            views.put(&number.to_string(), Vec::new());
        }
        assert!(views.problem("one more").is_some_and(|reason| reason.starts_with("20 are saved")));
        assert_eq!(views.problem("7"), None, "a view can be replaced");
        assert!(views.problem(&"x".repeat(61)).is_some());
        let stored = SavedViews((0..99).map(|_| views.all()[0].clone()).collect()).text();
        assert_eq!(SavedViews::parse(&stored).all().len(), VIEWS_MAX);
    }
}
