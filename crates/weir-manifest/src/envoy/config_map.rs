//! The files in a `ConfigMap` of Kubernetes, which is how most people store them.

use crate::yaml::{Content, Entry, Misplaced, Node, Position, documents_with_aliases};

/// A document of a file, and its place in the file around it.
pub(super) struct Part {
    pub(super) document: Node,
    place: Location,
}

/// The place of a document.
#[derive(Clone)]
enum Location {
    /// The file itself.
    Whole,
    /// A block of the file, whose lines are lines of the document.
    Block { lines_before: usize, indent: usize },
    /// A text whose lines are others than those of the file.
    Text { at: Position, name: String },
}

impl Part {
    /// An error of the document, with its place in the file.
    pub(super) fn placed(&self, error: Misplaced) -> Misplaced {
        self.place.of(error)
    }
}

impl Location {
    fn of(&self, error: Misplaced) -> Misplaced {
        match self {
            Self::Whole => error,
            Self::Block { lines_before, indent } => {
                let Position { line, column } = error.at;
                let at = Position { line: line + lines_before, column: column + indent };
                Misplaced::new(at, error.text)
            }
            Self::Text { at, name } => {
                Misplaced::new(*at, format!("`{name}`, line {}: {}", error.at.line, error.text))
            }
        }
    }
}

/// The documents of the files that a `ConfigMap` or a list of them holds, or the document itself if it is none.
pub(super) fn parts(document: &Node, source: &str) -> Result<Vec<Part>, Misplaced> {
    let mut parts = Vec::new();
    let field = |name| field(document, name);
    match field("kind").and_then(|kind| kind.text().ok()) {
        Some("ConfigMap") => {
            let Some(data) = field("data").filter(|data| !data.is_null()) else {
                return Err(Misplaced::new(document.at, "the ConfigMap has no `data`"));
            };
            for entry in data.entries()? {
                parts.extend(entry_parts(entry, source)?);
            }
        }
        Some("List" | "ConfigMapList") if field("items").is_some() => {
            for item in field("items").map_or(Ok(&[][..]), Node::items)? {
                parts.extend(self::parts(item, source)?);
            }
        }
        _ => parts.push(Part { document: document.clone(), place: Location::Whole }),
    }
    Ok(parts)
}

/// The documents of one file of a `ConfigMap`.
fn entry_parts(entry: &Entry, source: &str) -> Result<Vec<Part>, Misplaced> {
    let place = place(entry, source);
    let documents = documents_with_aliases(entry.value.text()?).map_err(|error| place.of(error))?;
    let part = |document| Part { document, place: place.clone() };
    Ok(documents.into_iter().map(part).collect())
}

/// The place of the text of an entry. Only the lines of a literal block (`|`) are those of its text.
fn place(entry: &Entry, source: &str) -> Location {
    let mut lines = source.lines().skip(entry.at.line - 1);
    let key_and_more = lines.next().unwrap_or_default().split_once(':');
    let begins_block = key_and_more.is_some_and(|(_, more)| more.trim_start().starts_with('|'));
    let first = begins_block.then(|| lines.find(|line| !line.trim().is_empty())).flatten();
    match first {
        Some(first) => {
            let indent = first.len() - first.trim_start_matches(' ').len();
            Location::Block { lines_before: entry.at.line, indent }
        }
        None => Location::Text { at: entry.value.at, name: entry.key.clone() },
    }
}

fn field<'n>(document: &'n Node, name: &str) -> Option<&'n Node> {
    let Content::Map(entries) = &document.content else { return None };
    entries.iter().find(|entry| entry.key == name).map(|entry| &entry.value)
}
