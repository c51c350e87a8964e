//! Sampled checks on their way to Postgres: gathered for five seconds, then a batch for each tenant and plan, which waits
//! until it is written.

use std::collections::{HashMap, VecDeque};

use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;
use weir_store::{SampleHead, SampleRow};
use weir_wire::recorded_checks::RecordedPlan;

use super::sample::{CHECKS_MAX, Sample};

/// The most batches that wait.
const BATCHES_MAX: usize = 2_000;
/// The most bytes of all waiting batches.
const WAITING_BYTES_MAX: usize = 16 << 20;
/// The most bytes that are gathered for the next batches.
const GATHERED_BYTES_MAX: usize = 16 << 20;
/// The most bytes that are gathered of one tenant.
const TENANT_BYTES_MAX: usize = GATHERED_BYTES_MAX / 4;

/// The samples that are not written yet.
#[derive(Debug, Default)]
pub(super) struct SampleBatches {
    gathered: HashMap<TenantId, Vec<Sample>>,
    gathered_bytes: usize,
    waiting: VecDeque<SampleRow>,
    lost: HashMap<TenantId, u64>,
}

impl SampleBatches {
    /// Adds the sample of one shard.
    pub(super) fn add(&mut self, tenant: TenantId, sample: &mut Sample) {
        if sample.checks_total() == 0 {
            return;
        }
        let gathered = self.gathered.get(&tenant).map_or(&[][..], Vec::as_slice);
        let own = TENANT_BYTES_MAX.saturating_sub(gathered.iter().map(Sample::bytes).sum());
        let free = own.min(GATHERED_BYTES_MAX.saturating_sub(self.gathered_bytes));
        while sample.bytes() > free {
            sample.shrink_to(sample.len() / 2);
        }
        let all = self.gathered.entry(tenant).or_default();
        match all.iter_mut().find(|known| known.plan() == sample.plan()) {
            Some(known) => {
                let before = known.bytes();
                known.absorb(sample);
                self.gathered_bytes = self.gathered_bytes + known.bytes() - before;
            }
            None => {
                self.gathered_bytes += sample.bytes();
                all.push(sample.split());
            }
        }
    }

    /// Makes batches of the gathered checks. The batches wait to be written.
    pub(super) fn cut(&mut self, now: Timestamp) {
        self.gathered_bytes = 0;
        for (tenant_id, mut samples) in std::mem::take(&mut self.gathered) {
            fit(&mut samples);
            for (part, sample) in samples.into_iter().enumerate() {
                let lost = self.lost.remove(&tenant_id).unwrap_or(0);
                let part = i16::try_from(part).unwrap_or(i16::MAX);
                self.waiting.push_back(row(tenant_id, part, sample, lost, now));
            }
        }
        self.enforce_shares();
        let mut bytes: usize = self.waiting.iter().map(|batch| batch.checks.len()).sum();
        while self.waiting.len() > BATCHES_MAX || bytes > WAITING_BYTES_MAX {
            let Some(dropped) = self.waiting.pop_front() else { break };
            bytes -= dropped.checks.len();
            *self.lost.entry(dropped.tenant_id).or_default() +=
                dropped.head.seen + dropped.head.lost;
        }
    }

    /// Drops the oldest batches of tenants that have more than their share.
    fn enforce_shares(&mut self) {
        let mut weights: HashMap<TenantId, usize> = HashMap::new();
        for batch in &self.waiting {
            *weights.entry(batch.tenant_id).or_default() += weight(batch);
        }
        let Self { waiting, lost, .. } = self;
        waiting.retain(|batch| {
            let Some(own) = weights.get_mut(&batch.tenant_id) else { return true };
            let stays = *own <= WAITING_BYTES_MAX / 4;
            if !stays {
                *own -= weight(batch);
                *lost.entry(batch.tenant_id).or_default() += batch.head.seen + batch.head.lost;
            }
            stays
        });
    }

    /// Takes the batches that wait. Pass those that cannot be written to [`SampleBatches::restore`].
    pub(super) fn take(&mut self) -> Vec<SampleRow> {
        std::mem::take(&mut self.waiting).into()
    }

    pub(super) fn restore(&mut self, rows: Vec<SampleRow>) {
        for row in rows.into_iter().rev() {
            self.waiting.push_front(row);
        }
    }
}

/// The part of its tenant's share that a batch uses: even a small one is one of [`BATCHES_MAX`].
fn weight(batch: &SampleRow) -> usize {
    WAITING_BYTES_MAX / BATCHES_MAX + batch.checks.len()
}

/// Reduces the samples of a tenant to the number of checks that one tenant can have, each in proportion.
fn fit(samples: &mut [Sample]) {
    let total: usize = samples.iter().map(Sample::len).sum();
    if total > CHECKS_MAX {
        for sample in samples {
            sample.shrink_to(sample.len() * CHECKS_MAX / total);
        }
    }
}

fn row(tenant_id: TenantId, part: i16, sample: Sample, lost: u64, until: Timestamp) -> SampleRow {
    let plan = RecordedPlan::of(sample.plan());
    let head = SampleHead {
        namespace: sample.plan().namespace().to_owned(),
        since: sample.since().unwrap_or(until),
        until,
        threshold: sample.threshold(),
        seen: sample.checks_total(),
        recorded: sample.len() as u64,
        lost,
        plan: serde_json::to_value(plan).expect("names serialise"),
    };
    let checks =
        serde_json::to_string(&sample.into_recorded()).expect("texts and numbers serialise");
    SampleRow { tenant_id, part, head, checks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(tenant: u128, bytes: usize) -> SampleRow {
        let at = Timestamp::from_millis(0);
        let head = SampleHead {
            namespace: "default".to_owned(),
            since: at,
            until: at,
            threshold: 0,
            seen: 1,
            recorded: 1,
            lost: 0,
            plan: serde_json::Value::Null,
        };
        let checks = "x".repeat(bytes);
        SampleRow { tenant_id: TenantId::from_u128(tenant), part: 0, head, checks }
    }

    #[test]
    fn tenant_with_many_batches_evicts_its_own() {
        let mut batches = SampleBatches::default();
        batches.waiting.push_back(batch(1, 10));
        batches.waiting.extend((0..40).map(|_| batch(2, 1 << 20)));
        batches.cut(Timestamp::from_millis(1));
        let of = |tenant| {
            let tenant = TenantId::from_u128(tenant);
            batches.waiting.iter().filter(move |batch| batch.tenant_id == tenant).count()
        };
        assert_eq!((of(1), of(2)), (1, 3));
    }
}
