//! Text that others have written, for a terminal: servers, files and their names cannot move the cursor, hide lines or turn
//! the direction of writing.

use std::fmt::Write as _;

/// A text whose control characters are visible. Line feeds and tabs stay.
pub fn escaped(text: &str) -> String {
    escape(text, |out, c| {
        let _ = write!(out, "{}", c.escape_unicode());
    })
}

/// JSON, or YAML with JSON's strings, whose control characters are escaped as both formats permit.
pub fn escaped_document(text: &str) -> String {
    escape(text, |out, c| {
        let _ = write!(out, "\\u{:04x}", u32::from(c));
    })
}

fn escape(text: &str, each: impl Fn(&mut String, char)) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) { each(&mut out, c) } else { out.push(c) }
    }
    out
}

/// Control characters, and those that change the direction of writing. All have four hexadecimal digits.
fn is_unsafe(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_cannot_control_the_terminal() {
        let text = "a\u{1b}[2Jb\rc\u{9b}1;31md\u{202e}e\u{7}\u{7f}\n\tü";
        let shown = escaped(text);
        assert_eq!(shown, "a\\u{1b}[2Jb\\u{d}c\\u{9b}1;31md\\u{202e}e\\u{7}\\u{7f}\n\tü");
        let json = serde_json::json!([text]).to_string();
        let document = escaped_document(&json);
        assert!(!document.chars().any(is_unsafe), "{document}");
        let read: Vec<String> = serde_json::from_str(&document).expect("JSON");
        assert_eq!(read, [text]);
    }
}
