//! Text as HTML.

use std::fmt::Write as _;

use pulldown_cmark::{Event, Parser, Tag, TagEnd, html};

/// Text without markup.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Markdown, as paragraphs. HTML in it is text.
pub fn paragraphs(text: &str) -> String {
    let mut result = String::new();
    html::push_html(&mut result, events(text));
    result
}

/// Markdown of one paragraph, without the element around it.
pub fn inline(text: &str) -> String {
    let is_edge = |event: &Event| {
        matches!(event, Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph))
    };
    let mut result = String::new();
    html::push_html(&mut result, events(text).filter(|event| !is_edge(event)));
    result
}

fn events(text: &str) -> impl Iterator<Item = Event<'_>> {
    Parser::new(text).map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        other => other,
    })
}

/// Replaces each mark such as `{{gate}}` by its value, in an element by whose `data-fill` the script finds it.
pub fn filled(escaped_text: &str, values: &[(String, String)]) -> String {
    let mut text = escaped_text.to_owned();
    for (name, value) in values {
        let (name, value) = (escaped(name), escaped(value));
        let mut element = String::new();
        let _ = write!(element, "<span data-fill=\"{name}\">{value}</span>");
        text = text.replace(&format!("{{{{{name}}}}}"), &element);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_rendered_and_html_is_text() {
        assert_eq!(
            inline("The `a<b>` of <script>"),
            "The <code>a&lt;b&gt;</code> of &lt;script&gt;"
        );
        assert_eq!(paragraphs("a\n\nb"), "<p>a</p>\n<p>b</p>\n");
    }

    #[test]
    fn marks_become_elements() {
        let values = [("gate".to_owned(), "http://a?b&c".to_owned())];
        assert_eq!(
            filled("{{gate}}/x", &values),
            "<span data-fill=\"gate\">http://a?b&amp;c</span>/x"
        );
    }
}
