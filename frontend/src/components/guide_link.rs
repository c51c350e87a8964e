//! Links to the guide, which the control plane serves beside the dashboard.

use leptos::prelude::*;

/// A link to a page of the guide, opened in a new tab so that unsaved input stays.
#[component]
pub fn GuideLink(
    /// The path below `/guide/`, without its extension; empty for the first page.
    page: &'static str,
    #[prop(into)] text: String,
) -> impl IntoView {
    view! { <a href=address(page) rel="external" target="_blank">{text}</a> }
}

fn address(page: &str) -> String {
    if page.is_empty() { "/guide/".to_owned() } else { format!("/guide/{page}.html") }
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn pages_have_the_addresses_of_the_guide() {
        assert_eq!(address(""), "/guide/");
        assert_eq!(address("operate/ceilings"), "/guide/operate/ceilings.html");
    }
}
