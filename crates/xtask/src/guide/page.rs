//! One page: its text, its headings, its links, and how it becomes HTML.

use std::collections::HashMap;
use std::path::Path;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// A page that was read, with an id for each heading.
#[derive(Debug)]
pub struct Page {
    markdown: String,
    events: Vec<Event<'static>>,
    headings: Vec<Heading>,
}

/// A heading of a page, of level 1 to 6.
#[derive(Debug)]
pub struct Heading {
    pub level: usize,
    pub id: String,
    pub text: String,
}

/// The plain text between a heading and the next one.
#[derive(Debug)]
pub struct Section<'a> {
    /// `None` before the first heading.
    pub heading: Option<&'a Heading>,
    pub text: String,
}

impl Page {
    pub fn parse(text: &str) -> Self {
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        let (mut markdown, mut copied) = (String::with_capacity(text.len()), 0);
        let mut events = Vec::new();
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            // Raw HTML is only used for marks that tests and tools read.
            if matches!(event, Event::Html(_) | Event::InlineHtml(_)) {
                markdown.push_str(&text[copied..range.start]);
                copied = range.end;
            } else {
                events.push(event.into_static());
            }
        }
        markdown.push_str(&text[copied..]);
        let mut page = Self { markdown, events, headings: Vec::new() };
        page.name_headings();
        page
    }

    /// The page as it was written, without raw HTML.
    pub fn markdown(&self) -> &str {
        &self.markdown
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

    pub fn headings(&self) -> &[Heading] {
        &self.headings
    }

    pub fn has_heading(&self, id: &str) -> bool {
        self.headings.iter().any(|heading| heading.id == id)
    }

    /// The text in sections, the first of which is before all headings.
    pub fn sections(&self) -> Vec<Section<'_>> {
        let mut headings = self.headings.iter();
        let mut sections = Vec::new();
        let mut heading = None;
        for events in
            self.events.split_inclusive(|event| matches!(event, Event::End(TagEnd::Heading(_))))
        {
            let start =
                events.iter().position(|event| matches!(event, Event::Start(Tag::Heading { .. })));
            let text = plain(&events[..start.unwrap_or(events.len())]);
            sections.push(Section { heading, text });
            heading = headings.next();
        }
        sections
            .extend(heading.map(|heading| Section { heading: Some(heading), text: String::new() }));
        sections
    }

    /// The text of the paragraph below the title; empty if the page begins otherwise.
    pub fn opening(&self) -> String {
        let title =
            self.events.iter().position(|event| matches!(event, Event::End(TagEnd::Heading(_))));
        let below = &self.events[title.map_or(0, |end| end + 1)..];
        if !matches!(below.first(), Some(Event::Start(Tag::Paragraph))) {
            return String::new();
        }
        let end = below.iter().position(|event| matches!(event, Event::End(TagEnd::Paragraph)));
        plain(&below[..end.unwrap_or(below.len())])
    }

    /// The page as HTML. Links to other pages lead to their HTML, and each table is in a box that scrolls.
    pub fn html(&self) -> String {
        let mut text = String::new();
        let events = self.events.iter().cloned().flat_map(|event| match event {
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = in_html(dest_url);
                vec![Event::Start(Tag::Link { link_type, dest_url, title, id })]
            }
            Event::Start(Tag::Table(_)) => vec![Event::Html("<div class=\"wide\">".into()), event],
            Event::End(TagEnd::Table) => vec![event, Event::Html("</div>\n".into())],
            _ => vec![event],
        });
        html::push_html(&mut text, events);
        // The content security policy permits no style in the page. No text contains these tags, because its `<` is replaced.
        text.replace("<td style=\"text-align: right\">", "<td class=\"right\">")
            .replace("<th style=\"text-align: right\">", "<th class=\"right\">")
            .replace("<th></th>", "<td></td>")
    }

    /// Gives each heading the id that code hosts give it: lower case, hyphens for blanks, numbered if it repeats.
    fn name_headings(&mut self) {
        let mut uses: HashMap<String, u32> = HashMap::new();
        let mut start = None;
        for at in 0..self.events.len() {
            match &self.events[at] {
                Event::Start(Tag::Heading { .. }) => start = Some(at),
                Event::End(TagEnd::Heading(level)) => {
                    let (level, Some(start)) = (*level as usize, start.take()) else { continue };
                    let text = plain(&self.events[start..at]);
                    let name = heading_id(&text);
                    let used = uses.entry(name.clone()).or_default();
                    let name = if *used == 0 { name } else { format!("{name}-{used}") };
                    *used += 1;
                    if let Event::Start(Tag::Heading { id, .. }) = &mut self.events[start] {
                        *id = Some(CowStr::from(name.clone()));
                    }
                    self.headings.push(Heading { level, id: name, text });
                }
                _ => {}
            }
        }
    }
}

/// `text` with the characters that HTML gives a meaning replaced.
pub fn escaped(text: &str) -> String {
    let mut html = String::new();
    html::push_html(&mut html, std::iter::once(Event::Text(text.into())));
    html
}

/// The words of the events, with one blank between words.
fn plain(events: &[Event]) -> String {
    let mut text = String::new();
    for event in events {
        match event {
            Event::Text(part) | Event::Code(part) => text.push_str(part),
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(
                TagEnd::Paragraph | TagEnd::CodeBlock | TagEnd::Item | TagEnd::TableCell,
            ) => text.push(' '),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn heading_id(text: &str) -> String {
    let mut id = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            ' ' => id.push('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => id.push(c),
            _ => {}
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
    fn markdown_has_no_marks_but_all_else() {
        let page =
            Page::parse("# A\n\n<!-- tour -->\n```xml\n<!-- code -->\n```\n\nb <!-- c -->\n");
        assert_eq!(page.markdown(), "# A\n\n```xml\n<!-- code -->\n```\n\nb \n");
    }

    #[test]
    fn sections_have_the_text_below_their_headings() {
        let page = Page::parse(
            "a\n\n# B\n\n*c*\n`d`.\n\n| e | f |\n| --- | --- |\n| g | h |\n\n## I `<j>`\n\n```sh\nk\n  l\n```\n\n## M\n",
        );
        let sections: Vec<_> = page
            .sections()
            .into_iter()
            .map(|section| (section.heading.map_or("", |heading| &heading.id), section.text))
            .collect();
        let expected = [("", "a"), ("b", "c d. e f g h"), ("i-j", "k l"), ("m", "")];
        assert_eq!(sections, expected.map(|(id, text)| (id, text.to_owned())));
        assert_eq!(Page::parse("# A\n\nb `c`\nd\n\ne\n").opening(), "b c d");
        assert_eq!(Page::parse("# A\n\n- b\n\nc\n").opening(), "");
        assert_eq!(escaped("I <j> & k"), "I &lt;j&gt; &amp; k");
    }

    #[test]
    fn tables_are_in_a_box_that_scrolls() {
        let html = Page::parse("| | a |\n| --- | ---: |\n| b | c |\n").html();
        assert!(html.starts_with("<div class=\"wide\"><table>"), "{html}");
        assert!(html.ends_with("</table>\n</div>\n"), "{html}");
        assert!(html.contains("<td></td><th class=\"right\">a</th>"), "{html}");
        assert!(html.contains("<td>b</td><td class=\"right\">c</td>"), "{html}");
    }
}
