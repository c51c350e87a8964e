//! Counts of steps of ten seconds that are not written yet. A decision belongs to the step in which the recorder collects it,
//! at most a second later, so a step that has ended never changes.

use std::collections::{BTreeMap, HashMap};

use weir_domain::latency::Latencies;
use weir_domain::time::Timestamp;
use weir_store::{STEP_MS, StepRow, TallyCounts};

use super::minute_counts::TallyKey;

/// The most rows in memory while Postgres is away. The oldest steps are dropped.
const ROWS_MAX: usize = 100_000;

/// The steps that are not written yet.
#[derive(Debug)]
pub(super) struct Steps {
    by_start: BTreeMap<i64, HashMap<TallyKey, Entry>>,
    present_ms: i64,
    rows_max: usize,
}

#[derive(Debug, Default)]
struct Entry {
    counts: TallyCounts,
    latencies: Latencies,
}

impl Default for Steps {
    fn default() -> Self {
        Self { by_start: BTreeMap::new(), present_ms: 0, rows_max: ROWS_MAX }
    }
}

impl Steps {
    /// The same, with a capacity of fewer rows.
    #[cfg(test)]
    pub(super) fn with_capacity(self, rows_max: usize) -> Self {
        Self { rows_max, ..self }
    }

    /// Begins a collection. What it adds belongs to the step of this time.
    pub(super) fn collect_at(&mut self, now: Timestamp) {
        self.present_ms = floor(now);
    }

    /// Drops the oldest steps beyond the capacity.
    pub(super) fn trim(&mut self) {
        while self.by_start.values().map(HashMap::len).sum::<usize>() > self.rows_max {
            self.by_start.pop_first();
        }
    }

    /// Adds counts to the present step.
    pub(super) fn add(
        &mut self,
        key: &TallyKey,
        counts: &TallyCounts,
        latencies: Option<&Latencies>,
    ) {
        let entry =
            self.by_start.entry(self.present_ms).or_default().entry(key.clone()).or_default();
        entry.counts.add(counts);
        if let Some(latencies) = latencies {
            entry.latencies.absorb(latencies);
        }
    }

    /// The rows of the steps that have ended.
    pub(super) fn ended(&self, now: Timestamp) -> Vec<StepRow> {
        let ended = self.by_start.range(..floor(now));
        let rows = ended.flat_map(|(at_ms, entries)| {
            entries.iter().map(|((tenant_id, rule_id, namespace), entry)| StepRow {
                tenant_id: *tenant_id,
                rule_id: *rule_id,
                at: Timestamp::from_millis(*at_ms),
                namespace: namespace.to_string(),
                counts: entry.counts,
                latencies: rule_id.is_none().then_some(entry.latencies),
            })
        });
        rows.collect()
    }

    /// Drops the steps that had ended, which are written.
    pub(super) fn written(&mut self, now: Timestamp) {
        self.by_start = self.by_start.split_off(&floor(now));
    }
}

fn floor(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(STEP_MS) * STEP_MS
}
