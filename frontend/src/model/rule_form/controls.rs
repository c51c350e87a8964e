//! The input of the controls that few rules have.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_domain::quantity::short;
use weir_wire::problem::FieldProblem;
use weir_wire::rules::{BlockBody, PriorityBody, RuleBody, ScheduleBody, Share};
use weir_wire::time::DateTime;

use super::NOT_WHOLE;
use crate::model::duration;
use crate::model::number::parse;

/// The input of the controls. An empty text means that the rule does not use the control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ControlsForm {
    /// The lengths of the blocks after the first one, separated by commas: `10 min, 1 d`.
    pub more_blocks: String,
    /// The time within which a block counts as a further one: `7 d`.
    pub block_memory: String,
    /// The attribute whose value is the class of a check.
    pub class_attribute: String,
    /// A class in each line, with the percentage that it leaves free: `batch 50`.
    pub classes: String,
    pub enforce_percent: String,
    pub zone: String,
    /// Days and hours in each line: `Mon-Fri 08:00-18:00`.
    pub weekly: String,
    pub from: String,
    pub until: String,
}

impl ControlsForm {
    /// The input that corresponds to an existing rule.
    pub(super) fn of(rule: &RuleBody) -> Self {
        let lengths = rule.block_ms.as_ref().map_or(&[][..], BlockBody::lengths_ms);
        let more = lengths.iter().skip(1).map(|ms| short(*ms)).collect::<Vec<_>>();
        let mut form = Self {
            more_blocks: more.join(", "),
            block_memory: rule.block_memory_ms.map(short).unwrap_or_default(),
            enforce_percent: rule.enforce_percent.map(|n| n.to_string()).unwrap_or_default(),
            ..Self::default()
        };
        if let Some(priority) = &rule.priority {
            form.class_attribute.clone_from(&priority.attribute);
            let class = |(class, share): (&String, &Share)| {
                format!("{class} {}", share.percent().trim_end_matches(" %"))
            };
            form.classes = priority.keep.iter().map(class).collect::<Vec<_>>().join("\n");
        }
        if let Some(active) = &rule.active {
            form.zone = active.zone.clone().unwrap_or_default();
            form.weekly = active.weekly.join("\n");
            form.from = active.from.map(DateTime::text).unwrap_or_default();
            form.until = active.until.map(DateTime::text).unwrap_or_default();
        }
        form
    }

    /// Whether the rule uses any of the controls.
    pub fn is_used(&self) -> bool {
        *self != Self::default()
    }

    /// Adds the controls to a rule, which has the first block already.
    pub(super) fn add_to(&self, rule: &mut RuleBody, wrong: &mut Vec<FieldProblem>) {
        self.add_blocks(rule, wrong);
        rule.priority = self.priority(wrong);
        rule.enforce_percent = filled(&self.enforce_percent).map(|text| {
            parse(text.trim_end_matches('%')).unwrap_or_else(|| {
                wrong.push(FieldProblem::new("enforce_percent", NOT_WHOLE));
                100
            })
        });
        rule.active = self.schedule(wrong);
    }

    fn add_blocks(&self, rule: &mut RuleBody, wrong: &mut Vec<FieldProblem>) {
        let Some(BlockBody::One(first)) = rule.block_ms else { return };
        let more: Option<Vec<u64>> = filled(&self.more_blocks)
            .map_or(Some(Vec::new()), |text| text.split(',').map(duration::of_text).collect());
        match more {
            Some(more) => rule.block_ms = BlockBody::of([vec![first], more].concat()),
            None => wrong.push(FieldProblem::new("more_blocks", NO_TIMES)),
        }
        rule.block_memory_ms = filled(&self.block_memory).map(|text| {
            duration::of_text(text).unwrap_or_else(|| {
                wrong.push(FieldProblem::new("block_memory_ms", NO_TIME));
                1
            })
        });
    }

    fn priority(&self, wrong: &mut Vec<FieldProblem>) -> Option<PriorityBody> {
        if self.class_attribute.trim().is_empty() && self.classes.trim().is_empty() {
            return None;
        }
        let class = |line: &str| {
            let (class, percent) = line.trim().trim_end_matches('%').trim().rsplit_once(' ')?;
            let share: f64 = percent.parse().ok()?;
            Some((class.trim().to_owned(), Share::try_from(share / 100.0).ok()?))
        };
        let lines = self.classes.lines().filter(|line| !line.trim().is_empty());
        let keep: Option<BTreeMap<_, _>> = lines.map(class).collect();
        if keep.is_none() {
            wrong.push(FieldProblem::new("priority.keep", NO_CLASSES));
        }
        let attribute = self.class_attribute.trim().to_owned();
        Some(PriorityBody { attribute, keep: keep.unwrap_or_default() })
    }

    fn schedule(&self, wrong: &mut Vec<FieldProblem>) -> Option<ScheduleBody> {
        let mut time = |field: &str, text: &str| {
            let text = filled(text)?;
            let at = serde_json::from_value(text.into()).ok();
            if at.is_none() {
                wrong.push(FieldProblem::new(field, NO_INSTANT));
            }
            at
        };
        let from = time("active.from", &self.from);
        let until = time("active.until", &self.until);
        let lines = self.weekly.lines().map(str::trim).filter(|line| !line.is_empty());
        let weekly: Vec<_> = lines.map(str::to_owned).collect();
        let zone = filled(&self.zone).map(str::to_owned);
        let active = ScheduleBody { zone, weekly, from, until };
        (active != ScheduleBody::default()).then_some(active)
    }
}

fn filled(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

const NO_TIME: &str = "must be a time such as 7 d";
const NO_TIMES: &str = "must be times such as 10 min, 1 d";
const NO_CLASSES: &str = "must be a class and a percentage in each line, such as batch 50";
const NO_INSTANT: &str = "must be a time such as 2027-01-31T08:00:00Z";
