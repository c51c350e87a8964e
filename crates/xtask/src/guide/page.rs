//! One page: its text, its headings, its links, and how it becomes HTML.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::summary::Chapter;

/// A page that was read, with an id for each heading.
#[derive(Debug)]
pub struct Page {
    events: Vec<Event<'static>>,
    headings: Vec<String>,
}

impl Page {
    pub fn parse(text: &str) -> Self {
        let events = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
        // Raw HTML is only used for marks that tests and tools read.
        let events = events.filter(|event| !matches!(event, Event::Html(_) | Event::InlineHtml(_)));
        let mut page =
            Self { events: events.map(Event::into_static).collect(), headings: Vec::new() };
        page.name_headings();
        page
    }

    /// Destinations of links and pictures.
    pub fn links(&self) -> impl Iterator<Item = &str> {
        self.events.iter().filter_map(|event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some(dest_url.as_ref())
            }
            _ => None,
        })
    }

    pub fn has_heading(&self, id: &str) -> bool {
        self.headings.iter().any(|heading| heading == id)
    }

    /// The page as HTML. Links to other pages lead to their HTML.
    fn html(&self) -> String {
        let events = self.events.iter().cloned().map(|event| match event {
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                Event::Start(Tag::Link { link_type, dest_url: in_html(dest_url), title, id })
            }
            other => other,
        });
        let mut text = String::new();
        html::push_html(&mut text, events);
        text
    }

    /// Gives each heading the id that code hosts give it: lower case, hyphens for blanks, numbered if it repeats.
    fn name_headings(&mut self) {
        let mut uses: HashMap<String, u32> = HashMap::new();
        let mut start = None;
        for at in 0..self.events.len() {
            match &self.events[at] {
                Event::Start(Tag::Heading { .. }) => start = Some(at),
                Event::End(TagEnd::Heading(_)) => {
                    let Some(start) = start.take() else { continue };
                    let name = heading_id(&self.events[start..at]);
                    let used = uses.entry(name.clone()).or_default();
                    let name = if *used == 0 { name } else { format!("{name}-{used}") };
                    *used += 1;
                    if let Event::Start(Tag::Heading { id, .. }) = &mut self.events[start] {
                        *id = Some(CowStr::from(name.clone()));
                    }
                    self.headings.push(name);
                }
                _ => {}
            }
        }
    }
}

fn heading_id(events: &[Event]) -> String {
    let mut id = String::new();
    for event in events {
        if let Event::Text(text) | Event::Code(text) = event {
            for c in text.chars().flat_map(char::to_lowercase) {
                match c {
                    ' ' => id.push('-'),
                    c if c.is_alphanumeric() || c == '-' || c == '_' => id.push(c),
                    _ => {}
                }
            }
        }
    }
    id
}

fn in_html(link: CowStr<'static>) -> CowStr<'static> {
    let (path, heading) =
        link.split_once('#').map_or((&*link, None), |(path, id)| (path, Some(id)));
    let is_page = Path::new(path).extension().is_some_and(|extension| extension == "md");
    if link.contains(':') || !is_page {
        return link;
    }
    let path = if path == "README.md" || path.ends_with("/README.md") {
        format!("{}index.html", path.trim_end_matches("README.md"))
    } else {
        format!("{}.html", path.trim_end_matches(".md"))
    };
    CowStr::from(heading.map_or_else(|| path.clone(), |heading| format!("{path}#{heading}")))
}

/// The page around the text.
#[derive(Debug)]
pub struct Theme(String);

/// The texts that replace the marks in the theme's page.
struct Filling<'a> {
    title: &'a str,
    /// The address of the guide's first page, relative to this one.
    root: &'a str,
    contents: &'a str,
    text: &'a str,
    /// Links to the chapters before and after.
    turn: &'a str,
}

impl Theme {
    pub fn read(source: &Path) -> Result<Self> {
        let text = fs::read_to_string(source.join("theme/page.html")).context("read page.html")?;
        for mark in ["{{title}}", "{{root}}", "{{contents}}", "{{text}}", "{{turn}}"] {
            ensure!(text.contains(mark), "docs/theme/page.html has no {mark}");
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
        for (rel, chapter) in [("prev", former), ("next", next)] {
            if let Some(Chapter { title, .. }) = chapter {
                let address = chapter.map(Chapter::address).unwrap_or_default();
                let _ = write!(
                    turn,
                    "<a rel=\"{rel}\" href=\"{root}{}\">{title}</a>",
                    address.display()
                );
            }
        }
        self.fill(&Filling {
            title: &chapter.title,
            root: &root,
            contents: &contents(chapters, Some(number), &root),
            text: &page.html(),
            turn: &turn,
        })
    }

    /// The page for an address that the guide does not have. It can be shown at any depth.
    pub fn not_found(&self, chapters: &[Chapter]) -> String {
        let text = "<h1>No such page</h1><p>The guide has no page at this address. \
                    The contents list all pages.</p>";
        let (root, contents) = ("/guide/", &contents(chapters, None, "/guide/"));
        self.fill(&Filling { title: "No such page", root, contents, text, turn: "" })
    }

    fn fill(&self, filling: &Filling) -> String {
        self.0
            .replace("{{title}}", filling.title)
            .replace("{{root}}", filling.root)
            .replace("{{contents}}", filling.contents)
            .replace("{{turn}}", filling.turn)
            .replace("{{text}}", filling.text)
    }
}

/// The list of all chapters.
fn contents(chapters: &[Chapter], shown: Option<usize>, root: &str) -> String {
    let mut list = String::new();
    for (number, chapter) in chapters.iter().enumerate() {
        let current = if shown == Some(number) { " aria-current=\"page\"" } else { "" };
        let _ = writeln!(
            list,
            "<li class=\"depth-{}\"><a href=\"{root}{}\"{current}>{}</a></li>",
            chapter.depth,
            chapter.address().display(),
            chapter.title
        );
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_ids_and_links_lead_to_html() {
        let page = Page::parse(
            "<!-- tour -->\n# `A` is, b\n\n[x](operate/y.md#z) [home](../README.md) [o](https://a.md)\n",
        );
        assert!(page.has_heading("a-is-b"));
        let html = page.html();
        for part in [
            "<h1 id=\"a-is-b\">",
            "href=\"operate/y.html#z\"",
            "href=\"../index.html\"",
            "href=\"https://a.md\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("tour"), "{html}");
    }

    #[test]
    fn pages_show_all_chapters_and_their_neighbours() {
        let chapter = |title: &str, path: &str| Chapter {
            title: title.to_owned(),
            path: path.into(),
            depth: 0,
        };
        let chapters = [chapter("Weir", "README.md"), chapter("A", "x/a.md"), chapter("B", "b.md")];
        let theme = Theme("{{title}}|{{root}}|{{contents}}|{{text}}|{{turn}}".to_owned());
        let page = theme.render(&chapters, 1, &Page::parse("text"));
        assert!(page.starts_with("A|../|"), "{page}");
        assert!(page.contains("<a href=\"../x/a.html\" aria-current=\"page\">A</a>"), "{page}");
        assert!(page.ends_with(
            "<a rel=\"prev\" href=\"../index.html\">Weir</a><a rel=\"next\" href=\"../b.html\">B</a>"
        ));
    }
}
