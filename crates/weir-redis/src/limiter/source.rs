//! The text of the script: Lua files that are valid by themselves, joined.
//!
//! Every file but the last is the body of a function; the first line of such a file names the arguments. The files of
//! algorithms are the branches of one function, so a call makes only the functions of the algorithms that it needs. Numbers
//! that Rust defines too replace their names in the text, because in Lua each reference to an outer variable costs time
//! whenever a function is made.

use std::fmt::Write as _;
use std::sync::LazyLock;

use weir_domain::algorithm::{Kind, SLACK_US, STEP_US};
use weir_domain::limit::EXACT_MAX;
use weir_domain::request::Operation;

/// The whole script.
pub(super) static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let mut script = String::from("#!lua\n");
    for (name, file) in FUNCTIONS {
        push(&mut script, format_args!("local function {name}(...)\n{file}end\n"));
    }
    push(&mut script, format_args!("local function make_algorithm(kind, ...)\n"));
    for (at, &kind) in Kind::ALL.iter().enumerate() {
        let (branch, number, file) =
            (if at == 0 { "if" } else { "elseif" }, kind.number(), algorithm(kind));
        push(&mut script, format_args!("{branch} kind == {number} then\n{file}"));
    }
    push(&mut script, format_args!("end\nend\n{MAIN}"));
    with_numbers(&script)
});

/// The files of functions, in the order in which they are defined.
const FUNCTIONS: [(&str, &str); 6] = [
    ("subject_hash", include_str!("script/subject_hash.lua")),
    ("lengthen", include_str!("script/lengthen.lua")),
    ("remove_dead", include_str!("script/remove_dead.lua")),
    ("bucket", include_str!("script/bucket.lua")),
    ("charge_log", include_str!("script/charge_log.lua")),
    ("decide_any", include_str!("script/decide_any.lua")),
];
const MAIN: &str = include_str!("script/main.lua");

/// The file of an algorithm.
const fn algorithm(kind: Kind) -> &'static str {
    match kind {
        Kind::FixedWindow => include_str!("script/fixed_window.lua"),
        Kind::SlidingWindowLog => include_str!("script/sliding_window_log.lua"),
        Kind::SlidingWindowCounter => include_str!("script/sliding_window_counter.lua"),
        Kind::TokenBucket => include_str!("script/token_bucket.lua"),
        Kind::LeakyBucket => include_str!("script/leaky_bucket.lua"),
        Kind::Spacing => include_str!("script/spacing.lua"),
        Kind::Quota => include_str!("script/quota.lua"),
    }
}

/// The number of an operation in the script.
pub(super) const fn operation(operation: Operation) -> u64 {
    match operation {
        Operation::Consume => 1,
        Operation::Peek => 2,
        Operation::Refund => 3,
        Operation::Inspect => 4,
    }
}

/// The number that a name in capitals stands for. `None` if there is no such name.
fn constant(name: &str) -> Option<i64> {
    let kind = Kind::ALL.iter().find(|kind| kind.name().to_ascii_uppercase() == name);
    let number = match name {
        "CONSUME" => operation(Operation::Consume),
        "PEEK" => operation(Operation::Peek),
        "REFUND" => operation(Operation::Refund),
        "SLACK_US" => SLACK_US,
        "STEP_US" => STEP_US,
        "EXACT_MAX" => EXACT_MAX,
        // A level above the capacity, after an edit, stays exact while it drains.
        "BUCKET_LEVEL_MAX" => EXACT_MAX / 2,
        // Logs count their units modulo this.
        "LOGGED" => 1 << 52,
        "FOREVER" => return Some(FOREVER),
        _ => kind?.number().into(),
    };
    i64::try_from(number).ok()
}

/// The wait of a check that never passes.
pub(super) const FOREVER: i64 = -1;

/// Writes numbers in place of their names.
fn with_numbers(script: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut text = String::with_capacity(script.len());
    let mut rest = script;
    while let Some(start) = rest.find(is_word) {
        let (before, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|c| !is_word(c)).unwrap_or(from.len()));
        text.push_str(before);
        match constant(word) {
            Some(number) => push(&mut text, format_args!("{number}")),
            None => text.push_str(word),
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

fn push(text: &mut String, part: std::fmt::Arguments<'_>) {
    text.write_fmt(part).expect("a string takes any text");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_lua_file_is_in_the_script_and_every_algorithm_has_one() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/limiter/script");
        let files = std::fs::read_dir(folder).expect("the folder of the script");
        let mut files: BTreeSet<String> = files
            .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
            .collect();
        for name in ["main.lua", "reset.lua"] {
            assert!(files.remove(name), "{name}");
        }
        let functions = FUNCTIONS.iter().map(|(name, _)| *name);
        for name in functions.chain(Kind::ALL.iter().map(|kind| kind.name())) {
            assert!(files.remove(&format!("{name}.lua")), "{name}.lua is missing");
        }
        assert!(files.is_empty(), "these are in no script: {files:?}");
        for kind in Kind::ALL {
            assert!(algorithm(*kind).starts_with(&format!("-- {}", kind.name())), "{kind:?}");
        }
    }

    #[test]
    fn names_of_numbers_are_replaced_and_other_words_are_not() {
        let text = "if kind == SLIDING_WINDOW_LOG then return FOREVER, MY_FOREVER, quota end";
        let expected = "if kind == 2 then return -1, MY_FOREVER, quota end";
        assert_eq!(with_numbers(text), expected);
    }
}
