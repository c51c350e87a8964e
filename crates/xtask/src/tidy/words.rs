//! Retired words: names and phrases that Weir no longer uses, in code and in prose.
//!
//! `scan` splits a file into code and prose; `retired` lists what each must not contain.

mod allowed;
mod retired;
mod scan;

use std::path::Path;

use allowed::{NOT_YET, PERMITTED};
use retired::{Found, NAMES, OPENINGS, PHRASES, Retired, SENTENCE_OPENINGS, WORDS_OF_NAMES};
use scan::{Kind, Language, Piece, pieces};

/// The retired words of a file, in the order of its lines.
pub fn find(file: &Path, text: &str) -> Vec<Found> {
    let Some(language) = Language::of(file) else { return Vec::new() };
    let mut found = Vec::new();
    if PERMITTED.iter().any(|prefix| file.starts_with(prefix)) {
        return found;
    }
    for piece in pieces(language, text) {
        match piece.kind {
            Kind::Code => find_names(&piece, &mut found),
            Kind::Comment => {
                find_phrases(&piece, &mut found);
                find_openings(&piece, &mut found);
            }
            Kind::Text => find_phrases(&piece, &mut found),
        }
    }
    found.sort_by_key(|found| found.line);
    found
}

/// Whether the file is in a part of the tree that has not been rid of this word yet.
pub fn is_known(file: &Path, word: &str) -> bool {
    NOT_YET.iter().any(|(prefix, words)| file.starts_with(prefix) && words.contains(&word))
}

fn find_names(piece: &Piece, found: &mut Vec<Found>) {
    for name in piece.text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if let Some(retired) = NAMES.iter().find(|retired| retired.word == name) {
            found.push(retired.at(piece.line));
            continue;
        }
        let words = words_of(name);
        let retired =
            WORDS_OF_NAMES.iter().find(|retired| words.iter().any(|word| word == retired.word));
        found.extend(retired.map(|retired| retired.at(piece.line)));
    }
    if names_an_argument_it(piece.text) {
        found.push(Found {
            line: piece.line,
            word: "|it|",
            advice: "name the argument for the thing",
        });
    }
}

fn find_phrases(piece: &Piece, found: &mut Vec<Found>) {
    let text = piece.text.to_lowercase();
    for retired in PHRASES {
        let ends = |at: usize| {
            let before = text[..at].chars().next_back();
            let after = text[at + retired.word.len()..].chars().next();
            [before, after].into_iter().flatten().all(|c| !c.is_alphanumeric())
        };
        let times = text.match_indices(retired.word).filter(|(at, _)| ends(*at)).count();
        found.extend((0..times).map(|_| retired.at(piece.line)));
    }
}

/// Comments that begin as a fragment, and sentences inside them that do.
fn find_openings(piece: &Piece, found: &mut Vec<Found>) {
    if piece.begins_comment {
        let first = piece.text.split_whitespace().next().unwrap_or_default();
        let first = first.trim_end_matches([',', '.', ':']);
        found.extend(matching(OPENINGS, first).map(|retired| retired.at(piece.line)));
    }
    for (at, _) in piece.text.match_indices(". ").chain(piece.text.match_indices("? ")) {
        let sentence = &piece.text[at + 2..];
        let first = sentence.split_whitespace().next().unwrap_or_default();
        let is_question = sentence
            .split(['.', '?'])
            .next()
            .is_some_and(|clause| sentence[clause.len()..].starts_with('?'));
        if !is_question {
            found.extend(matching(SENTENCE_OPENINGS, first).map(|retired| retired.at(piece.line)));
        }
    }
}

fn matching<'a>(list: &'a [Retired], word: &str) -> impl Iterator<Item = &'a Retired> {
    list.iter().filter(move |retired| retired.word == word)
}

/// The words of a name in snake or camel case, in lower case.
fn words_of(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in name.split('_') {
        let mut word = String::new();
        for c in part.chars() {
            if c.is_uppercase() && !word.ends_with(char::is_uppercase) && !word.is_empty() {
                words.push(word.to_lowercase());
                word.clear();
            }
            word.push(c);
        }
        words.push(word.to_lowercase());
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a closure on this line has an argument named `it`.
fn names_an_argument_it(code: &str) -> bool {
    let bars: Vec<_> = code.match_indices('|').map(|(at, _)| at).collect();
    bars.windows(2).any(|pair| {
        let arguments = &code[pair[0] + 1..pair[1]];
        !arguments.starts_with(' ')
            && arguments.chars().all(|c| c.is_alphanumeric() || "_&,:()<>' ".contains(c))
            && arguments.split(|c: char| !c.is_alphanumeric() && c != '_').any(|name| name == "it")
    })
}

#[cfg(test)]
mod tests;
