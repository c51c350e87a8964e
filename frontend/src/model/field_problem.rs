//! The problem of a field in the words of its form: the API writes `exact`, and the form offers Exact.

use weir_domain::algorithm::Kind;
use weir_wire::problem::FieldProblem;
use weir_wire::words::{Action, Consistency, Mode, Op, Over};

use crate::model::labels::capital;

/// The problem as a sentence, with the texts of choices for the words of the API. Values that a person wrote stay as they are.
pub fn field_problem(reason: &str) -> String {
    let (mut text, mut rest) = (String::new(), reason);
    while let Some((before, word, after)) = quoted(rest) {
        text += before;
        match title(word).filter(|_| !ATTRIBUTE_AFTER.iter().any(|end| before.ends_with(end))) {
            Some(title) => text += &title,
            None => text.extend(["`", word, "`"]),
        }
        rest = after;
    }
    text += rest;
    capital(&text)
}

/// The problems of fields as one text.
pub fn list(wrong: &[FieldProblem]) -> String {
    let texts = wrong.iter().map(|problem| format!("{} {}", problem.field, problem.reason));
    texts.collect::<Vec<_>>().join("; ")
}

/// The words before the name of an attribute, which can be any word.
const ATTRIBUTE_AFTER: [&str; 2] = ["condition on ", "demands that "];

/// The text before the first word in backticks, the word, and the text after it.
fn quoted(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (word, after) = rest.split_once('`')?;
    Some((before, word, after))
}

/// The text of a word of the API in the forms. `None` for values.
fn title(word: &str) -> Option<String> {
    if word == "block_ms" {
        return Some("a block".to_owned());
    }
    let algorithm = Kind::ALL.iter().find(|kind| kind.name() == word).map(|kind| kind.title());
    let one_of = |words: &[(&'static str, &'static str)]| {
        words.iter().find(|(name, _)| *name == word).map(|(_, title)| *title)
    };
    macro_rules! words {
        ($name:ident) => {
            one_of(&$name::ALL.iter().map(|word| (word.as_str(), word.title())).collect::<Vec<_>>())
        };
    }
    let choice = algorithm
        .or_else(|| words!(Consistency))
        .or_else(|| words!(Action))
        .or_else(|| words!(Over))
        .or_else(|| words!(Mode));
    // Comparisons are parts of sentences.
    let comparison = || words!(Op).map(|title| format!("“{title}”"));
    choice.map(str::to_owned).or_else(comparison)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_api_become_those_of_the_form() {
        for (reason, shown) in [
            (
                "must be `exact` with a limit of the algorithm `leaky_bucket`",
                "Must be Exact with a limit of the algorithm Leaky bucket",
            ),
            (
                "must be `exact` or `leased` with several limits: `approximate` permits one",
                "Must be Exact or Leased with several limits: Approximate permits one",
            ),
            ("must be `exact` with `block_ms`", "Must be Exact with a block"),
            (
                "must be `deny` unless the action is `limit`",
                "Must be Deny unless the action is Limit",
            ),
            ("must be a string for `one_of`", "Must be a string for “is one of”"),
        ] {
            assert_eq!(field_problem(reason), shown);
        }
    }

    #[test]
    fn values_and_names_of_attributes_stay() {
        for (reason, shown) in [
            (
                "contradicts an earlier condition on `deny`: the rule could never match",
                "Contradicts an earlier condition on `deny`: the rule could never match",
            ),
            ("demands that `exists` is absent", "Demands that `exists` is absent"),
            ("`Web` must be 1 to 63 letters", "`Web` must be 1 to 63 letters"),
            ("must be a network such as `10.0.0.0/8`", "Must be a network such as `10.0.0.0/8`"),
            ("must not contain `", "Must not contain `"),
        ] {
            assert_eq!(field_problem(reason), shown);
        }
    }
}
