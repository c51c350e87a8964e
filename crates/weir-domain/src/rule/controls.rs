//! The controls of a rule that few rules have, checked.

use std::sync::Arc;

use super::priority::Priority;
use super::schedule::Schedule;
use super::variants::Variant;
use crate::draft::{Mode, RuleDraft};
use crate::fnv::{BASIS, fnv1a};
use crate::id::RuleId;
use crate::limit::{Limit, span_ms};
use crate::names::InvalidField;
use crate::subject::SubjectKey;

/// The controls of a rule. Most rules have none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Controls {
    pub(crate) blocks: Option<Arc<Blocks>>,
    pub(crate) priority: Option<Priority>,
    pub(crate) enforce_percent: Option<u64>,
    pub(crate) variants: Box<[Variant]>,
    pub(crate) schedule: Option<Schedule>,
}

/// The lengths of the blocks of a subject that follow one another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Blocks {
    /// The length of each block in milliseconds, the first one first. The last one repeats.
    pub lengths_ms: Box<[u64]>,
    /// The time after the end of a block in which the next one counts as a further one, in milliseconds.
    pub memory_ms: u64,
}

/// The part that a rule plays for one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part<'r> {
    /// The mode in which the rule decides.
    pub(crate) mode: Mode,
    /// The position of the variant, and its limits.
    pub(crate) variant: Option<(u8, &'r Arc<[Limit]>)>,
}

impl Blocks {
    /// The length of the n-th block within the memory, counted from 1, in milliseconds.
    pub fn length_ms(&self, number: u64) -> u64 {
        let at = usize::try_from(number.max(1) - 1).unwrap_or(usize::MAX);
        self.lengths_ms.get(at).or(self.lengths_ms.last()).copied().unwrap_or(0)
    }
}

impl Controls {
    /// The controls of a draft, of which all fields that are shared with other rules are checked already. `None`: it has none.
    pub(super) fn parse(
        draft: &RuleDraft,
        limits: &[Limit],
        wrong: &mut Vec<InvalidField>,
    ) -> Option<Arc<Self>> {
        let controls = Self {
            blocks: blocks(draft, wrong),
            priority: Priority::parse(draft, limits, wrong),
            enforce_percent: enforce_percent(draft, wrong),
            variants: super::variants::parse(draft, wrong),
            schedule: Schedule::parse(draft, wrong),
        };
        (controls != Self::default()).then(|| Arc::new(controls))
    }

    /// The part that a rule of this mode plays for a subject, which stays the same as long as the percentages do.
    pub(crate) fn part(
        &self,
        mode: Mode,
        rule: RuleId,
        subject: impl FnOnce() -> SubjectKey,
    ) -> Part<'_> {
        if self.enforce_percent.is_none() && self.variants.is_empty() {
            return Part { mode, variant: None };
        }
        let place = place(rule, subject());
        let is_out = self.enforce_percent.is_some_and(|percent| place >= percent);
        let variant = self.variants.iter().zip(0..).find(|(variant, _)| place < variant.up_to);
        Part {
            mode: if is_out && mode == Mode::Enforce { Mode::Shadow } else { mode },
            variant: variant.map(|(variant, at)| (at, &variant.limits)),
        }
    }
}

/// The blocks of a draft that has several lengths.
fn blocks(draft: &RuleDraft, wrong: &mut Vec<InvalidField>) -> Option<Arc<Blocks>> {
    let reason = match (draft.block_ms.len(), draft.block_memory_ms) {
        (0 | 1, None) => return None,
        (0 | 1, Some(_)) => "must be null unless `block_ms` has several lengths".to_owned(),
        (_, None) => "must be given if `block_ms` has several lengths".to_owned(),
        (_, Some(memory_ms)) => match span_ms("block_memory_ms", memory_ms) {
            Err(invalid) => invalid.reason,
            Ok(_) => {
                let lengths_ms = draft.block_ms.clone().into();
                return Some(Arc::new(Blocks { lengths_ms, memory_ms }));
            }
        },
    };
    wrong.push(InvalidField::new("block_memory_ms", reason));
    None
}

/// The place of a subject among the subjects of a rule, from 0 to 99. Each rule orders subjects in another way.
fn place(rule: RuleId, subject: SubjectKey) -> u64 {
    let hash = fnv1a(BASIS, &rule.to_u128().to_be_bytes());
    // The upper half has mixed with all bytes.
    (fnv1a(hash, &subject.0.to_be_bytes()) >> 32) % 100
}

fn enforce_percent(draft: &RuleDraft, wrong: &mut Vec<InvalidField>) -> Option<u64> {
    let percent = draft.enforce_percent?;
    let reason = if !(1..=100).contains(&percent) {
        "must be from 1 to 100"
    } else if draft.count_by.is_empty() {
        "must be null unless the rule has `count_by`: without it, all requests are one subject"
    } else if !draft.variants.is_empty() {
        "must be null with `variants`"
    } else {
        return (percent < 100).then_some(percent);
    };
    wrong.push(InvalidField::new("enforce_percent", reason));
    None
}

#[cfg(test)]
mod tests;
