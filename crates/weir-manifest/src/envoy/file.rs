//! A file of Envoy's rate limit service, as written.

use crate::yaml::{Entry, Misplaced, Node, Position, brief};

/// A file.
pub(super) struct File {
    pub(super) domain: String,
    pub(super) descriptors: Vec<Descriptor>,
    /// Fields without a meaning at the top.
    pub(super) ignored: Vec<Misplaced>,
}

/// A descriptor of a file.
pub(super) struct Descriptor {
    pub(super) at: Position,
    pub(super) key: String,
    /// The value. In the original, an empty value is none.
    pub(super) value: Option<String>,
    pub(super) limit: Option<RateLimit>,
    pub(super) shadow: bool,
    /// Whether a denial is only reported.
    pub(super) quota: bool,
    /// Whether all values that a pattern matches share one counter.
    pub(super) shares: bool,
    pub(super) descriptors: Vec<Self>,
    /// Settings that no rule can express.
    pub(super) unsupported: Vec<Misplaced>,
    /// Settings that change no decision.
    pub(super) ignored: Vec<Misplaced>,
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

/// The fields of all levels. The original accepts each of them at every level, and ignores it where it has no meaning.
const FIELDS: [&str; 15] = [
    "descriptors",
    "detailed_metric",
    "domain",
    "key",
    "metadata",
    "name",
    "quota_mode",
    "rate_limit",
    "replaces",
    "requests_per_unit",
    "shadow_mode",
    "share_threshold",
    "unit",
    "unlimited",
    "value",
];
/// Settings that name or label metrics.
const OF_METRICS: [&str; 2] = ["detailed_metric", "value_to_metric"];

pub(super) fn read(node: &Node) -> Result<File, Misplaced> {
    let mut file = File { domain: String::new(), descriptors: Vec::new(), ignored: Vec::new() };
    for entry in node.entries()? {
        match entry.key.as_str() {
            "domain" => text(&entry.value)?.clone_into(&mut file.domain),
            "descriptors" => file.descriptors = descriptors(&entry.value)?,
            // Envoy Gateway names its files.
            "name" => drop(text(&entry.value)?),
            _ => file.ignored.push(misplaced(entry)?),
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
        quota: false,
        shares: false,
        descriptors: Vec::new(),
        unsupported: Vec::new(),
        ignored: Vec::new(),
    };
    for entry in node.entries()? {
        let value = &entry.value;
        match entry.key.as_str() {
            "key" => text(value)?.clone_into(&mut read.key),
            "value" => read.value = Some(text(value)?.to_owned()).filter(|text| !text.is_empty()),
            "rate_limit" if value.is_null() => {}
            "rate_limit" => read.limit = rate_limit(value, &mut read)?,
            "descriptors" => read.descriptors = descriptors(value)?,
            "shadow_mode" => read.shadow = flag(value)?,
            "share_threshold" => read.shares = flag(value)?,
            name if OF_METRICS.contains(&name) => {
                if flag(value)? {
                    let text = format!("`{name}` names a metric, and changes no limit");
                    read.ignored.push(Misplaced::new(entry.at, text));
                }
            }
            "quota_mode" => read.quota = flag(value)?,
            "metadata" if is_empty(value) => {}
            "metadata" => {
                let text = "`metadata` has no counterpart in a rule";
                read.unsupported.push(Misplaced::new(entry.at, text));
            }
            // It labels the descriptor for people.
            "name" => drop(text(value)?),
            _ => read.ignored.push(misplaced(entry)?),
        }
    }
    if read.key.is_empty() {
        return Err(Misplaced::new(node.at, "`key` is missing"));
    }
    Ok(read)
}

fn rate_limit(node: &Node, of: &mut Descriptor) -> Result<Option<RateLimit>, Misplaced> {
    let (mut count, mut window_ms, mut unlimited) = (0, Ok(None), false);
    for entry in node.entries()? {
        let value = &entry.value;
        match entry.key.as_str() {
            "requests_per_unit" => {
                let wrong = || Misplaced::new(value.at, "must be a whole number");
                let digits = text(value)?.replace('_', "");
                count = if value.is_null() { 0 } else { digits.parse().map_err(|_| wrong())? };
            }
            "unit" => window_ms = unit(value),
            "unlimited" => unlimited = flag(value)?,
            // It labels metrics, and `replaces` refers to it.
            "name" => drop(text(value)?),
            "replaces" if is_empty(value) => {}
            "replaces" => {
                let text = "`replaces` has no counterpart in a rule";
                of.unsupported.push(Misplaced::new(entry.at, text));
            }
            _ => of.ignored.push(misplaced(entry)?),
        }
    }
    match (unlimited, window_ms) {
        (true, Ok(Some(_))) => Err(Misplaced::new(node.at, "has `unit` and `unlimited`")),
        (true, _) => Ok(Some(RateLimit::Unlimited)),
        (false, Ok(Some(window_ms))) => Ok(Some(RateLimit::Requests { count, window_ms })),
        (false, Ok(None)) => Err(Misplaced::new(node.at, "`unit` is missing")),
        (false, Err(error)) => Err(error),
    }
}

/// The length of a unit, `None` if there is none. The original accepts any other text where there is no limit.
fn unit(node: &Node) -> Result<Option<u64>, Misplaced> {
    let name = text(node)?.to_lowercase();
    if name.is_empty() {
        return Ok(None);
    }
    let found = UNITS.into_iter().find(|(unit, _)| *unit == name);
    let names = UNITS.map(|(name, _)| name).join(", ");
    let wrong = || Misplaced::new(node.at, format!("must be one of {names}"));
    found.map(|(_, ms)| Some(ms)).ok_or_else(wrong)
}

/// A text; nothing is an empty one.
fn text(node: &Node) -> Result<&str, Misplaced> {
    if node.is_null() { Ok("") } else { node.text() }
}

/// Whether a value is nothing, or an empty list or map.
fn is_empty(node: &Node) -> bool {
    node.is_null()
        || node.items().is_ok_and(<[Node]>::is_empty)
        || node.entries().is_ok_and(<[Entry]>::is_empty)
}

fn flag(node: &Node) -> Result<bool, Misplaced> {
    match text(node)? {
        "true" => Ok(true),
        "false" | "" => Ok(false),
        _ => Err(Misplaced::new(node.at, "must be `true` or `false`")),
    }
}

/// The warning about a field that has no meaning at its level, or the error about one that has none at any.
fn misplaced(entry: &Entry) -> Result<Misplaced, Misplaced> {
    let (at, field) = (entry.at, entry.key.as_str());
    let is_known = |field: &str| FIELDS.contains(&field) || OF_METRICS.contains(&field);
    if is_known(field) {
        return Ok(Misplaced::new(at, format!("`{field}` has no meaning here")));
    }
    let lower = field.to_lowercase();
    let hint = if is_known(&lower) { format!("; is it `{lower}`?") } else { String::new() };
    Err(Misplaced::new(at, format!("unknown field `{}`{hint}", brief(field))))
}
