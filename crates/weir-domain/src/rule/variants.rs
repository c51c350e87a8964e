//! Variants: limits that an experiment compares.
//!
//! All variants have the same algorithms in the same order. So they use the same counters, and a subject whose variant changes, or
//! whose experiment ends, keeps what it has used.

use std::sync::Arc;

use crate::draft::{Action, Consistency, LimitDraft, RuleDraft, VariantDraft};
use crate::limit::{LIMITS_PER_RULE_MAX, Limit, parse_limits};
use crate::names::{self, InvalidField};

/// The fewest variants of a rule that has any.
pub const VARIANTS_MIN: usize = 2;
/// The most variants of a rule.
pub const VARIANTS_MAX: usize = 4;

/// One variant of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variant {
    draft: VariantDraft,
    /// The place of the first subject that does not have it: the percentages up to and with its own.
    pub(super) up_to: u64,
    /// The limits, with the slots of the rule's.
    pub(crate) limits: Arc<[Limit]>,
}

pub(super) fn parse(draft: &RuleDraft, wrong: &mut Vec<InvalidField>) -> Box<[Variant]> {
    let drafts = &draft.variants;
    if drafts.is_empty() {
        return Box::default();
    }
    if let Some(reason) = refusal(draft) {
        wrong.push(InvalidField::new("variants", reason));
        return Box::default();
    }
    let mut up_to = 0;
    let mut variants: Vec<Variant> = Vec::with_capacity(drafts.len());
    for (at, variant) in drafts.iter().enumerate() {
        let path = format!("variants[{at}]");
        if let Err(reason) = names::rule(&variant.name) {
            wrong.push(InvalidField::new(format!("{path}.name"), reason));
        } else if drafts[..at].iter().any(|other| other.name == variant.name) {
            wrong.push(InvalidField::new(format!("{path}.name"), "must not be used twice"));
        }
        let path = format!("{path}.limits");
        let limits = parse_limits(&variant.limits, &path, wrong);
        if !(1..=LIMITS_PER_RULE_MAX).contains(&variant.limits.len()) {
            let reason = format!("must hold from 1 to {LIMITS_PER_RULE_MAX} limits");
            wrong.push(InvalidField::new(&path, reason));
        } else if !same_algorithms(&variant.limits, &drafts[0].limits) {
            let reason =
                "must have the same algorithms, in the same order, as those of variants[0]";
            wrong.push(InvalidField::new(&path, reason));
        }
        up_to += variant.percent;
        variants.push(Variant { draft: variant.clone(), up_to, limits: limits.into() });
    }
    variants.into()
}

/// The reason to refuse the variants as a whole.
fn refusal(draft: &RuleDraft) -> Option<String> {
    let percents = draft.variants.iter().map(|variant| variant.percent);
    let is_share = percents.clone().all(|percent| (1..100).contains(&percent));
    let sum = percents.fold(0, u64::saturating_add);
    if !(VARIANTS_MIN..=VARIANTS_MAX).contains(&draft.variants.len()) {
        Some(format!("must hold from {VARIANTS_MIN} to {VARIANTS_MAX} variants"))
    } else if draft.action != Action::Limit {
        Some("must be empty unless the action is `limit`".to_owned())
    } else if draft.consistency != Consistency::Exact {
        Some(format!("must be empty with the consistency `{}`", draft.consistency.as_str()))
    } else if draft.count_by.is_empty() {
        Some("must be empty unless the rule has `count_by`: without it, all requests are one subject".to_owned())
    } else if !is_share {
        Some("must have percentages from 1 to 99".to_owned())
    } else if sum != 100 {
        Some(format!("must have percentages that sum to 100; they sum to {sum}"))
    } else {
        None
    }
}

fn same_algorithms(limits: &[LimitDraft], others: &[LimitDraft]) -> bool {
    let kinds = limits.iter().map(LimitDraft::kind);
    kinds.eq(others.iter().map(LimitDraft::kind))
}

impl Variant {
    pub(crate) fn draft(&self) -> &VariantDraft {
        &self.draft
    }

    /// The variant with the slots of the rule's limits.
    pub(super) fn with_slots(&self, slots: &[u16]) -> Self {
        let limits = self.limits.iter().zip(slots);
        let limits = limits.map(|(limit, slot)| Limit { slot: *slot, ..limit.clone() });
        Self { limits: limits.collect(), ..self.clone() }
    }
}
