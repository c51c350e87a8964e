//! Descriptors as rules.

use serde_json::json;
use weir_domain::profile::{DESCRIPTOR_ATTRIBUTE, attribute_of_key};
use weir_wire::limits::LimitBody;
use weir_wire::rules::{ConditionBody, OperandBody, RuleBody};
use weir_wire::words::{Action, Mode, Op};

use super::file::{Descriptor, File, RateLimit};
use super::rule;
use crate::yaml::Misplaced;

pub(super) struct Converter {
    namespace: String,
    lossy: bool,
    path: Vec<Step>,
    pub(super) rules: Vec<RuleBody>,
    pub(super) left_out: Vec<Misplaced>,
    pub(super) ignored: Vec<Misplaced>,
}

/// A level of the path to a descriptor.
struct Step {
    key: String,
    value: Option<String>,
    attribute: String,
    conditions: Vec<ConditionBody>,
    /// Whether each value has a counter of its own.
    counts: bool,
}

impl Converter {
    pub(super) fn new(file: &File, lossy: bool) -> Self {
        Self {
            namespace: rule::namespace(&file.domain),
            lossy,
            path: Vec::new(),
            rules: Vec::new(),
            left_out: Vec::new(),
            ignored: Vec::new(),
        }
    }

    pub(super) fn convert(&mut self, siblings: &[Descriptor]) {
        for descriptor in siblings {
            match self.step(descriptor, siblings) {
                Ok(step) => self.path.push(step),
                Err(error) => {
                    self.left_out.push(error);
                    continue;
                }
            }
            self.ignored.extend(descriptor.ignored.iter().cloned());
            let unsupported = descriptor.unsupported.iter().cloned();
            if self.lossy || descriptor.unsupported.is_empty() {
                self.ignored.extend(unsupported);
                if let Err(error) = self.add_rule(descriptor) {
                    self.left_out.push(error);
                }
            } else {
                self.left_out.extend(unsupported);
            }
            self.convert(&descriptor.descriptors);
            self.path.pop();
        }
    }

    fn step(&self, descriptor: &Descriptor, siblings: &[Descriptor]) -> Result<Step, Misplaced> {
        let taken: Vec<_> = self.path.iter().map(|step| step.attribute.as_str()).collect();
        let is_taken = |name: &str| taken.contains(&name);
        let attribute = attribute_of_key(&descriptor.key, is_taken);
        let value = descriptor.value.as_deref();
        let mut conditions = Vec::new();
        conditions.extend(value.map(|value| rule::value_condition(&attribute, value)));
        let is_pattern = value.is_some_and(|value| value.contains('*'));
        if is_pattern || value.is_none() {
            conditions.extend(exclusions(descriptor, siblings, &attribute)?);
        }
        let counts = value.is_none() || is_pattern && !descriptor.shares;
        let (key, value) = (descriptor.key.clone(), descriptor.value.clone());
        Ok(Step { key, value, attribute, conditions, counts })
    }

    /// Adds the rule of the descriptor at the end of the path, if it has a limit.
    fn add_rule(&mut self, descriptor: &Descriptor) -> Result<(), Misplaced> {
        let (action, limits) = match descriptor.limit {
            // No other rule matches this path, so without a rule there is no limit.
            None | Some(RateLimit::Unlimited) => return Ok(()),
            Some(RateLimit::Requests { count: 0, .. }) => (Action::Deny, Vec::new()),
            Some(RateLimit::Requests { count: limit, window_ms }) => {
                (Action::Limit, vec![LimitBody::FixedWindow { limit, window_ms }])
            }
        };
        let keys: Vec<_> = self.path.iter().map(|step| step.key.as_str()).collect();
        let kind = keys.join(".");
        let mut conditions = vec![rule::condition(DESCRIPTOR_ATTRIBUTE, Op::Equals, &kind)];
        conditions.extend(self.path.iter().flat_map(|step| step.conditions.iter().cloned()));
        let counted = self.path.iter().filter(|step| step.counts && action == Action::Limit);
        let names = self.path.iter().flat_map(|step| [Some(step.key.clone()), step.value.clone()]);
        let names: Vec<_> = names.flatten().collect();
        let taken: Vec<_> = self.rules.iter().map(|rule| rule.name.clone()).collect();
        let identity = json!({ "namespace": self.namespace, "name": rule::name(&names, &taken) });
        let defaults: RuleBody = serde_json::from_value(identity)
            .map_err(|error| Misplaced::new(descriptor.at, error.to_string()))?;
        let body = RuleBody {
            conditions,
            count_by: counted.map(|step| step.attribute.as_str().into()).collect(),
            action,
            mode: match (descriptor.shadow, descriptor.quota) {
                (true, _) => Mode::Shadow,
                (false, true) => Mode::Report,
                (false, false) => Mode::Enforce,
            },
            limits,
            ..defaults
        };
        match body.clone().parse() {
            Ok(_) => self.rules.push(body),
            Err(wrong) => {
                let reasons =
                    wrong.iter().map(|wrong| format!("`{}` {}", wrong.field, wrong.reason));
                let text = format!("no rule: {}", reasons.collect::<Vec<_>>().join("; "));
                return Err(Misplaced::new(descriptor.at, text));
            }
        }
        Ok(())
    }
}

/// The conditions that exclude the values of a key that have descriptors of their own, from one with a pattern or without a value. Of
/// patterns that match the same value, the first one has it.
fn exclusions(
    descriptor: &Descriptor,
    siblings: &[Descriptor],
    attribute: &str,
) -> Result<Vec<ConditionBody>, Misplaced> {
    let value = descriptor.value.as_deref();
    let (mut values, mut conditions, mut precedes) = (Vec::new(), Vec::new(), true);
    for other in siblings.iter().filter(|other| other.key == descriptor.key) {
        let Some(other) = other.value.as_deref().filter(|other| Some(*other) != value) else {
            precedes &= other.value.as_deref() != value;
            continue;
        };
        match other.split_once('*') {
            None if value.is_none_or(|pattern| matches(pattern, other)) => {
                values.push(other.to_owned());
            }
            None => {}
            Some(_) if value.is_some_and(|value| !precedes || are_disjoint(value, other)) => {}
            Some((prefix, "")) => {
                conditions.push(rule::condition(attribute, Op::NotPrefix, prefix));
            }
            Some(("", suffix)) if !suffix.contains('*') => {
                conditions.push(rule::condition(attribute, Op::NotSuffix, suffix));
            }
            Some(_) => {
                let text = format!(
                    "`{}` beside the pattern `{other}`: no condition excludes this pattern",
                    descriptor.key
                );
                return Err(Misplaced::new(descriptor.at, text));
            }
        }
    }
    match values.as_slice() {
        [] => {}
        [one] => conditions.push(rule::condition(attribute, Op::NotEquals, one)),
        _ => conditions.push(ConditionBody {
            attribute: attribute.to_owned(),
            op: Op::NotOneOf,
            value: Some(OperandBody::Many(values)),
        }),
    }
    Ok(conditions)
}

/// Whether the beginnings or the ends of two patterns with `*` differ, so that no value matches both.
fn are_disjoint(a: &str, b: &str) -> bool {
    let ends = |text: &str| text.rsplit_once('*').map_or(0, |(_, last)| last.len());
    let (a_first, b_first) = (a.split('*').next().unwrap_or(a), b.split('*').next().unwrap_or(b));
    let (a_last, b_last) = (&a[a.len() - ends(a)..], &b[b.len() - ends(b)..]);
    !(a_first.starts_with(b_first) || b_first.starts_with(a_first))
        || !(a_last.ends_with(b_last) || b_last.ends_with(a_last))
}

/// Whether a pattern with `*` matches a value.
fn matches(pattern: &str, value: &str) -> bool {
    let Some((prefix, rest)) = pattern.split_once('*') else { return pattern == value };
    let Some(value) = value.strip_prefix(prefix) else { return false };
    (0..=value.len()).filter(|at| value.is_char_boundary(*at)).any(|at| matches(rest, &value[at..]))
}
