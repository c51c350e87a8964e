//! The parts of a file, and their places.

use saphyr_parser::Marker;

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
    pub(super) fn of(marker: &Marker) -> Self {
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
