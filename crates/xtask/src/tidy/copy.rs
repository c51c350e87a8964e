//! The texts that people read: sentences begin with a capital letter, and no message shows a regular expression.

use std::path::Path;

/// The faults of a source file, each with its line.
pub fn find(file: &Path, text: &str) -> Vec<(usize, String)> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let shown = file.starts_with("frontend/src");
    let mut faults = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut fault = |what: &str, found: &str| {
            faults.push((number + 1, format!("{what}: {found}")));
        };
        if line.contains(PATTERN) {
            fault("a message shows a regular expression; say which characters are valid", PATTERN);
        }
        if shown {
            for found in lower_case(line) {
                fault("a text begins in lower case", found);
            }
        }
    }
    faults
}

/// The texts of a line of a view that begin in lower case.
fn lower_case(line: &str) -> Vec<&str> {
    let after_tags = TAGS.iter().flat_map(move |tag| {
        line.match_indices(tag).filter_map(move |(at, tag)| {
            let rest = &line[at + tag.len()..];
            let inside = rest.starts_with(['>', ' ']).then(|| rest.split_once(">\""))??;
            (!inside.0.contains('<')).then_some(inside.1)
        })
    });
    let attributes = ATTRIBUTES.iter().flat_map(move |attribute| {
        line.match_indices(attribute).map(move |(at, attribute)| &line[at + attribute.len()..])
    });
    after_tags
        .chain(attributes)
        .map(|text| text.split('"').next().unwrap_or(text))
        .filter(|text| text.starts_with(|c: char| c.is_ascii_lowercase()))
        .filter(|text| !NAMES.contains(text))
        .collect()
}

const PATTERN: &str = concat!("must match", " ^");
const TAGS: [&str; 9] =
    ["<p", "<h1", "<h2", "<h3", "<button", "<legend", "<dt", "<summary", "<figcaption"];
const ATTRIBUTES: [&str; 5] = [" title=\"", " label=\"", " lead=\"", " hint=\"", " submit=\""];
/// Proper names.
const NAMES: [&str; 2] = ["cURL", "curl"];

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(file: &str, text: &str) -> usize {
        find(Path::new(file), text).len()
    }

    #[test]
    fn texts_of_the_dashboard_begin_with_a_capital_letter() {
        let page = "frontend/src/pages/x.rs";
        assert_eq!(faults(page, "<p class=\"note\">\"no rules yet\"</p>"), 1);
        assert_eq!(faults(page, "<Empty title=\"no rules yet\">"), 1);
        assert_eq!(faults(page, "<p class=\"note\">\"No rules yet\"</p>"), 0);
        assert_eq!(faults(page, "<h3>\"cURL\"</h3>"), 0);
        assert_eq!(
            faults(page, "<p>{count}<span>\"of them\"</span></p>"),
            0,
            "a part of a sentence"
        );
        assert_eq!(faults("crates/weir-gate/src/x.rs", "<p>\"no rules yet\"</p>"), 0);
    }

    #[test]
    fn no_message_shows_a_regular_expression() {
        let line = format!("\"{PATTERN}[a-z]+$\"");
        assert_eq!(faults("crates/weir-domain/src/names.rs", &line), 1);
    }
}
