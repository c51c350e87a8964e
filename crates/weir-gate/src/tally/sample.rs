//! Checks sampled for what-if runs: those of the subjects with the lowest marks.
//!
//! When the sample is full, its threshold falls, and the checks of all subjects above it are dropped, present and future
//! ones. So the sample holds every check of each subject that it holds.

use std::collections::HashMap;
use std::sync::Arc;

use weir_domain::names::ATTRIBUTES_MAX;
use weir_domain::request::{Operation, Request};
use weir_domain::sample::{ALL, MARK_MIN, RECORDED_BYTES_MAX, SamplePlan, recorded_value};
use weir_domain::time::Timestamp;
use weir_wire::recorded_checks::RecordedChecks;

/// The most checks of a tenant in one batch, which covers five seconds.
pub(super) const CHECKS_MAX: usize = 1_000;
/// The most bytes of one sample.
const BYTES_MAX: usize = 1 << 20;

/// The size of a check with the most and longest attributes.
const CHECK_BYTES_MAX: usize = 128 + ATTRIBUTES_MAX * (RECORDED_BYTES_MAX + 32);

/// The sampled checks of a namespace by one plan.
#[derive(Debug)]
pub(super) struct Sample {
    plan: Arc<SamplePlan>,
    threshold: u32,
    /// The number of checks that were offered, sampled or not.
    checks_total: u64,
    /// The time of the first check that was offered.
    since: Option<Timestamp>,
    checks: Vec<SampledCheck>,
    /// The approximate size of `checks` in memory.
    bytes: usize,
}

#[derive(Debug)]
struct SampledCheck {
    mark: u32,
    at: Timestamp,
    /// The values of the plan's attributes, in its order.
    values: Vec<Option<String>>,
    /// The cost of the check; negative for a refund.
    cost: i64,
}

impl Sample {
    pub(super) fn new(plan: Arc<SamplePlan>) -> Self {
        Self { plan, threshold: ALL, checks_total: 0, since: None, checks: Vec::new(), bytes: 0 }
    }

    pub(super) fn plan(&self) -> &SamplePlan {
        &self.plan
    }

    /// Whether the sample follows this plan.
    pub(super) fn is_by(&self, plan: &Arc<SamplePlan>) -> bool {
        Arc::ptr_eq(&self.plan, plan) || self.plan == *plan
    }

    /// Counts a check, and samples it if its subject is sampled. `chance` is the mark of a check without a subject; `free`
    /// is the number of bytes that all samples together can still use.
    pub(super) fn offer(
        &mut self,
        request: &Request,
        at: Timestamp,
        chance: u32,
        free: &mut usize,
    ) {
        self.checks_total += 1;
        self.since = Some(self.since.map_or(at, |since| since.min(at)));
        let mark = self.plan.mark(request).unwrap_or(chance.max(MARK_MIN));
        let full =
            self.checks.len() >= CHECKS_MAX || self.bytes >= BYTES_MAX || *free < CHECK_BYTES_MAX;
        if mark <= self.threshold && full {
            *free += self.shrink_to(self.checks.len() * 3 / 4);
        }
        if mark > self.threshold {
            return;
        }
        if *free < CHECK_BYTES_MAX {
            *free += self.lower(mark.saturating_sub(1));
            return;
        }
        let value =
            |name: &String| request.attribute(name).map(|value| recorded_value(value).into_owned());
        let values = self.plan.attributes().iter().map(value).collect();
        let cost = i64::try_from(request.cost()).unwrap_or(i64::MAX);
        let cost = if request.operation() == Operation::Refund { -cost } else { cost };
        let check = SampledCheck { mark, at, values, cost };
        let bytes = check.bytes();
        self.bytes += bytes;
        *free = free.saturating_sub(bytes);
        self.checks.push(check);
    }

    /// Drops subjects until at most `most` checks are left, at least one subject if there are more. Returns the number of
    /// bytes freed.
    pub(super) fn shrink_to(&mut self, most: usize) -> usize {
        if self.checks.len() > most {
            let mut marks: Vec<u32> = self.checks.iter().map(|check| check.mark).collect();
            let (_, first_out, _) = marks.select_nth_unstable(most);
            return self.lower(first_out.saturating_sub(1));
        }
        0
    }

    /// Lowers the threshold, unless it is lower already. Returns the number of bytes freed.
    fn lower(&mut self, threshold: u32) -> usize {
        let before = self.bytes;
        if threshold < self.threshold {
            self.threshold = threshold;
            self.checks.retain(|check| check.mark <= threshold);
            self.bytes = self.checks.iter().map(SampledCheck::bytes).sum();
        }
        before - self.bytes
    }

    /// Moves the checks of another sample of the same plan into this one.
    pub(super) fn absorb(&mut self, other: &mut Self) {
        self.lower(other.threshold);
        self.checks_total += other.checks_total;
        self.since = self.since.into_iter().chain(other.since).min();
        let threshold = self.threshold;
        self.checks.extend(other.checks.drain(..).filter(|check| check.mark <= threshold));
        other.bytes = 0;
        self.bytes = self.checks.iter().map(SampledCheck::bytes).sum();
        self.shrink_to(CHECKS_MAX);
        while self.bytes > BYTES_MAX {
            self.shrink_to(self.checks.len() / 2);
        }
    }

    /// Takes the checks out, as a sample of their own.
    pub(super) fn split(&mut self) -> Self {
        let checks = std::mem::take(&mut self.checks);
        let bytes = std::mem::take(&mut self.bytes);
        Self { plan: Arc::clone(&self.plan), checks, bytes, ..*self }
    }

    /// Empties the sample and doubles its threshold, so that it grows again after a busy time.
    pub(super) fn restart(&mut self) {
        (self.checks_total, self.since, self.bytes) = (0, None, 0);
        self.checks.clear();
        self.threshold = self.threshold.saturating_mul(2).saturating_add(1);
    }

    pub(super) fn threshold(&self) -> u32 {
        self.threshold
    }

    /// The number of checks that were offered, sampled or not.
    pub(super) fn checks_total(&self) -> u64 {
        self.checks_total
    }

    pub(super) fn since(&self) -> Option<Timestamp> {
        self.since
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.checks.len()
    }

    /// The checks in the order of time, as they are stored.
    pub(super) fn into_recorded(mut self) -> RecordedChecks {
        self.checks.sort_by_key(|check| check.at);
        let since_ms = self.since.unwrap_or_default().as_millis();
        let mut known = HashMap::new();
        let mut stored = RecordedChecks::default();
        for check in self.checks {
            let place = *known.entry(check.values).or_insert_with_key(|values| {
                stored.values.push(values.clone());
                u32::try_from(stored.values.len() - 1).unwrap_or(u32::MAX)
            });
            let after_ms = u32::try_from(check.at.as_millis() - since_ms).unwrap_or(0);
            stored.checks.push((after_ms, place, check.cost));
        }
        stored
    }
}

impl SampledCheck {
    fn bytes(&self) -> usize {
        let of_value =
            |value: &Option<String>| size_of_val(value) + value.as_ref().map_or(0, String::len);
        size_of_val(self) + self.values.iter().map(of_value).sum::<usize>()
    }
}

#[cfg(test)]
mod tests;
