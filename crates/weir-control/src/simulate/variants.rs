//! The variants of a changed rule, each replayed as if all subjects had it.

use std::sync::Arc;
use std::time::Instant;

use weir_domain::overrides::Overrides;
use weir_domain::rule::Segment;
use weir_domain::rulebook::ActiveRule;
use weir_wire::simulate::SimulatedVariant;

use super::certainty::float;
use super::replay::{Replay, TooSlow};
use crate::experiment::{DeniedSubjects, times_needed};

/// Replays each variant alone. `rate` is the share of the subjects that are replayed.
pub(super) fn variants(
    mut replay: Replay,
    rate: f64,
    deadline: Instant,
) -> Result<Vec<SimulatedVariant>, TooSlow> {
    let rule = Arc::clone(&replay.candidate);
    let only = |at| {
        let rule = ActiveRule::new(rule.id, rule.rule.with_variant(at)?, Overrides::default());
        Some(Arc::new(rule))
    };
    let variants = rule.rule.all_segments().into_iter().filter_map(|segment| match segment {
        (Segment::Variant(name), Some(percent)) => Some((name, percent)),
        _ => None,
    });
    let variants: Vec<_> = variants.collect();
    let length_s =
        (replay.steps.to.as_millis() - replay.steps.from.as_millis()).unsigned_abs() / 1_000;
    replay.present = None;
    let mut first = None;
    let mut found: Vec<SimulatedVariant> = Vec::with_capacity(variants.len());
    for (at, (name, percent)) in variants.iter().enumerate() {
        let Some(only) = only(at) else { break };
        replay.candidate = only;
        let outcome = replay.run(deadline)?;
        let counted = outcome.counted();
        let denied = counted.iter().filter(|subject| subject.denied_after > 0).count() as u64;
        let own = DeniedSubjects { subjects: float(denied) / rate, percent: float(*percent) };
        let times = first.and_then(|first| times_needed(first, own));
        first.get_or_insert(own);
        found.push(SimulatedVariant {
            name: (*name).to_owned(),
            denied: outcome.candidate.denied,
            subjects_denied: denied,
            needed_s: times.map(|times| whole(times * float(length_s))),
        });
    }
    Ok(found)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time; too long ones become the greatest number"
)]
fn whole(seconds: f64) -> u64 {
    seconds.ceil() as u64
}
