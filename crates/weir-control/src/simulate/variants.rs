//! The variants of a changed rule, each replayed as if all subjects had it.

use std::sync::Arc;
use std::time::Instant;

use weir_domain::overrides::Overrides;
use weir_domain::rule::Segment;
use weir_domain::rulebook::ActiveRule;
use weir_wire::simulate::SimulatedVariant;

use super::outcome::Counted;
use super::replay::{Replay, TooSlow};
use crate::experiment::{DeniedSubjects, times_needed};

/// Replays the first variant beside each other one. `rate` is the share of the subjects that are replayed.
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
    let mut found: Vec<SimulatedVariant> = Vec::with_capacity(variants.len());
    replay.present = only(0);
    for (at, (name, percent)) in variants.iter().enumerate().skip(1) {
        let Some(other) = only(at) else { break };
        replay.candidate = other;
        let outcome = replay.run(deadline)?;
        let counted = outcome.counted();
        let first = subjects(&counted, |subject| subject.denied_before);
        let own = subjects(&counted, |subject| subject.denied_after);
        let denied = |subjects, percent: u64| DeniedSubjects {
            subjects: float(subjects) / rate,
            percent: float(percent),
        };
        let times = times_needed(denied(first, variants[0].1), denied(own, *percent));
        let needed_s = times.map(|times| whole(times * float(length_s)));
        if found.is_empty() {
            let name = variants[0].0.to_owned();
            let denied = outcome.present.denied;
            let first = SimulatedVariant { name, denied, subjects_denied: first, needed_s: None };
            found.push(first);
        }
        found.push(SimulatedVariant {
            name: (*name).to_owned(),
            denied: outcome.candidate.denied,
            subjects_denied: own,
            needed_s,
        });
    }
    Ok(found)
}

fn subjects(counted: &[Counted], denied: fn(&Counted) -> u64) -> u64 {
    counted.iter().filter(|subject| denied(subject) > 0).count() as u64
}

#[expect(clippy::cast_precision_loss, reason = "counts and times are far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time; too long ones become the greatest number"
)]
fn whole(seconds: f64) -> u64 {
    seconds.ceil() as u64
}
