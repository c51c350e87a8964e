//! The frame of each page: the list of chapters, the headings of the page, and the chapters before and after.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::page::{Page, escaped};
use super::summary::Chapter;

/// The page around the text. Its own ids have a capital letter, unlike those of headings.
#[derive(Debug)]
pub struct Theme(String);

/// The texts that replace the marks in the theme's page.
struct Filling<'a> {
    title: &'a str,
    /// The address of the guide's first page, relative to this one.
    root: &'a str,
    /// The link to the page as Markdown.
    markdown: &'a str,
    contents: &'a str,
    /// Links to the headings of the page.
    headings: &'a str,
    text: &'a str,
    /// Links to the chapters before and after.
    turn: &'a str,
}

impl Theme {
    pub fn read(source: &Path) -> Result<Self> {
        let text = fs::read_to_string(source.join("theme/page.html")).context("read page.html")?;
        for mark in ["title", "root", "markdown", "contents", "headings", "text", "turn"] {
            let mark = format!("{{{{{mark}}}}}");
            ensure!(text.contains(&mark), "docs/theme/page.html has no {mark}");
        }
        Ok(Self(text))
    }

    /// The page of a chapter.
    pub fn render(&self, chapters: &[Chapter], number: usize, page: &Page) -> String {
        let chapter = &chapters[number];
        let depth = chapter.path.components().count() - 1;
        let root = if depth == 0 { "./".to_owned() } else { "../".repeat(depth) };
        let mut turn = String::new();
        let next = chapters.get(number + 1);
        let former = number.checked_sub(1).map(|before| &chapters[before]);
        for (rel, name, chapter) in [("prev", "Previous", former), ("next", "Next", next)] {
            if let Some(chapter) = chapter {
                let (address, title) = (chapter.address(), escaped(&chapter.title));
                let _ = write!(
                    turn,
                    "<a rel=\"{rel}\" href=\"{root}{}\"><span>{name}</span> {title}</a>",
                    address.display()
                );
            }
        }
        let file = chapter.path.file_name().unwrap_or_default().display();
        self.fill(&Filling {
            title: &escaped(&chapter.title),
            root: &root,
            markdown: &format!("<a href=\"{file}\">This page as Markdown</a>"),
            contents: &contents(chapters, Some(number), &root),
            headings: &headings(page),
            text: &page.html(),
            turn: &turn,
        })
    }

    /// The page for an address that the guide does not have. It can be shown at any depth.
    pub fn not_found(&self, chapters: &[Chapter]) -> String {
        self.fill(&Filling {
            title: "No such page",
            root: "/guide/",
            markdown: "",
            contents: &contents(chapters, None, "/guide/"),
            headings: "",
            text: "<h1>No such page</h1><p>The guide has no page at this address. The contents list all pages.</p>",
            turn: "",
        })
    }

    /// The text comes last, because it can contain the marks.
    fn fill(&self, filling: &Filling) -> String {
        self.0
            .replace("{{title}}", filling.title)
            .replace("{{root}}", filling.root)
            .replace("{{markdown}}", filling.markdown)
            .replace("{{contents}}", filling.contents)
            .replace("{{headings}}", filling.headings)
            .replace("{{turn}}", filling.turn)
            .replace("{{text}}", filling.text)
    }
}

/// The list of all chapters. Only the part with the page is unfolded, or the first one if the page is in no part.
fn contents(chapters: &[Chapter], shown: Option<usize>, root: &str) -> String {
    let page = shown.map(|number| &chapters[number]);
    let mut parts = page.into_iter().chain(chapters).map(|chapter| &chapter.part);
    let unfolded = parts.find(|part| !part.is_empty());
    let mut list = String::new();
    let mut number = 0;
    for part in chapters.chunk_by(|one, next| one.part == next.part) {
        let title = &part[0].part;
        if !title.is_empty() {
            let open = if unfolded == Some(title) { " open" } else { "" };
            let _ = writeln!(list, "<details{open}><summary>{}</summary>", escaped(title));
        }
        list.push_str("<ul>\n");
        for chapter in part {
            let current = if shown == Some(number) { " aria-current=\"page\"" } else { "" };
            let (address, name) = (chapter.address(), escaped(&chapter.title));
            let _ = writeln!(
                list,
                "<li class=\"depth-{}\"><a href=\"{root}{}\"{current}>{name}</a></li>",
                chapter.depth,
                address.display()
            );
            number += 1;
        }
        list.push_str("</ul>\n");
        if !title.is_empty() {
            list.push_str("</details>\n");
        }
    }
    list
}

/// Links to the headings of the second and third level.
fn headings(page: &Page) -> String {
    let mut list = String::new();
    for heading in page.headings().iter().filter(|heading| matches!(heading.level, 2 | 3)) {
        let (level, text) = (heading.level, escaped(&heading.text));
        let _ = writeln!(
            list,
            "<li class=\"level-{level}\"><a href=\"#{}\">{text}</a></li>",
            heading.id
        );
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chapter(title: &str, path: &str, part: &str) -> Chapter {
        let (title, part) = (title.to_owned(), part.to_owned());
        Chapter { title, path: path.into(), depth: 0, part }
    }

    #[test]
    fn pages_show_all_chapters_their_neighbours_and_their_headings() {
        let chapters = [
            chapter("Weir", "README.md", ""),
            chapter("A & B", "x/a.md", "Start"),
            chapter("C", "c.md", "Reference"),
        ];
        let theme = Theme(
            "{{title}}|{{root}}|{{markdown}}|{{contents}}|{{headings}}|{{text}}|{{turn}}"
                .to_owned(),
        );
        let page =
            theme.render(&chapters, 1, &Page::parse("# A\n\n## D `<e>`\n\n### F\n\n{{turn}}\n"));
        assert!(page.starts_with("A &amp; B|../|<a href=\"a.md\">"), "{page}");
        for part in [
            "<a href=\"../x/a.html\" aria-current=\"page\">A &amp; B</a>",
            "<details open><summary>Start</summary>",
            "<details><summary>Reference</summary>",
            "<li class=\"level-2\"><a href=\"#d-e\">D &lt;e&gt;</a></li>",
            "<li class=\"level-3\"><a href=\"#f\">F</a></li>",
            "<p>{{turn}}</p>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(page.ends_with(
            "<a rel=\"prev\" href=\"../index.html\"><span>Previous</span> Weir</a>\
             <a rel=\"next\" href=\"../c.html\"><span>Next</span> C</a>"
        ));
        let first = theme.render(&chapters, 0, &Page::parse("text"));
        assert!(first.contains("<details open><summary>Start</summary>"), "{first}");
        assert_eq!(first.matches("<details open>").count(), 1, "{first}");
    }
}
