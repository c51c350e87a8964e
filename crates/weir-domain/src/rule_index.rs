//! An index that finds the rules of a namespace that can match a request, by hash instead of by trying each.
//!
//! Most rules require a certain value of an attribute (`equals`) or one of a few (`one_of`). Such a rule is filed under
//! the requirement that the fewest rules share, and is tried only when a request has that value. Rules without such a
//! requirement are always tried.

use std::collections::HashMap;

use crate::request::Request;
use crate::rule::Rule;

/// The index of one namespace's rules, by their positions.
#[derive(Debug, Default)]
pub struct RuleIndex {
    /// The positions of the filed rules, by attribute, then by value.
    filed: HashMap<String, HashMap<String, Vec<usize>>>,
    /// The rules without a requirement, in order.
    others: Vec<usize>,
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
        for (position, rule) in rules.iter().enumerate() {
            let shared = |(attribute, values): &(&str, &[String])| {
                values.iter().map(|value| sharing[&(*attribute, value.as_str())]).sum::<usize>()
            };
            match requirements(rule).min_by_key(shared) {
                Some((attribute, values)) => index.file(position, attribute, values),
                None => index.others.push(position),
            }
        }
        (!index.filed.is_empty()).then_some(index)
    }

    /// The positions of the rules that can match, in order.
    pub fn candidates(&self, request: &Request) -> Vec<usize> {
        let mut positions = self.others.clone();
        for (attribute, by_value) in &self.filed {
            if let Some(filed) = request.attribute(attribute).and_then(|value| by_value.get(value))
            {
                positions.extend_from_slice(filed);
            }
        }
        positions.sort_unstable();
        positions
    }

    fn file(&mut self, position: usize, attribute: &str, values: &[String]) {
        let by_value = self.filed.entry(attribute.to_owned()).or_default();
        for value in values {
            by_value.entry(value.clone()).or_default().push(position);
        }
    }
}

/// The attributes that must have one of these values for the rule to match.
fn requirements(rule: &Rule) -> impl Iterator<Item = (&str, &[String])> {
    rule.conditions().iter().filter_map(|condition| {
        let values = condition.one_of()?;
        (values.len() <= VALUES_MAX).then_some((condition.attribute(), values))
    })
}

#[cfg(test)]
mod tests;
