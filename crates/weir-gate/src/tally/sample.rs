//! Checks kept for what-if runs: those of the subjects with the least marks, as many as there is room.
//!
//! When there is no room, the threshold falls and everything above it goes, what is there and what
//! comes. So of each subject that is left all is there.

use std::collections::HashMap;
use std::sync::Arc;

use weir_domain::names::ATTRIBUTES_MAX;
use weir_domain::request::{Operation, Request};
use weir_domain::sample::{ALL, KEPT_BYTES_MAX, SamplePlan, kept_value};
use weir_domain::time::Timestamp;
use weir_wire::kept::KeptChecks;

/// Most checks of a tenant in one piece, which is of five seconds.
pub(super) const KEPT_MAX: usize = 1_000;
/// And so many bytes of a namespace.
const BYTES_MAX: usize = 1 << 20;

/// What a check with the most and longest attributes takes up.
const CHECK_BYTES_MAX: usize = 128 + ATTRIBUTES_MAX * (KEPT_BYTES_MAX + 32);

/// What is kept of a namespace by one plan.
#[derive(Debug)]
pub(super) struct Sample {
    plan: Arc<SamplePlan>,
    threshold: u32,
    seen: u64,
    /// When the first was seen.
    since: Option<Timestamp>,
    kept: Vec<Kept>,
    /// What they take up in memory, about.
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    mark: u32,
    at: Timestamp,
    /// In the order of the plan's attributes.
    values: Vec<Option<String>>,
    /// Below 0: given back.
    cost: i64,
}

impl Sample {
    pub(super) fn new(plan: Arc<SamplePlan>) -> Self {
        Self { plan, threshold: ALL, seen: 0, since: None, kept: Vec::new(), bytes: 0 }
    }

    pub(super) fn plan(&self) -> &SamplePlan {
        &self.plan
    }

    /// Whether it is kept by this plan.
    pub(super) fn is_by(&self, plan: &Arc<SamplePlan>) -> bool {
        Arc::ptr_eq(&self.plan, plan) || self.plan == *plan
    }

    /// Sees a check, and keeps it if its subject is kept. `chance` is the mark of who has no subject;
    /// `room` says for how many more bytes there is room here and elsewhere.
    pub(super) fn offer(
        &mut self,
        request: &Request,
        at: Timestamp,
        chance: u32,
        room: &mut usize,
    ) {
        self.seen += 1;
        self.since = Some(self.since.map_or(at, |since| since.min(at)));
        let mark = self.plan.mark(request).unwrap_or(chance);
        let full =
            self.kept.len() >= KEPT_MAX || self.bytes >= BYTES_MAX || *room < CHECK_BYTES_MAX;
        if mark <= self.threshold && full {
            *room += self.shrink_to(self.kept.len() * 3 / 4);
        }
        if mark > self.threshold {
            return;
        }
        if *room < CHECK_BYTES_MAX {
            *room += self.lower(mark.saturating_sub(1));
            return;
        }
        let value = |name: &String| request.attribute(name).map(|it| kept_value(it).into_owned());
        let values = self.plan.attributes().iter().map(value).collect();
        let cost = i64::try_from(request.cost()).unwrap_or(i64::MAX);
        let cost = if request.operation() == Operation::Refund { -cost } else { cost };
        let kept = Kept { mark, at, values, cost };
        let bytes = kept.bytes();
        self.bytes += bytes;
        *room = room.saturating_sub(bytes);
        self.kept.push(kept);
    }

    /// Lets go of subjects until at most so many checks are left; how many bytes went.
    pub(super) fn shrink_to(&mut self, most: usize) -> usize {
        if self.kept.len() > most {
            let mut marks: Vec<u32> = self.kept.iter().map(|it| it.mark).collect();
            let (_, first_out, _) = marks.select_nth_unstable(most);
            return self.lower(first_out.saturating_sub(1));
        }
        0
    }

    /// Lowers the threshold, unless it is lower; how many bytes went.
    fn lower(&mut self, threshold: u32) -> usize {
        let before = self.bytes;
        if threshold < self.threshold {
            self.threshold = threshold;
            self.kept.retain(|it| it.mark <= threshold);
            self.bytes = self.kept.iter().map(Kept::bytes).sum();
        }
        before - self.bytes
    }

    /// Takes in what another kept by the same plan.
    pub(super) fn absorb(&mut self, other: &mut Self) {
        self.lower(other.threshold);
        self.seen += other.seen;
        self.since = self.since.into_iter().chain(other.since).min();
        let threshold = self.threshold;
        self.kept.extend(other.kept.drain(..).filter(|it| it.mark <= threshold));
        other.bytes = 0;
        self.bytes = self.kept.iter().map(Kept::bytes).sum();
        self.shrink_to(KEPT_MAX);
        while self.bytes > BYTES_MAX {
            self.shrink_to(self.kept.len() / 2);
        }
    }

    /// What was kept so far, as a sample of its own.
    pub(super) fn split(&mut self) -> Self {
        let (kept, bytes) = (std::mem::take(&mut self.kept), std::mem::take(&mut self.bytes));
        Self { plan: Arc::clone(&self.plan), kept, bytes, ..*self }
    }

    /// Begins anew: nothing seen, and room for more subjects, as long as there is.
    pub(super) fn restart(&mut self) {
        (self.seen, self.since, self.bytes) = (0, None, 0);
        self.kept.clear();
        self.threshold = self.threshold.saturating_mul(2).saturating_add(1);
    }

    pub(super) fn threshold(&self) -> u32 {
        self.threshold
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn since(&self) -> Option<Timestamp> {
        self.since
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn kept(&self) -> usize {
        self.kept.len()
    }

    /// The checks in the order of time, as they are stored.
    pub(super) fn checks(mut self) -> KeptChecks {
        self.kept.sort_by_key(|it| it.at);
        let since_ms = self.since.unwrap_or_default().as_millis();
        let mut known = HashMap::new();
        let mut stored = KeptChecks::default();
        for it in self.kept {
            let place = *known.entry(it.values).or_insert_with_key(|values| {
                stored.values.push(values.clone());
                u32::try_from(stored.values.len() - 1).unwrap_or(u32::MAX)
            });
            let after_ms = u32::try_from(it.at.as_millis() - since_ms).unwrap_or(0);
            stored.checks.push((after_ms, place, it.cost));
        }
        stored
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        let of_value = |it: &Option<String>| size_of_val(it) + it.as_ref().map_or(0, String::len);
        size_of_val(self) + self.values.iter().map(of_value).sum::<usize>()
    }
}

#[cfg(test)]
mod tests;
