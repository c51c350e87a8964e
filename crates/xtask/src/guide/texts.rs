//! The guide for programs: the index that its search reads, and `llms.txt`, which lists the pages for language models.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::page::Page;
use super::summary::Chapter;

/// The longest text of a section in the index. It bounds what a reader downloads.
const TEXT_CHARS_MAX: usize = 12_000;

/// The documents of both APIs: the name of the file below `/guide/openapi/`, and what it describes.
pub const OPENAPI: [(&str, &str, &str); 2] = [
    (
        "gate.json",
        "API of the gates",
        "What applications and proxies call: check, reserve, commit, defer and others.",
    ),
    (
        "control.json",
        "Admin API",
        "What the dashboard calls: tenants, keys, rules, overrides, statistics and others.",
    ),
];

/// An entry for each section of each page, in the order of the guide.
pub fn search_index<'a>(pages: impl IntoIterator<Item = (&'a Chapter, &'a Page)>) -> Value {
    let mut entries = Vec::new();
    for (chapter, page) in pages {
        for section in page.sections() {
            let below_title = section.heading.filter(|heading| heading.level > 1);
            if section.heading.is_none() && section.text.is_empty() {
                continue;
            }
            let mut address = chapter.address().display().to_string();
            if let Some(heading) = below_title {
                let _ = write!(address, "#{}", heading.id);
            }
            entries.push(json!({
                "address": address,
                "page": chapter.title,
                "heading": below_title.map_or("", |heading| &heading.text),
                "text": section.text.chars().take(TEXT_CHARS_MAX).collect::<String>(),
            }));
        }
    }
    Value::Array(entries)
}

/// Every page with its first sentence, by part. The first chapter is the summary of all.
pub fn llms<'a>(pages: impl IntoIterator<Item = (&'a Chapter, &'a Page)>) -> String {
    let mut text = String::new();
    let mut part = "";
    for (number, (chapter, page)) in pages.into_iter().enumerate() {
        let (title, address) = (&chapter.title, chapter.path.display());
        if number == 0 {
            let paragraph = page.opening();
            let _ = writeln!(
                text,
                "# {title}\n\n> {paragraph}\n\nThe guide begins at /guide/{address}."
            );
            continue;
        }
        if chapter.part != part {
            part = &chapter.part;
            let _ = writeln!(text, "\n## {part}\n");
        }
        let _ = writeln!(text, "- [{title}](/guide/{address}): {}", summary(page));
    }
    text.push_str("\n## OpenAPI\n\n");
    for (file, title, sentence) in OPENAPI {
        let _ = writeln!(text, "- [{title}](/guide/openapi/{file}): {sentence}");
    }
    text
}

/// The first sentence of the page, or its headings if it begins without one.
fn summary(page: &Page) -> String {
    let mut text = page.opening();
    if text.is_empty() {
        let headings = page.headings().iter().filter(|heading| heading.level == 2);
        text = headings.map(|heading| heading.text.as_str()).collect::<Vec<_>>().join(", ");
    }
    let sentence = text.split_once(". ").map_or(text.as_str(), |(first, _)| first);
    format!("{}.", sentence.trim_end_matches(['.', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guide() -> [(Chapter, Page); 3] {
        let chapter = |title: &str, path: &str, part: &str| Chapter {
            title: title.to_owned(),
            path: path.into(),
            depth: 0,
            part: part.to_owned(),
        };
        [
            (
                chapter("Weir", "README.md", ""),
                Page::parse("# Weir\n\nWeir limits. It is small.\n"),
            ),
            (
                chapter("Rules", "rules.md", "Concepts"),
                Page::parse(
                    "# Rules\n\nA rule has [limits](b.md). And more:\n\n## A `field`\n\nIts *text*.\n",
                ),
            ),
            (
                chapter("Bounds", "x/README.md", "Reference"),
                Page::parse("# Bounds\n\n- one\n\n## A\n\n## `B`\n"),
            ),
        ]
    }

    fn pages(guide: &[(Chapter, Page)]) -> impl Iterator<Item = (&Chapter, &Page)> {
        guide.iter().map(|(chapter, page)| (chapter, page))
    }

    #[test]
    fn index_has_the_sections_of_all_pages() {
        let index = search_index(pages(&guide()));
        assert_eq!(
            index,
            json!([
                { "address": "index.html", "page": "Weir", "heading": "", "text": "Weir limits. It is small." },
                { "address": "rules.html", "page": "Rules", "heading": "", "text": "A rule has limits. And more:" },
                { "address": "rules.html#a-field", "page": "Rules", "heading": "A field", "text": "Its text." },
                { "address": "x/index.html", "page": "Bounds", "heading": "", "text": "one" },
                { "address": "x/index.html#a", "page": "Bounds", "heading": "A", "text": "" },
                { "address": "x/index.html#b", "page": "Bounds", "heading": "B", "text": "" },
            ])
        );
    }

    #[test]
    fn pages_are_listed_for_language_models_by_part() {
        let text = llms(pages(&guide()));
        let expected = "# Weir\n\n> Weir limits. It is small.\n\nThe guide begins at /guide/README.md.\n\n\
                        ## Concepts\n\n- [Rules](/guide/rules.md): A rule has limits.\n\n\
                        ## Reference\n\n- [Bounds](/guide/x/README.md): A, B.\n\n\
                        ## OpenAPI\n\n- [API of the gates](/guide/openapi/gate.json): ";
        assert!(text.starts_with(expected), "{text}");
    }
}
