//! The layout of a call of the script and of its reply, in one table. Rust writes the parts of a call by it, and
//! `AS_` and the name of a part stand in Lua for the part's form. A test compares the names in Lua with those of the table.
//!
//! KEYS, for each check in turn: the key of its idempotency record, if it has one; the keys of its subject hashes; of a
//! RESERVE, COMMIT or EXHAUST the keys of the reservations of these subjects, of a RENEW or RELEASE the key of the lease; then
//! the keys of the limits that have one of their own (logs and leases).
//!
//! ARGV\[1\]: a `HEADER`, `PERIODS` if it says so, and the checks. A check is a `CHECK`, a `CHECK_REST`, of a REFUND a `CHARGE_TIME`,
//! of an operation on a reservation or on leases a `RESERVATION`, and its rules. A rule is a `RULE`, its limits, and, if it says so, a
//! `MORE_OF_RULE` with its `BLOCK_LENGTH`s. A limit is a `LIMIT`, of some kinds `MORE_PARAMETERS`, and of a REFUND that names a charge a `CHARGED_LEVEL`.
//! `CONSUME_ONE` is a CONSUME without an idempotency record, whose only rule has one limit and neither a block nor a cost of its
//! own, and lets no check pass by less than its cost: the limit follows the `CHECK`. An ACQUIRE is a CONSUME whose rules have
//! concurrency limits. RENEW and RELEASE have no rules.
//!
//! ARGV\[2…\]: for each check with an idempotency record: fingerprint of the request, a text that is returned with a repeated
//! answer, and the time to live of the record in ms (0: nothing is recorded). A denial is not recorded, so its repeat is decided
//! anew; but what it counted is: charges of rules alone, the denial in logs, the start of blocks. A repeat counts none again.
//!
//! The reply: numbers; if there are texts, an array of the numbers and the texts, because Redis makes an array with more work. The
//! numbers are the time in µs, and for each check a `DECISION` of each limit, then a `SETTLEMENT` of an operation on a reservation
//! or on leases. A check without limits is `WITHOUT_LIMITS`. Of a repeated request: a `REPETITION`, and the numbers of the
//! first answer; its text is the next text. `KEY_REUSED`: the idempotency key belongs to another request. `UNREADABLE`: a key, which
//! is the next text, holds another type than it should. `NOT_OPEN`: the reservation to commit, or the lease, is not open; nothing
//! was written. The time alone: it is not within the periods; nothing was read or written.

/// How a field is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A whole number below 2^53, as a little-endian double.
    Number,
    /// One byte, 0 or 1.
    Flag,
    /// The name of a counter.
    Name,
    /// An id of a reservation or of leases.
    Id,
}
use Form::{Flag, Id, Name, Number};

/// Fields that are read or written together.
#[derive(Debug)]
pub(super) struct Part<const N: usize> {
    name: &'static str,
    fields: [(&'static str, Form); N],
}

/// The value of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value {
    Number(u64),
    Flag(bool),
    Name([u8; 12]),
    Id([u8; 16]),
}

impl<const N: usize> Part<N> {
    /// The number of its fields.
    pub(super) const fn count(&self) -> usize {
        N
    }
}

const fn part<const N: usize>(name: &'static str, fields: [(&'static str, Form); N]) -> Part<N> {
    Part { name, fields }
}

/// `now`: 0 stands for Redis' clock. `grace_ms` is added to every expiry.
pub(super) const HEADER: Part<4> = part(
    "HEADER",
    [("now", Number), ("grace_ms", Number), ("checks", Number), ("has_periods", Flag)],
);
/// The time for which the periods of all quotas were chosen.
pub(super) const PERIODS: Part<2> = part("PERIODS", [("from_us", Number), ("until_us", Number)]);
pub(super) const CHECK: Part<2> = part("CHECK", [("operation", Number), ("cost", Number)]);
/// `hash_count` is the number of subject hashes.
pub(super) const CHECK_REST: Part<3> =
    part("CHECK_REST", [("rule_count", Number), ("hash_count", Number), ("idempotent", Flag)]);
/// The time of the charge that a refund names (0: none).
pub(super) const CHARGE_TIME: Part<1> = part("CHARGE_TIME", [("charged_us", Number)]);
/// `time` of a RESERVE or EXHAUST: to live, in ms; of a COMMIT: the end that the answer to the RESERVE had, in µs; of a RENEW
/// or RELEASE: the `lease_us` of the lease. `accepts_less`: whether less than the cost is reserved if less is left.
pub(super) const RESERVATION: Part<3> =
    part("RESERVATION", [("id", Id), ("time", Number), ("accepts_less", Flag)]);
/// `alone`: whether the rule is charged alone. `debt`: whether a check passes while anything is left. `block_ms`: 0 for none.
/// `hash_number`: that of its subject hash in the check, from 1. It has at least one limit.
pub(super) const RULE: Part<6> = part(
    "RULE",
    [
        ("alone", Flag),
        ("debt", Flag),
        ("has_more", Flag),
        ("block_ms", Number),
        ("hash_number", Number),
        ("limit_count", Number),
    ],
);
/// The parameters are described at the head of the algorithm's file.
pub(super) const LIMIT: Part<5> =
    part("LIMIT", [("name", Name), ("kind", Number), ("a", Number), ("b", Number), ("c", Number)]);
pub(super) const MORE_PARAMETERS: Part<2> = part("MORE_PARAMETERS", [("d", Number), ("e", Number)]);
/// Of a token bucket: a bound below its level after the charge, in the unit of its third parameter (0: unknown).
pub(super) const CHARGED_LEVEL: Part<1> = part("CHARGED_LEVEL", [("level", Number)]);
/// `cost`: the own cost of the rule, if it has one; 0: it needs one unit and takes none. `length_count`: the number of the
/// `BLOCK_LENGTH`s that follow, 0 if all blocks last `block_ms`.
pub(super) const MORE_OF_RULE: Part<4> = part(
    "MORE_OF_RULE",
    [("has_own_cost", Flag), ("cost", Number), ("memory_ms", Number), ("length_count", Number)],
);
/// The length of the first block, of the second one within the memory, and so on.
pub(super) const BLOCK_LENGTH: Part<1> = part("BLOCK_LENGTH", [("length_ms", Number)]);

/// `allowed`: 0 or 1. `wait`: `FOREVER` if the check never passes. `delay_ms` of a refund: 1 if units returned.
pub(super) const DECISION: Part<5> = part(
    "DECISION",
    [
        ("allowed", Number),
        ("remaining", Number),
        ("reset_ms", Number),
        ("wait", Number),
        ("delay_ms", Number),
    ],
);
/// `SETTLED`; then of a RESERVE or EXHAUST the units that are held and their end in µs; of a COMMIT the units that are no longer
/// held, and those charged; of leases 0 and the time in µs.
pub(super) const SETTLEMENT: Part<5> = part(
    "SETTLEMENT",
    [
        ("settled", Number),
        ("units", Number),
        ("end_or_charged", Number),
        ("zero", Number),
        ("zero", Number),
    ],
);
/// `REPEATED`, the time of the first answer in µs (0: unknown), and the count of the numbers that follow.
pub(super) const REPETITION: Part<3> =
    part("REPETITION", [("repeated", Number), ("at", Number), ("count", Number)]);

/// The first number of an answer that is no decision.
pub(super) const REPEATED: u64 = 2;
pub(super) const KEY_REUSED: u64 = 3;
pub(super) const WITHOUT_LIMITS: u64 = 4;
pub(super) const UNREADABLE: u64 = 5;
pub(super) const NOT_OPEN: u64 = 6;
/// The first number of a settlement.
pub(super) const SETTLED: u64 = 7;

/// The name and fields of a part, whatever their number.
type Entry = (&'static str, Vec<(&'static str, Form)>);

/// All parts, and those that Lua reads or writes as one.
fn parts() -> Vec<Entry> {
    fn entry<const N: usize>(part: &Part<N>) -> Entry {
        (part.name, part.fields.to_vec())
    }
    let rule_and_limit = [&RULE.fields[..], &LIMIT.fields].concat();
    let one_decision = [&[("now", Number)][..], &DECISION.fields].concat();
    vec![
        entry(&HEADER),
        entry(&PERIODS),
        entry(&CHECK),
        entry(&CHECK_REST),
        entry(&CHARGE_TIME),
        entry(&RESERVATION),
        entry(&LIMIT),
        entry(&MORE_PARAMETERS),
        entry(&CHARGED_LEVEL),
        entry(&MORE_OF_RULE),
        entry(&BLOCK_LENGTH),
        entry(&DECISION),
        entry(&SETTLEMENT),
        entry(&REPETITION),
        ("RULE_LIMIT", rule_and_limit),
        ("ONE_DECISION", one_decision),
    ]
}

/// The form of a part in Lua, if `name` stands for one.
pub(super) fn form(name: &str) -> Option<String> {
    let name = name.strip_prefix("AS_")?;
    let (_, fields) = parts().into_iter().find(|(part, _)| *part == name)?;
    let forms = fields.iter().map(|(_, form)| match form {
        Number => "d",
        Flag => "B",
        Name => "c12",
        Id => "c16",
    });
    Some(format!("'<{}'", forms.collect::<String>()))
}

/// Writes a part of a call.
pub(super) fn write<const N: usize>(bytes: &mut Vec<u8>, part: &Part<N>, values: [Value; N]) {
    for (value, (name, form)) in values.into_iter().zip(part.fields) {
        debug_assert_eq!(value.form(), form, "{name} of {}", part.name);
        match value {
            Value::Number(whole) => bytes.extend_from_slice(&number(whole)),
            Value::Flag(flag) => bytes.push(u8::from(flag)),
            Value::Name(name) => bytes.extend_from_slice(&name),
            Value::Id(id) => bytes.extend_from_slice(&id),
        }
    }
}

impl Value {
    const fn form(self) -> Form {
        match self {
            Self::Number(_) => Number,
            Self::Flag(_) => Flag,
            Self::Name(_) => Name,
            Self::Id(_) => Id,
        }
    }
}

pub(super) fn number(whole: u64) -> [u8; 8] {
    #[expect(clippy::cast_precision_loss, reason = "all are below 2^53, by the contract")]
    let number = whole as f64;
    number.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The name of the part behind `call(AS_`, and the text around it.
    fn uses<'t>(text: &'t str, call: &'t str) -> impl Iterator<Item = (&'t str, &'t str, &'t str)> {
        text.match_indices(call).map(move |(at, _)| {
            let rest = &text[at + call.len()..];
            let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_');
            let (part, after) = rest.split_at(end.expect("arguments follow"));
            (&text[..at], part, after)
        })
    }

    #[test]
    fn lua_reads_and_writes_the_fields_of_the_table() {
        let parts = parts();
        let fields = |part: &str| {
            let found = parts.iter().find(|(name, _)| *name == part);
            &found.unwrap_or_else(|| panic!("no part has the name {part}")).1
        };
        let mut used = BTreeSet::new();
        for (file, text) in crate::limiter::source::files() {
            // The last of the variables is the position after the part.
            for (before, part, _) in uses(text, "unpack(AS_") {
                let mut lines = before.rsplit('\n').map(str::trim);
                let variables = lines.find(|line| !line.is_empty()).expect("variables");
                let variables = variables.trim_end_matches('=').trim_end();
                let variables = variables.trim_start_matches("local ").split(", ");
                let mut names: Vec<_> =
                    variables.map(|name| name.rsplit('.').next().unwrap_or(name)).collect();
                names.pop();
                let expected: Vec<_> = fields(part).iter().map(|(name, _)| *name).collect();
                assert_eq!(names, expected, "{part} in {file}.lua");
                used.insert(part);
            }
            for (before, part, after) in uses(text, "pack(AS_") {
                if before.ends_with("un") {
                    continue;
                }
                let (mut depth, mut count) = (1, 0);
                for character in after.chars() {
                    match character {
                        '(' => depth += 1,
                        ')' => depth -= 1,
                        ',' if depth == 1 => count += 1,
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                }
                assert_eq!(count, fields(part).len(), "{part} in {file}.lua");
                used.insert(part);
            }
        }
        let all: BTreeSet<_> = parts.iter().map(|(name, _)| *name).collect();
        assert_eq!(used, all);
    }

    #[test]
    fn parts_are_written_in_their_forms() {
        let mut bytes = Vec::new();
        let values = [Value::Id([7; 16]), Value::Number(1), Value::Flag(true)];
        write(&mut bytes, &RESERVATION, values);
        let expected = [&[7; 16][..], &1_f64.to_le_bytes(), &[1]].concat();
        assert_eq!(bytes, expected);
        assert_eq!(form("AS_RESERVATION").as_deref(), Some("'<c16dB'"));
        assert_eq!((form("RESERVATION"), form("AS_NOTHING")), (None, None));
    }
}
