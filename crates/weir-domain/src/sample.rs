//! The sample of checks that is recorded for what-if runs: all checks of some subjects.
//!
//! A decision depends on all earlier checks of the same subject. A random share of all checks could therefore not be
//! decided again, but all checks of a share of the subjects can. Each subject has a mark, a hash of its values; a subject
//! is in the sample if its mark is at most a threshold. All gates compute the same marks and so choose the same subjects.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::counted::Counted;
use crate::fnv::{BASIS, fnv1a};
use crate::request::Request;
use crate::rule::Rule;

/// The most bytes of a recorded value; a longer value is cut and ends with a digest.
pub const RECORDED_BYTES_MAX: usize = 200;
/// The threshold that includes every subject.
pub const ALL: u32 = u32::MAX;
/// The least mark, so the threshold 0 includes no subject and a full sample can always shrink.
pub const MARK_MIN: u32 = 1;

/// The parts of a namespace's checks that are recorded: the attributes that its rules use, and the subjects they count.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct SamplePlan {
    namespace: String,
    attributes: Vec<String>,
    count_by: Vec<Vec<Counted>>,
}

impl SamplePlan {
    /// The plan for these rules of a namespace.
    pub fn of_rules<'a>(namespace: &str, rules: impl IntoIterator<Item = &'a Rule>) -> Self {
        let mut plan = Self { namespace: namespace.to_owned(), ..Self::default() };
        for rule in rules {
            plan.attributes.extend(used_attributes(rule).map(str::to_owned));
            plan.count_by.push(rule.count_by().to_vec());
        }
        plan.attributes.sort_unstable();
        plan.attributes.dedup();
        plan.count_by.sort_unstable();
        plan.count_by.dedup();
        plan.attributes.shrink_to_fit();
        plan.count_by.shrink_to_fit();
        plan
    }

    /// A plan that was stored before.
    pub fn new(namespace: String, attributes: Vec<String>, count_by: Vec<Vec<Counted>>) -> Self {
        Self { namespace, attributes, count_by }
    }

    /// The namespace of the checks.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The attributes that are recorded, sorted.
    pub fn attributes(&self) -> &[String] {
        &self.attributes
    }

    /// The `count_by` lists of the rules, which define the subjects.
    pub fn count_by(&self) -> &[Vec<Counted>] {
        &self.count_by
    }

    /// The least mark of the request's subjects; `None` if no rule counts it by subject.
    pub fn mark(&self, request: &Request) -> Option<u32> {
        let marks =
            self.count_by.iter().filter_map(|names| mark(names, |name| request.attribute(name)));
        marks.min()
    }

    /// The first attribute that the rule uses and that is not recorded.
    pub fn lacks<'a>(&self, rule: &'a Rule) -> Option<&'a str> {
        used_attributes(rule)
            .find(|name| self.attributes.binary_search_by(|own| own[..].cmp(name)).is_err())
    }

    /// Whether the recorded subjects are subjects of the rule, so that they are a sample of the rule's checks.
    pub fn samples(&self, rule: &Rule) -> bool {
        !rule.count_by().is_empty() && self.count_by.iter().any(|names| names == rule.count_by())
    }
}

/// The mark of a subject; `None` if the request lacks an attribute, or if all requests are counted together.
pub fn mark<'a>(count_by: &[Counted], value: impl Fn(&str) -> Option<&'a str>) -> Option<u32> {
    if count_by.is_empty() {
        return None;
    }
    let mut hash = Fnv::default();
    for counted in count_by {
        // The form of the recorded value, because a what-if run knows no other.
        let value = recorded_value(value(&counted.attribute)?);
        hash.eat(counted.attribute.as_bytes());
        hash.eat(counted.form_of(&value).as_bytes());
    }
    Some(hash.finish())
}

/// A value as it is recorded.
pub fn recorded_value(value: &str) -> Cow<'_, str> {
    if value.len() <= RECORDED_BYTES_MAX {
        return Cow::Borrowed(value);
    }
    let mut end = RECORDED_BYTES_MAX - 20;
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    let mut hash = Fnv::default();
    hash.eat(value.as_bytes());
    let mut recorded = value[..end].to_owned();
    write!(recorded, "…{:016x}", hash.spread()).expect("writing to a string cannot fail");
    Cow::Owned(recorded)
}

/// The share of subjects with a mark up to a threshold.
pub fn share(threshold: u32) -> f64 {
    (f64::from(threshold) + 1.0) / (f64::from(u32::MAX) + 1.0)
}

/// The attributes whose values the rule depends on.
fn used_attributes(rule: &Rule) -> impl Iterator<Item = &str> {
    let tested = rule.conditions().iter().map(crate::condition::Condition::attribute);
    tested.chain(rule.count_by().iter().map(AsRef::as_ref))
}

/// The hash of a subject. A caller that chooses its subject can choose its mark: its checks then take the
/// places of other checks of its tenant.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(BASIS)
    }
}

impl Fnv {
    /// Adds a field. Names and values contain no control characters, so a control character ends the field.
    fn eat(&mut self, bytes: &[u8]) {
        self.0 = fnv1a(self.0, bytes.iter().chain(&[0]));
    }

    /// The hash, in which every bit depends on all bits of the state.
    fn spread(&self) -> u64 {
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn finish(&self) -> u32 {
        u32::try_from(self.spread() >> 32).expect("half of the bits fit").max(MARK_MIN)
    }
}

#[cfg(test)]
mod tests;
