//! Saved views of list pages: filter, order, columns and density under a name, which the members of a tenant share.

use std::collections::BTreeMap;

use weir_wire::views::{SavedView, VIEW_NAME_CHARS_MAX, VIEWS_MAX};

/// The views of a list, in the order of their names.
pub fn of_list(all: &[SavedView], list: &str) -> Vec<SavedView> {
    let mut views: Vec<_> = all.iter().filter(|view| view.list == list).cloned().collect();
    views.sort_by_cached_key(|view| view.name.to_lowercase());
    views
}

/// Whether a list has a view of this name.
pub fn has(all: &[SavedView], list: &str, name: &str) -> bool {
    all.iter().any(|view| view.list == list && view.name == name.trim())
}

/// The reason why a view cannot be saved under this name.
pub fn problem(all: &[SavedView], list: &str, name: &str) -> Option<String> {
    if name.trim().chars().count() > VIEW_NAME_CHARS_MAX {
        return Some(format!("must be at most {VIEW_NAME_CHARS_MAX} characters"));
    }
    let full = all.len() >= VIEWS_MAX && !has(all, list, name);
    full.then(|| format!("The tenant has {VIEWS_MAX}, which is the maximum. Delete one first."))
}

/// Adds a view, or replaces the one with its name.
pub fn put(all: &mut Vec<SavedView>, list: &str, name: &str, query: BTreeMap<String, String>) {
    remove(all, list, name.trim());
    let (list, name) = (list.to_owned(), name.trim().to_owned());
    all.push(SavedView { list, name, query });
}

pub fn remove(all: &mut Vec<SavedView>, list: &str, name: &str) {
    all.retain(|view| view.list != list || view.name != name);
}

/// The part of a URL's query that a view stores. The form that the URL opens does not belong to it.
pub fn view_query(query: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let belongs = |(name, value): &(String, String)| name != "new" && !value.is_empty();
    query.into_iter().filter(belongs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> BTreeMap<String, String> {
        let pair = |pair: &str| pair.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned()));
        view_query(text.split('&').filter_map(pair))
    }

    #[test]
    fn views_of_a_list_are_sorted_by_name() {
        let mut all = Vec::new();
        put(&mut all, "rules", " Shadow rules ", query("sort=-denied&mode=shadow&new=1&q="));
        put(&mut all, "rules", "api", query("namespace=api"));
        put(&mut all, "overrides", "b", query("q=b"));
        let names: Vec<_> = of_list(&all, "rules").into_iter().map(|view| view.name).collect();
        assert_eq!(names, ["api", "Shadow rules"]);
        assert_eq!(all[0].query, query("mode=shadow&sort=-denied"));
        assert!(has(&all, "rules", "api ") && !has(&all, "overrides", "api"));
    }

    #[test]
    fn a_name_is_used_once_in_a_list() {
        let mut all = Vec::new();
        put(&mut all, "rules", "api", query("namespace=api"));
        put(&mut all, "overrides", "api", query("q=b"));
        put(&mut all, "rules", "api", query("namespace=web"));
        assert_eq!(of_list(&all, "rules")[0].query, query("namespace=web"));
        remove(&mut all, "rules", "api");
        assert_eq!((all.len(), all[0].list.as_str()), (1, "overrides"));
    }

    #[test]
    fn views_are_bounded() {
        let mut all = Vec::new();
        for number in 0..VIEWS_MAX {
            assert_eq!(problem(&all, "rules", "one more"), None);
            put(&mut all, "rules", &number.to_string(), BTreeMap::new());
        }
        let full = problem(&all, "rules", "one more");
        assert!(full.is_some_and(|reason| reason.starts_with("The tenant has 100")));
        assert_eq!(problem(&all, "rules", "7"), None, "a view can be replaced");
        assert!(problem(&[], "rules", &"x".repeat(65)).is_some());
    }
}
