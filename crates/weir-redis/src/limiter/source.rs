//! The text of the limiter's program: Lua files that are valid by themselves, joined.
//!
//! Every file but the last is the body of a function; the first line of such a file names the arguments. The files of
//! algorithms are the branches of one function, so a script makes only the functions of the algorithms that it needs. Numbers
//! that Rust defines too replace their names in the text, because in Lua each reference to an outer variable costs time
//! whenever a function is made.

use std::fmt::Write as _;
use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};
use weir_domain::algorithm::{Kind, NEVER_US, REFUNDED_ENTRIES_MAX, SLACK_US, STEP_US};
use weir_domain::limit::{COUNT_MAX, EXACT_MAX, LOG_LIMIT_MAX};
use weir_domain::request::Operation;
use weir_domain::reservation::{EXHAUSTED_UNITS, RESERVED_MAX_US};

/// The program as a script.
pub(super) static SCRIPT: LazyLock<String> =
    LazyLock::new(|| format!("#!lua\n{}return make()(KEYS, ARGV)\n", *PROGRAM));

/// The program as a library with one function.
pub(super) static LIBRARY: LazyLock<String> = LazyLock::new(|| {
    let (name, program) = (&*FUNCTION, &*PROGRAM);
    // While a library is loaded, Redis offers nothing that the program needs, so the first call makes its functions.
    format!(
        "#!lua name={name}\n{program}local run\nredis.register_function('{name}', function(keys, arguments)\n  run = run or make()\n  return run(keys, arguments)\nend)\n"
    )
});

/// The name of the library and of its function. It has a hash of the program, so gates of several releases can use one
/// Redis.
pub(super) static FUNCTION: LazyLock<String> = LazyLock::new(|| {
    let digest = Sha256::digest(PROGRAM.as_bytes());
    digest[..4].iter().fold("weir_".to_owned(), |mut name, byte| {
        push(&mut name, format_args!("{byte:02x}"));
        name
    })
});

/// The definition of `make`, which returns the function of a call's keys and arguments.
static PROGRAM: LazyLock<String> = LazyLock::new(|| {
    let mut program = String::from("local function make()\n");
    for (name, file) in FUNCTIONS {
        push(&mut program, format_args!("local function {name}(...)\n{file}end\n"));
    }
    push_by_kind(&mut program, "make_algorithm", |kind| Some(algorithm(kind)));
    push_by_kind(&mut program, "charge_alone", alone);
    push_property(&mut program, "has_own_key", Kind::has_own_key);
    push_property(&mut program, "has_five_parameters", Kind::has_five_parameters);
    push(&mut program, format_args!("{MAIN}end\n"));
    with_numbers(&program)
});

/// The files of functions, in the order in which they are defined.
const FUNCTIONS: [(&str, &str); 7] = [
    ("subject_hash", include_str!("script/subject_hash.lua")),
    ("lengthen", include_str!("script/lengthen.lua")),
    ("remove_dead", include_str!("script/remove_dead.lua")),
    ("bucket", include_str!("script/bucket.lua")),
    ("window", include_str!("script/window.lua")),
    ("reservations", include_str!("script/reservations.lua")),
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
        Kind::Concurrency => include_str!("script/concurrency.lua"),
    }
}

/// The file that decides a single limit of an algorithm with a key of its own, if there is one.
const fn alone(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::SlidingWindowLog => Some(include_str!("script/charge_log.lua")),
        _ => None,
    }
}

/// Writes a function whose first argument is a kind, and whose branches are files.
fn push_by_kind(program: &mut String, name: &str, file: impl Fn(Kind) -> Option<&'static str>) {
    push(program, format_args!("local function {name}(kind, ...)\n"));
    for &kind in Kind::ALL {
        if let Some(file) = file(kind) {
            push(program, format_args!("if kind == {} then\n{file}end\n", kind.number()));
        }
    }
    push(program, format_args!("end\n"));
}

/// Writes a table of the kinds that have a property: looking into it is faster than a call.
fn push_property(program: &mut String, name: &str, holds: impl Fn(Kind) -> bool) {
    push(program, format_args!("local {name} = {{"));
    for &kind in Kind::ALL {
        if holds(kind) {
            push(program, format_args!(" [{}] = true,", kind.number()));
        }
    }
    push(program, format_args!(" }}\n"));
}

/// The number of an operation in the script.
pub(super) const fn operation(operation: Operation) -> u64 {
    match operation {
        Operation::Consume => 1,
        Operation::Peek => 2,
        Operation::Refund => 3,
        Operation::Inspect => 4,
        Operation::Record => 5,
        Operation::Reserve(_) => RESERVE,
        Operation::Commit(_) => COMMIT,
        Operation::Exhaust(_) => EXHAUST,
        Operation::Renew(_) => RENEW,
        Operation::Release(_) => RELEASE,
    }
}

const RESERVE: u64 = 6;
const COMMIT: u64 = 7;
const EXHAUST: u64 = 8;
/// A consume of a check that meets concurrency limits.
pub(super) const ACQUIRE: u64 = 9;
const RENEW: u64 = 10;
const RELEASE: u64 = 11;
/// A consume whose only rule has one limit and nothing else (`script`).
pub(super) const CONSUME_ONE: u64 = 12;

/// The first of the five numbers after the decisions that state what became of a reservation or of leases. Decisions begin
/// with 0 or 1.
pub(super) const SETTLED: u64 = 7;

/// The count of a denied check at a rule, in the record of its idempotency key: it charged a rule that is charged alone, or its
/// denial is logged or started a block. These are characters.
pub(super) const CHARGED: u8 = b'c';
const DENIED: u8 = b'd';

/// The number that a name in capitals stands for. `None` if there is no such name.
fn constant(name: &str) -> Option<i64> {
    let number = match name {
        "CONSUME" => operation(Operation::Consume),
        "PEEK" => operation(Operation::Peek),
        "REFUND" => operation(Operation::Refund),
        "INSPECT" => operation(Operation::Inspect),
        "RECORD" => operation(Operation::Record),
        "RESERVE" => RESERVE,
        "COMMIT" => COMMIT,
        "EXHAUST" => EXHAUST,
        "ACQUIRE" => ACQUIRE,
        "RENEW" => RENEW,
        "RELEASE" => RELEASE,
        "CONSUME_ONE" => CONSUME_ONE,
        "SETTLED" => SETTLED,
        "REFUNDED_ENTRIES_MAX" => REFUNDED_ENTRIES_MAX as u64,
        "CHARGED" => u64::from(CHARGED),
        "DENIED" => u64::from(DENIED),
        "EXHAUSTED_UNITS" => EXHAUSTED_UNITS,
        "SPACING" => u64::from(Kind::Spacing.number()),
        "CONCURRENCY" => u64::from(Kind::Concurrency.number()),
        "RESERVED_MAX_US" => RESERVED_MAX_US,
        "SLACK_US" => SLACK_US,
        "STEP_US" => STEP_US,
        "EXACT_MAX" => EXACT_MAX,
        "NEVER_US" => NEVER_US,
        "COUNT_MAX" => COUNT_MAX,
        "LOG_LIMIT_MAX" => LOG_LIMIT_MAX,
        // A level above the capacity, after an edit, stays exact while it drains.
        "BUCKET_LEVEL_MAX" => EXACT_MAX / 2,
        // Logs count their units modulo this.
        "LOGGED" => 1 << 52,
        "FOREVER" => return Some(FOREVER),
        _ => return None,
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
        for name in ["main.lua", "charge_log.lua", "reset.lua"] {
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
        let text = "if operation == REFUND then return FOREVER, MY_FOREVER, refund end";
        let expected = "if operation == 3 then return -1, MY_FOREVER, refund end";
        assert_eq!(with_numbers(text), expected);
    }
}
