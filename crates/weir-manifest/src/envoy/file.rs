//! A file of Envoy's rate limit service, as written.

use crate::yaml::{Misplaced, Node, Position};

/// A file.
pub(super) struct File {
    pub(super) domain: String,
    pub(super) descriptors: Vec<Descriptor>,
}

/// A descriptor of a file.
pub(super) struct Descriptor {
    pub(super) at: Position,
    pub(super) key: String,
    /// The value. In the original, an empty value is none.
    pub(super) value: Option<String>,
    pub(super) limit: Option<RateLimit>,
    pub(super) shadow: bool,
    /// Whether all values that a pattern matches share one counter.
    pub(super) shares: bool,
    pub(super) descriptors: Vec<Self>,
    /// Settings that no rule can express.
    pub(super) unsupported: Vec<Misplaced>,
}

/// The limit of a descriptor.
pub(super) enum RateLimit {
    Unlimited,
    /// Requests in a window of milliseconds.
    Requests {
        count: u64,
        window_ms: u64,
    },
}

const DAY_MS: u64 = 86_400_000;
/// The units and their lengths, as the original counts them.
const UNITS: [(&str, u64); 7] = [
    ("second", 1_000),
    ("minute", 60_000),
    ("hour", 3_600_000),
    ("day", DAY_MS),
    ("week", 7 * DAY_MS),
    ("month", 30 * DAY_MS),
    ("year", 365 * DAY_MS),
];

pub(super) fn read(node: &Node) -> Result<File, Misplaced> {
    let mut file = File { domain: String::new(), descriptors: Vec::new() };
    for entry in node.entries()? {
        match entry.key.as_str() {
            "domain" => entry.value.text()?.clone_into(&mut file.domain),
            "descriptors" => file.descriptors = descriptors(&entry.value)?,
            other => return Err(unknown(entry.at, other)),
        }
    }
    if file.domain.is_empty() {
        return Err(Misplaced::new(node.at, "`domain` is missing"));
    }
    Ok(file)
}

fn descriptors(node: &Node) -> Result<Vec<Descriptor>, Misplaced> {
    if node.is_null() { Ok(Vec::new()) } else { node.items()?.iter().map(descriptor).collect() }
}

fn descriptor(node: &Node) -> Result<Descriptor, Misplaced> {
    let mut read = Descriptor {
        at: node.at,
        key: String::new(),
        value: None,
        limit: None,
        shadow: false,
        shares: false,
        descriptors: Vec::new(),
        unsupported: Vec::new(),
    };
    for entry in node.entries()? {
        let value = &entry.value;
        match entry.key.as_str() {
            "key" => value.text()?.clone_into(&mut read.key),
            "value" => read.value = Some(value.text()?.to_owned()).filter(|text| !text.is_empty()),
            "rate_limit" if value.is_null() => {}
            "rate_limit" => read.limit = rate_limit(value, &mut read.unsupported)?,
            "descriptors" => read.descriptors = descriptors(value)?,
            "shadow_mode" => read.shadow = flag(value)?,
            "share_threshold" => read.shares = flag(value)?,
            "detailed_metric" | "value_to_metric" | "quota_mode" => {
                if flag(value)? {
                    let text = format!("`{}` has no counterpart in a rule", entry.key);
                    read.unsupported.push(Misplaced::new(entry.at, text));
                }
            }
            "metadata" => {
                let text = "`metadata` has no counterpart in a rule";
                read.unsupported.push(Misplaced::new(entry.at, text));
            }
            other => return Err(unknown(entry.at, other)),
        }
    }
    if read.key.is_empty() {
        return Err(Misplaced::new(node.at, "`key` is missing"));
    }
    Ok(read)
}

fn rate_limit(
    node: &Node,
    unsupported: &mut Vec<Misplaced>,
) -> Result<Option<RateLimit>, Misplaced> {
    let (mut count, mut window_ms, mut unlimited) = (0, None, false);
    for entry in node.entries()? {
        let value = &entry.value;
        match entry.key.as_str() {
            "requests_per_unit" => {
                let wrong = || Misplaced::new(value.at, "must be a whole number");
                count = value.text()?.parse().map_err(|_| wrong())?;
            }
            "unit" => {
                let unit = value.text()?.to_lowercase();
                let found = UNITS.into_iter().find(|(name, _)| *name == unit);
                let names = UNITS.map(|(name, _)| name).join(", ");
                let wrong = || Misplaced::new(value.at, format!("must be one of {names}"));
                window_ms = Some(found.ok_or_else(wrong)?.1);
            }
            "unlimited" => unlimited = flag(value)?,
            // It labels metrics, and `replaces` refers to it.
            "name" => drop(value.text()?),
            "replaces" => {
                let text = "`replaces` has no counterpart in a rule";
                unsupported.push(Misplaced::new(entry.at, text));
            }
            other => return Err(unknown(entry.at, other)),
        }
    }
    match (unlimited, window_ms) {
        (true, None) => Ok(Some(RateLimit::Unlimited)),
        (false, Some(window_ms)) => Ok(Some(RateLimit::Requests { count, window_ms })),
        (true, Some(_)) => Err(Misplaced::new(node.at, "has `unit` and `unlimited`")),
        (false, None) => Err(Misplaced::new(node.at, "`unit` is missing")),
    }
}

fn flag(node: &Node) -> Result<bool, Misplaced> {
    match node.text()? {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Misplaced::new(node.at, "must be `true` or `false`")),
    }
}

fn unknown(at: Position, field: &str) -> Misplaced {
    let lower = field.to_lowercase();
    let hint = if lower == field { String::new() } else { format!("; is it `{lower}`?") };
    Misplaced::new(at, format!("unknown field `{field}`{hint}"))
}
