//! The text of the limiter's library: Lua files that are valid by themselves, joined.
//!
//! Each file is the body of a function whose argument is the table `weir`. It takes from the table what earlier files put there, and
//! adds its own. Numbers and forms that Rust defines too replace their names in the text.

use std::fmt::Write as _;
use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};
use weir_domain::algorithm::{
    Kind, NEVER_US, REFUNDED_ENTRIES_MAX, SLACK_US, STEP_US, ScriptParameters,
};
use weir_domain::limit::{COUNT_MAX, EXACT_MAX, LOG_LIMIT_MAX};
use weir_domain::request::Operation;
use weir_domain::reservation::{EXHAUSTED_UNITS, RESERVED_MAX_US};

use super::layout;

/// The library, which has one function.
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
    let mut program = String::from("local function make()\nlocal weir = { algorithms = {} }\n");
    push_property(&mut program, "has_own_key", Kind::has_own_key);
    push_property(&mut program, "has_five_parameters", Kind::has_five_parameters);
    for (_, file) in BEFORE_ALGORITHMS {
        push(&mut program, format_args!(";(function(...)\n{file}end)(weir)\n"));
    }
    for &kind in Kind::ALL {
        let (number, file) = (kind.number(), algorithm(kind));
        push(
            &mut program,
            format_args!("weir.algorithms[{number}] = (function(...)\n{file}end)(weir)\n"),
        );
    }
    for (_, file) in AFTER_ALGORITHMS {
        push(&mut program, format_args!(";(function(...)\n{file}end)(weir)\n"));
    }
    push(&mut program, format_args!("return (function(...)\n{MAIN}end)(weir)\nend\n"));
    with_constants(&program)
});

/// A file by its name, without the suffix.
type File = (&'static str, &'static str);

macro_rules! files {
    ($($name:literal),+) => {
        [$(($name, include_str!(concat!("script/", $name, ".lua"))),)+]
    };
}

/// The files that algorithms use, in the order in which they run.
const BEFORE_ALGORITHMS: [File; 8] =
    files!["time", "subject_hash", "check", "bucket", "window", "log", "log_refund", "charge_log"];
/// The files that use algorithms.
const AFTER_ALGORITHMS: [File; 15] = files![
    "reservations",
    "held_units",
    "reserve",
    "answer",
    "record",
    "lease",
    "hashes",
    "counter",
    "block",
    "read_rules",
    "read",
    "judge",
    "charge",
    "decide_one",
    "decide_any"
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

/// All files of the library.
#[cfg(test)]
pub(super) fn files() -> Vec<File> {
    let algorithms = Kind::ALL.iter().map(|&kind| (kind.name(), algorithm(kind)));
    let mut files = [&BEFORE_ALGORITHMS[..], &AFTER_ALGORITHMS, &[("main", MAIN)]].concat();
    files.extend(algorithms);
    files
}

/// Writes a table of the kinds that have a property: looking into it is faster than a call.
fn push_property(program: &mut String, name: &str, holds: impl Fn(Kind) -> bool) {
    push(program, format_args!("weir.{name} = {{"));
    for &kind in Kind::ALL {
        if holds(kind) {
            push(program, format_args!(" [{}] = true,", kind.number()));
        }
    }
    push(program, format_args!(" }}\n"));
}

/// The number of a limit's kind in the script. A log at which a check leaves units free has a number of its own.
pub(super) const fn kind_number(kind: Kind, parameters: &ScriptParameters) -> u16 {
    match (kind, parameters) {
        (Kind::SlidingWindowLog, ScriptParameters::Five(_)) => KEEPING_LOG,
        _ => kind.number(),
    }
}

/// The kind of such a log.
const KEEPING_LOG: u16 = 100;

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
        "REPEATED" => layout::REPEATED,
        "KEY_REUSED" => layout::KEY_REUSED,
        "WITHOUT_LIMITS" => layout::WITHOUT_LIMITS,
        "UNREADABLE" => layout::UNREADABLE,
        "NOT_OPEN" => layout::NOT_OPEN,
        "SETTLED" => layout::SETTLED,
        "REFUNDED_ENTRIES_MAX" => REFUNDED_ENTRIES_MAX as u64,
        "CHARGED" => u64::from(CHARGED),
        "DENIED" => u64::from(DENIED),
        "EXHAUSTED_UNITS" => EXHAUSTED_UNITS,
        "SLIDING_WINDOW_LOG" => u64::from(Kind::SlidingWindowLog.number()),
        "KEEPING_LOG" => u64::from(KEEPING_LOG),
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

/// Writes numbers and forms in place of their names.
fn with_constants(script: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut text = String::with_capacity(script.len());
    let mut rest = script;
    while let Some(start) = rest.find(is_word) {
        let (before, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|c| !is_word(c)).unwrap_or(from.len()));
        text.push_str(before);
        match (constant(word), layout::form(word)) {
            (Some(number), _) => push(&mut text, format_args!("{number}")),
            (None, Some(form)) => text.push_str(&form),
            (None, None) => text.push_str(word),
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
    fn every_lua_file_is_short_and_in_the_library() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/limiter/script");
        let files = std::fs::read_dir(folder).expect("the folder of the script");
        let found: BTreeSet<String> = files
            .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
            .filter(|name| !["reset.lua", "stored.lua"].contains(&name.as_str()))
            .collect();
        let expected = super::files().iter().map(|(name, _)| format!("{name}.lua")).collect();
        assert_eq!(found, expected);
        for (name, text) in super::files() {
            assert!(text.lines().count() <= 120, "{name}.lua has more than 120 lines");
        }
        for kind in Kind::ALL {
            assert!(algorithm(*kind).starts_with(&format!("-- {}", kind.name())), "{kind:?}");
        }
    }

    #[test]
    fn names_of_numbers_and_forms_are_replaced_and_other_words_are_not() {
        let text =
            "if operation == REFUND then return FOREVER, MY_FOREVER, refund, AS_CHECK, LIMIT end";
        let expected = "if operation == 3 then return -1, MY_FOREVER, refund, '<dd', LIMIT end";
        assert_eq!(with_constants(text), expected);
    }
}
