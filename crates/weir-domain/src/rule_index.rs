//! Which rules of a namespace may match a request, found by hash instead of by asking each.
//!
//! Most rules demand that some attribute has a certain value (`equals`) or one of a few (`one_of`). Such
//! a rule is filed under the demand that fewest rules share, and is looked at only when a request has
//! that value. Rules without such a demand are always looked at.

use std::collections::HashMap;
use std::sync::Arc;

use crate::request::Request;
use crate::rulebook::ActiveRule;

/// The index of one namespace's rules, by their positions.
#[derive(Debug, Default)]
pub struct RuleIndex {
    /// By attribute, then by value.
    filed: HashMap<String, HashMap<String, Vec<usize>>>,
    /// Without a demand; in order.
    others: Vec<usize>,
}

/// Rules up to which asking each is as fast.
const LINEAR_MAX: usize = 8;
/// A `one_of` with more values is not filed.
const VALUES_MAX: usize = 64;

impl RuleIndex {
    /// The index of these rules; none where it would gain nothing.
    pub fn of(rules: &[Arc<ActiveRule>]) -> Option<Self> {
        if rules.len() <= LINEAR_MAX {
            return None;
        }
        let mut sharing: HashMap<(&str, &str), usize> = HashMap::new();
        for (attribute, values) in rules.iter().flat_map(|it| demands(it)) {
            for value in values {
                *sharing.entry((attribute, value)).or_default() += 1;
            }
        }
        let mut index = Self::default();
        for (position, rule) in rules.iter().enumerate() {
            let shared = |(attribute, values): &(&str, &[String])| {
                values.iter().map(|value| sharing[&(*attribute, value.as_str())]).sum::<usize>()
            };
            match demands(rule).min_by_key(shared) {
                Some((attribute, values)) => index.file(position, attribute, values),
                None => index.others.push(position),
            }
        }
        (!index.filed.is_empty()).then_some(index)
    }

    /// The positions of the rules that may match, in order.
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
fn demands(rule: &ActiveRule) -> impl Iterator<Item = (&str, &[String])> {
    rule.rule.conditions().iter().filter_map(|it| {
        let values = it.one_of()?;
        (values.len() <= VALUES_MAX).then_some((it.attribute(), values))
    })
}

#[cfg(test)]
mod tests;
