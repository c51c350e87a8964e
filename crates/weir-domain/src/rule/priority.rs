//! Priority: classes of checks that leave a share of each limit to others.
//!
//! A check whose class keeps the share `k` of a limit of `n` units passes exactly if it would pass at a limit of
//! `n − ⌈k × n⌉` units: that many are left free. All classes count in the same counter, so nothing is free in vain while the
//! others are idle.

use super::segment::Segment;
use crate::algorithm::Algorithm;
use crate::draft::{Action, Consistency, PriorityDraft, RuleDraft};
use crate::limit::Limit;
use crate::names::{self, InvalidField};

/// The most classes of a rule.
pub const CLASSES_MAX: usize = 16;
/// A share of 1, in thousandths.
pub const WHOLE: u16 = 1000;

/// The classes of a rule's checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Priority(PriorityDraft);

/// The units of a limit that a class leaves free, of a share in thousandths.
pub fn keep_units(share: u16, limit: u64) -> u64 {
    (u64::from(share) * limit).div_ceil(u64::from(WHOLE))
}

impl Priority {
    pub(super) fn parse(
        draft: &RuleDraft,
        limits: &[Limit],
        wrong: &mut Vec<InvalidField>,
    ) -> Option<Self> {
        let priority = draft.priority.as_ref()?;
        let before = wrong.len();
        let mut refuse = |field: &str, reason: String| wrong.push(InvalidField::new(field, reason));
        if draft.action != Action::Limit {
            refuse("priority", "must be null unless the action is `limit`".to_owned());
        } else if draft.consistency != Consistency::Exact {
            let consistency = draft.consistency.as_str();
            refuse("priority", format!("must be null with the consistency `{consistency}`"));
        } else if limits.iter().any(|limit| matches!(limit.algorithm, Algorithm::Spacing(_))) {
            refuse("priority", "must be null with a limit of the algorithm `spacing`".to_owned());
        }
        if let Err(reason) = names::attribute(&priority.attribute) {
            refuse("priority.attribute", reason.to_owned());
        }
        if !(1..=CLASSES_MAX).contains(&priority.keep.len()) {
            refuse("priority.keep", format!("must hold from 1 to {CLASSES_MAX} classes"));
        }
        for (class, share) in &priority.keep {
            let field = format!("priority.keep.{class}");
            let blocked = limits.iter().position(|limit| {
                let limit = limit.algorithm.limit();
                keep_units(*share, limit) >= limit
            });
            if let Err(reason) = names::value(class) {
                refuse("priority.keep", format!("has a class that {reason}"));
            } else if *share > WHOLE {
                refuse(&field, "must be from 0 to 1".to_owned());
            } else if let Some(at) = blocked {
                let reason = format!("leaves nothing of limits[{at}], so no check could ever pass");
                refuse(&field, reason);
            }
        }
        (wrong.len() == before).then(|| Self(priority.clone()))
    }

    /// The share that a check must leave free, in thousandths. A check without the attribute counts as the class that keeps most.
    pub(crate) fn share<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> u16 {
        match value(&self.0.attribute) {
            Some(class) => self.0.keep.get(class).copied().unwrap_or(0),
            None => self.0.keep.values().copied().max().unwrap_or(0),
        }
    }

    /// The segment of a check's class.
    pub(super) fn class<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> Segment<'_> {
        match value(&self.0.attribute).map(|class| self.0.keep.get_key_value(class)) {
            Some(Some((class, _))) => Segment::Class(class),
            Some(None) => Segment::OtherClasses,
            None => Segment::NoClass,
        }
    }

    pub(crate) fn draft(&self) -> &PriorityDraft {
        &self.0
    }
}
