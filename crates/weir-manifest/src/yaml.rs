//! A file as nodes that know their line and column. In manifests, anchors, aliases and tags are refused: they hide what a file
//! says. Files of other programs can have them, up to a number of nodes, because a small file could stand for a large one.

use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use self::anchors::{Anchors, MERGE, accept, merge};

mod anchors;
mod node;

pub use self::node::{Content, Entry, Misplaced, Node, Position};

/// The most nested lists and maps.
const DEPTH_MAX: usize = 32;
/// The most characters of a text that errors repeat.
const BRIEF_CHARS: usize = 12;

/// The first characters of a text. Errors repeat no more of a file that is possibly no manifest: it could hold a secret.
pub fn brief(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(BRIEF_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// The documents of a manifest, without empty ones.
pub fn documents(source: &str) -> Result<Vec<Node>, Misplaced> {
    read(source, None)
}

/// The documents of a file of another program, with its aliases and merge keys (`<<`) resolved. A part that comes from an alias
/// has the place of its anchor.
pub fn documents_with_aliases(source: &str) -> Result<Vec<Node>, Misplaced> {
    read(source, Some(Anchors::default()))
}

fn read(source: &str, anchors: Option<Anchors>) -> Result<Vec<Node>, Misplaced> {
    let mut reader = Reader { parser: Parser::new_from_str(source), depth: 0, anchors };
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
    /// `None` if anchors are refused.
    anchors: Option<Anchors>,
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
        let (content, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                accept(self.anchors.as_ref(), at, anchor, tag.as_deref())?;
                let plain = style == ScalarStyle::Plain && tag.is_none();
                (Content::Scalar { text: text.into_owned(), plain }, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                accept(self.anchors.as_ref(), at, anchor, tag.as_deref())?;
                (Content::List(self.list()?), anchor)
            }
            Event::MappingStart(anchor, tag) => {
                accept(self.anchors.as_ref(), at, anchor, tag.as_deref())?;
                (Content::Map(self.map()?), anchor)
            }
            Event::Alias(anchor) => match &mut self.anchors {
                Some(anchors) => return anchors.alias(at, anchor),
                None => return Err(Misplaced::new(at, "aliases are not supported")),
            },
            _ => return Err(Misplaced::new(at, "is not the beginning of a value")),
        };
        let node = Node { at, content };
        if let Some(anchors) = self.anchors.as_mut().filter(|_| anchor != 0) {
            anchors.insert(anchor, &node);
        }
        Ok(node)
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
        let mut merged = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                break;
            }
            let key = self.node(event, &span)?;
            let name = key.text()?;
            if self.anchors.is_some() && name == MERGE {
                let (event, span) = self.next()?;
                merged.push(self.node(event, &span)?);
                continue;
            }
            if entries.iter().any(|entry| entry.key == name) {
                return Err(Misplaced::new(key.at, format!("`{}` is given twice", brief(name))));
            }
            let (event, span) = self.next()?;
            let value = self.node(event, &span)?;
            entries.push(Entry { key: name.to_owned(), at: key.at, value });
        }
        for source in &merged {
            merge(source, &mut entries)?;
        }
        self.depth -= 1;
        Ok(entries)
    }
}

#[cfg(test)]
mod tests;
