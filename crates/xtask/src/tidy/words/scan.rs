//! Splits source text into code, comments and text that people read.

use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Code,
    Comment,
    /// A string, or a page of prose.
    Text,
}

/// A part of one line.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    pub line: usize,
    pub kind: Kind,
    /// Whether this is the first line of a comment.
    pub begins_comment: bool,
    pub text: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Rust,
    Script,
    Lua,
    Sql,
    Markdown,
}

impl Language {
    pub fn of(file: &Path) -> Option<Self> {
        Some(match file.extension()?.to_str()? {
            "rs" => Self::Rust,
            "js" | "mjs" => Self::Script,
            "lua" => Self::Lua,
            "sql" => Self::Sql,
            "md" => Self::Markdown,
            _ => return None,
        })
    }

    fn comment(self) -> &'static str {
        match self {
            Self::Rust | Self::Script => "//",
            Self::Lua | Self::Sql => "--",
            Self::Markdown => unreachable!("a page is all prose"),
        }
    }

    fn quotes(self) -> &'static [char] {
        match self {
            Self::Rust => &['"'],
            Self::Sql => &['\''],
            _ => &['"', '\'', '`'],
        }
    }
}

/// The pieces of a text, in order. Fenced blocks of a page are left out.
pub fn pieces(language: Language, text: &str) -> Vec<Piece<'_>> {
    if language == Language::Markdown {
        return page(text);
    }
    let mut pieces = Vec::new();
    let mut open = None;
    let mut after_comment = false;
    for (number, line) in text.lines().enumerate() {
        let first = pieces.len();
        open = split_line(language, line, number + 1, open, &mut pieces);
        let comment = pieces[first..].iter_mut().find(|piece| piece.kind == Kind::Comment);
        let only_comment = line.trim_start().starts_with(language.comment());
        if let Some(comment) = comment {
            comment.begins_comment = !(only_comment && after_comment);
        }
        after_comment = only_comment;
    }
    pieces
}

/// The string that a line ends in.
#[derive(Debug, Clone, Copy)]
struct Open {
    quote: char,
    /// The number of `#` around a raw string; `None` for one with escapes.
    raw: Option<usize>,
}

fn split_line<'a>(
    language: Language,
    line: &'a str,
    number: usize,
    mut open: Option<Open>,
    pieces: &mut Vec<Piece<'a>>,
) -> Option<Open> {
    let mut push = |kind, text: &'a str| {
        if !text.trim().is_empty() {
            pieces.push(Piece { line: number, kind, begins_comment: false, text });
        }
    };
    let mut rest = line;
    loop {
        if let Some(string) = open {
            let Some(end) = end_of_string(rest, string) else {
                push(Kind::Text, rest);
                return Some(string);
            };
            push(Kind::Text, &rest[..end]);
            rest = &rest[end + 1..];
            open = None;
            continue;
        }
        let comment = rest.find(language.comment());
        let quote = start_of_string(language, rest);
        match (comment, quote) {
            (Some(at), quote) if quote.is_none_or(|(start, _)| at < start) => {
                push(Kind::Code, &rest[..at]);
                let body = rest[at..].trim_start_matches(['/', '!', '-']);
                push(Kind::Comment, body);
                return None;
            }
            (_, Some((at, string))) => {
                push(Kind::Code, &rest[..at]);
                rest = &rest[at + 1..];
                open = Some(string);
            }
            _ => {
                push(Kind::Code, rest);
                return None;
            }
        }
    }
}

fn start_of_string(language: Language, text: &str) -> Option<(usize, Open)> {
    for (at, quote) in text.match_indices(language.quotes()) {
        let before = &text[..at];
        if language == Language::Rust && before.ends_with(['\'', '\\']) {
            // A character literal.
            continue;
        }
        let hashes = before.len() - before.trim_end_matches('#').len();
        let is_raw = language == Language::Rust && before.trim_end_matches('#').ends_with('r');
        let quote = quote.chars().next()?;
        return Some((at, Open { quote, raw: is_raw.then_some(hashes) }));
    }
    None
}

/// The position of the quote that ends the string.
fn end_of_string(text: &str, string: Open) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match string.raw {
            Some(hashes) if c == string.quote => {
                let after = &text[at + 1..];
                if after.len() - after.trim_start_matches('#').len() >= hashes {
                    return Some(at);
                }
            }
            None if escaped => escaped = false,
            None if c == '\\' => escaped = true,
            None if c == string.quote => return Some(at),
            _ => {}
        }
    }
    None
}

fn page(text: &str) -> Vec<Piece<'_>> {
    let mut fenced = false;
    let mut pieces = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let piece =
                Piece { line: number + 1, kind: Kind::Text, begins_comment: false, text: line };
            pieces.push(piece);
        }
    }
    pieces
}
