//! A file as nodes that know their line and column. Anchors, aliases and tags are refused: they hide what a file says, and
//! a small file could stand for a large one.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput};

/// The most nested lists and maps.
const DEPTH_MAX: usize = 32;

/// A place in a file. Lines and columns count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// An error and its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {text}", at.line, at.column)]
pub struct Misplaced {
    /// The place.
    pub at: Position,
    /// The error.
    pub text: String,
}

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The place of its beginning.
    pub at: Position,
    /// The content.
    pub content: Content,
}

/// The content of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A text, number or other scalar.
    Scalar {
        /// The text as written, without quotes.
        text: String,
        /// Whether it has no quotes and is no block, so that it can be a number.
        plain: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// A map. Its keys are unique.
    Map(Vec<Entry>),
}

/// An entry of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The place of the key.
    pub at: Position,
    /// The value.
    pub value: Node,
}

impl Position {
    fn of(marker: &Marker) -> Self {
        Self { line: marker.line(), column: marker.col() + 1 }
    }
}

impl Misplaced {
    /// An error at a place.
    pub fn new(at: Position, text: impl Into<String>) -> Self {
        Self { at, text: text.into() }
    }
}

impl Node {
    /// The entries of a map.
    pub fn entries(&self) -> Result<&[Entry], Misplaced> {
        match &self.content {
            Content::Map(entries) => Ok(entries),
            _ => Err(Misplaced::new(self.at, "must be a map of fields")),
        }
    }

    /// The items of a list.
    pub fn items(&self) -> Result<&[Self], Misplaced> {
        match &self.content {
            Content::List(items) => Ok(items),
            _ => Err(Misplaced::new(self.at, "must be a list")),
        }
    }

    /// The text of a scalar.
    pub fn text(&self) -> Result<&str, Misplaced> {
        match &self.content {
            Content::Scalar { text, .. } => Ok(text),
            _ => Err(Misplaced::new(self.at, "must be a text")),
        }
    }

    /// Whether the node is an empty or `null` value.
    pub fn is_null(&self) -> bool {
        let null = |text: &str| ["", "~", "null"].contains(&text);
        matches!(&self.content, Content::Scalar { text, plain: true } if null(text))
    }
}

/// The documents of a file, without empty ones.
pub fn documents(source: &str) -> Result<Vec<Node>, Misplaced> {
    let mut reader = Reader { parser: Parser::new_from_str(source), depth: 0 };
    let mut documents = Vec::new();
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(documents),
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd, _) => {}
            (event, span) => {
                let node = reader.node(event, &span)?;
                if !node.is_null() {
                    documents.push(node);
                }
            }
        }
    }
}

struct Reader<'s> {
    parser: Parser<'s, StrInput<'s>>,
    depth: usize,
}

impl<'s> Reader<'s> {
    fn next(&mut self) -> Result<(Event<'s>, Span), Misplaced> {
        let unreadable =
            |error: ScanError| Misplaced::new(Position::of(error.marker()), error.info());
        match self.parser.next_event() {
            Some(event) => event.map_err(unreadable),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'s>, span: &Span) -> Result<Node, Misplaced> {
        let at = Position::of(&span.start);
        if self.depth >= DEPTH_MAX {
            let text = format!("is nested more than {DEPTH_MAX} times");
            return Err(Misplaced::new(at, text));
        }
        let content = match event {
            Event::Scalar(text, style, 0, None) => {
                Content::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain }
            }
            Event::SequenceStart(0, None) => Content::List(self.list()?),
            Event::MappingStart(0, None) => Content::Map(self.map()?),
            Event::Alias(_) => return Err(Misplaced::new(at, "aliases are not supported")),
            _ => return Err(Misplaced::new(at, "anchors and tags are not supported")),
        };
        Ok(Node { at, content })
    }

    fn list(&mut self) -> Result<Vec<Node>, Misplaced> {
        self.depth += 1;
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd | Event::StreamEnd, _) => break,
                (event, span) => items.push(self.node(event, &span)?),
            }
        }
        self.depth -= 1;
        Ok(items)
    }

    fn map(&mut self) -> Result<Vec<Entry>, Misplaced> {
        self.depth += 1;
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                break;
            }
            let key = self.node(event, &span)?;
            let name = key.text()?;
            if entries.iter().any(|entry| entry.key == name) {
                return Err(Misplaced::new(key.at, format!("`{name}` is given twice")));
            }
            let (event, span) = self.next()?;
            let value = self.node(event, &span)?;
            entries.push(Entry { key: name.to_owned(), at: key.at, value });
        }
        self.depth -= 1;
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_line_and_column() {
        let source = "# a comment\n---\na: 1\nb:\n  - x\n  - { c: 'y z' }\n---\n";
        let documents = documents(source).unwrap();
        assert_eq!(documents.len(), 1);
        let entries = documents[0].entries().unwrap();
        let places: Vec<_> = entries.iter().map(|entry| (entry.at.line, entry.at.column)).collect();
        assert_eq!(places, [(3, 1), (4, 1)]);
        let items = entries[1].value.items().unwrap();
        assert_eq!(items[1].at, Position { line: 6, column: 5 });
        let inner = &items[1].entries().unwrap()[0];
        assert_eq!((inner.at.column, inner.value.text()), (7, Ok("y z")));
    }

    #[test]
    fn what_a_manifest_must_not_have_is_refused_with_its_place() {
        for (source, place, text) in [
            ("a: 1\nb: 2\na: 3\n", (3, 1), "`a` is given twice"),
            ("a: &x 1\nb: *x\n", (1, 4), "anchors and tags are not supported"),
            ("a: !!str 1\n", (1, 4), "anchors and tags are not supported"),
            ("? [a]\n: 1\n", (1, 3), "must be a text"),
        ] {
            let error = documents(source).expect_err(source);
            assert_eq!((error.at.line, error.text.as_str()), (place.0, text), "{source}");
        }
        let deep = "[".repeat(DEPTH_MAX + 1);
        assert!(documents(&deep).is_err());
        assert!(documents("a:\n\t- b\n").is_err());
        assert!(documents("a: [1, 2\n").is_err());
    }
}
