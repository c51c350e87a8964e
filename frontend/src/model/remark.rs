//! Warnings of the API as sentences, with times in the person's own format: the API sends `nothing is recorded before
//! 2026-11-21T03:00:00Z`.

use weir_wire::time::DateTime;

use crate::model::json;

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Text(String),
    At(DateTime),
}

/// A warning as a sentence. `limits[0]` becomes `limit 1`, the number in the form.
pub fn sentence(remark: &str) -> Vec<Part> {
    let (mut parts, mut text) = (Vec::new(), String::new());
    for (at, word) in remark.split(' ').enumerate() {
        let (word, mark) = match word.strip_suffix([':', ',', ';']) {
            Some(short) => (short, &word[short.len()..]),
            None => (word, ""),
        };
        if at > 0 {
            text.push(' ');
        }
        if let Some(time) = time(word) {
            parts.push(Part::Text(std::mem::take(&mut text)));
            parts.push(Part::At(time));
        } else {
            text.push_str(&limit(word).unwrap_or_else(|| word.to_owned()));
        }
        text.push_str(mark);
    }
    if !remark.ends_with('.') {
        text.push('.');
    }
    parts.push(Part::Text(text));
    if let Some(Part::Text(first)) = parts.first_mut() {
        *first = capitalised(first);
    }
    parts
}

fn time(word: &str) -> Option<DateTime> {
    let like_one = word.len() >= 20 && word.as_bytes()[4] == b'-' && word.contains('T');
    like_one.then(|| json::read_value(&word.into()).ok()).flatten()
}

fn limit(word: &str) -> Option<String> {
    let at: usize = word.strip_prefix("limits[")?.strip_suffix(']')?.parse().ok()?;
    Some(format!("limit {}", at + 1))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    #[test]
    fn warnings_become_sentences() {
        assert_eq!(
            sentence("this rule is off: it has no effect"),
            [text("This rule is off: it has no effect.")]
        );
        assert_eq!(
            sentence("limits[1] can never deny: limits[0] is at least as strict"),
            [text("Limit 2 can never deny: limit 1 is at least as strict.")]
        );
        assert_eq!(sentence("ένα."), [text("Ένα.")]);
        assert_eq!(sentence(""), [text(".")]);
    }

    #[test]
    fn times_become_separate_parts() {
        let at = time("2026-11-21T03:00:00Z").expect("a time");
        let parts = sentence("nothing is recorded before 2026-11-21T03:00:00Z: it begins there");
        assert_eq!(
            parts,
            [text("Nothing is recorded before "), Part::At(at), text(": it begins there.")]
        );
        assert_eq!(sentence("of 2026-and-so-on-Tuesday-x"), [text("Of 2026-and-so-on-Tuesday-x.")]);
    }
}
