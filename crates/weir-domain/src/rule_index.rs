//! An index that finds the rules of a namespace that can match a request, by hash instead of by trying each.
//!
//! Most rules require a certain value of an attribute (`equals`) or one of a few (`one_of`). Such a rule is filed under
//! the requirement that the fewest rules share, and is tried only when a request has that value. Rules without such a
//! requirement are always tried.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::request::Request;
use crate::rule::Rule;

/// The index of one namespace's rules, by their positions.
#[derive(Debug, Default)]
pub struct RuleIndex {
    /// The filed rules by attribute.
    filed: Vec<Filed>,
    /// The rules without a requirement, in order.
    others: Vec<u32>,
}

/// The rules filed under values of one attribute.
#[derive(Debug)]
struct Filed {
    attribute: Box<str>,
    /// The hashes of the values, each with the position of a rule, sorted. A check tries a rule whose value only has the
    /// same hash, and finds that it does not match.
    positions: Vec<(u32, u32)>,
}

/// Up to this number of rules, trying each is as fast.
const LINEAR_MAX: usize = 8;
/// A `one_of` with more values is not filed.
const VALUES_MAX: usize = 64;

impl RuleIndex {
    /// The index of these rules; `None` where trying each is as fast.
    pub fn of(rules: &[&Rule]) -> Option<Self> {
        if rules.len() <= LINEAR_MAX {
            return None;
        }
        let mut sharing: HashMap<(&str, &str), usize> = HashMap::new();
        for (attribute, values) in rules.iter().flat_map(|rule| requirements(rule)) {
            for value in values {
                *sharing.entry((attribute, value)).or_default() += 1;
            }
        }
        let mut index = Self::default();
        for (position, rule) in (0..).zip(rules) {
            let shared = |(attribute, values): &(&str, &[String])| {
                values.iter().map(|value| sharing[&(*attribute, value.as_str())]).sum::<usize>()
            };
            match requirements(rule).min_by_key(shared) {
                Some((attribute, values)) => index.file(position, attribute, values),
                None => index.others.push(position),
            }
        }
        (!index.filed.is_empty()).then(|| index.finish())
    }

    /// The positions of the rules that can match, in order.
    pub fn candidates(&self, request: &Request) -> Vec<u32> {
        let mut positions = self.others.clone();
        for filed in &self.filed {
            let Some(value) = request.attribute(&filed.attribute) else { continue };
            let hash = hash(value);
            let from = filed.positions.partition_point(|&(other, _)| other < hash);
            let same = filed.positions[from..].iter().take_while(|&&(other, _)| other == hash);
            positions.extend(same.map(|&(_, position)| position));
        }
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    fn file(&mut self, position: u32, attribute: &str, values: &[String]) {
        let at = self.filed.iter().position(|filed| *filed.attribute == *attribute);
        let at = at.unwrap_or_else(|| {
            self.filed.push(Filed { attribute: attribute.into(), positions: Vec::new() });
            self.filed.len() - 1
        });
        self.filed[at].positions.extend(values.iter().map(|value| (hash(value), position)));
    }

    /// Sorts what was filed and drops spare capacity, because gates hold many indexes.
    fn finish(mut self) -> Self {
        for filed in &mut self.filed {
            filed.positions.sort_unstable();
            filed.positions.shrink_to_fit();
        }
        self.filed.shrink_to_fit();
        self.others.shrink_to_fit();
        self
    }
}

/// Half of a hash, which suffices: a false candidate costs one trial.
#[expect(clippy::cast_possible_truncation, reason = "each half is a hash")]
fn hash(value: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish() as u32
}

/// The attributes that must have one of these values for the rule to match.
fn requirements(rule: &Rule) -> impl Iterator<Item = (&str, &[String])> {
    rule.conditions().iter().filter_map(|condition| {
        let values = condition.one_of().filter(|_| rule.compares_plain(condition))?;
        (values.len() <= VALUES_MAX).then_some((condition.attribute(), values))
    })
}

#[cfg(test)]
mod tests;
