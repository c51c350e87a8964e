//! Which checks are kept for what-if runs: those of some subjects, and of these all.
//!
//! What a limiter decides for a subject depends on everything the subject asked before, so a share of
//! all checks says nothing, and all checks of a share of the subjects says much. Each subject has a
//! mark, a number that looks random; kept is who has a mark up to a threshold. The marks do not depend
//! on who computes them, so all gates keep the same subjects.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::request::Request;
use crate::rule::Rule;

/// Bytes of a value that are kept; of a longer one the beginning and a digest.
pub const KEPT_BYTES_MAX: usize = 200;
/// The threshold under which every subject is kept.
pub const ALL: u32 = u32::MAX;

/// What of a namespace's checks is kept: what its rules look at, and whom they count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SamplePlan {
    namespace: String,
    attributes: Vec<String>,
    count_by: Vec<Vec<String>>,
}

impl SamplePlan {
    /// The plan for these rules of a namespace.
    pub fn of_rules<'a>(namespace: &str, rules: impl IntoIterator<Item = &'a Rule>) -> Self {
        let mut plan = Self { namespace: namespace.to_owned(), ..Self::default() };
        for rule in rules {
            plan.attributes.extend(looked_at(rule).map(str::to_owned));
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

    /// A plan read back.
    pub fn new(namespace: String, attributes: Vec<String>, count_by: Vec<Vec<String>>) -> Self {
        Self { namespace, attributes, count_by }
    }

    /// Whose checks are meant.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The attributes that are kept, sorted.
    pub fn attributes(&self) -> &[String] {
        &self.attributes
    }

    /// Whose checks are kept as a whole.
    pub fn count_by(&self) -> &[Vec<String>] {
        &self.count_by
    }

    /// The least mark of the request's subjects; none: no rule tells whose it is.
    pub fn mark(&self, request: &Request) -> Option<u32> {
        let marks = self.count_by.iter().filter_map(|it| mark(it, |name| request.attribute(name)));
        marks.min()
    }

    /// The first attribute that the rule looks at and that is not kept.
    pub fn lacks<'a>(&self, rule: &'a Rule) -> Option<&'a str> {
        looked_at(rule)
            .find(|it| self.attributes.binary_search_by(|kept| kept[..].cmp(it)).is_err())
    }

    /// Whether the subjects kept are subjects of the rule: then a share of them is a sample of its own.
    pub fn samples(&self, rule: &Rule) -> bool {
        !rule.count_by().is_empty() && self.count_by.iter().any(|it| it == rule.count_by())
    }
}

/// A subject's mark; none if the request lacks one of the attributes, or if all are counted together.
pub fn mark<'a>(count_by: &[String], value: impl Fn(&str) -> Option<&'a str>) -> Option<u32> {
    if count_by.is_empty() {
        return None;
    }
    let mut hash = Fnv::default();
    for name in count_by {
        let value = kept_value(value(name)?);
        hash.eat(name.as_bytes());
        hash.eat(value.as_bytes());
    }
    Some(hash.finish())
}

/// A value as it is kept.
pub fn kept_value(value: &str) -> Cow<'_, str> {
    if value.len() <= KEPT_BYTES_MAX {
        return Cow::Borrowed(value);
    }
    let mut end = KEPT_BYTES_MAX - 20;
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    let mut hash = Fnv::default();
    hash.eat(value.as_bytes());
    let mut kept = value[..end].to_owned();
    write!(kept, "…{:016x}", hash.spread()).expect("writing to a string cannot fail");
    Cow::Owned(kept)
}

/// The share of subjects with a mark up to a threshold.
pub fn share(threshold: u32) -> f64 {
    (f64::from(threshold) + 1.0) / (f64::from(u32::MAX) + 1.0)
}

/// The attributes whose values the rule depends on.
fn looked_at(rule: &Rule) -> impl Iterator<Item = &str> {
    let tested = rule.conditions().iter().map(crate::condition::Condition::attribute);
    tested.chain(rule.count_by().iter().map(String::as_str))
}

/// FNV-1a: short texts, quickly. Who can choose a subject's name can choose its mark, and gains to be
/// kept or not.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds a field. Names and values hold no control characters, so one of these ends it.
    fn eat(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// All bits depend on all others.
    fn spread(&self) -> u64 {
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn finish(&self) -> u32 {
        u32::try_from(self.spread() >> 32).expect("half of the bits fit")
    }
}

#[cfg(test)]
mod tests;
