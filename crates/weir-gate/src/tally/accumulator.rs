//! The absolute counts of this run that are not final in Postgres yet. Only the recorder uses them.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use weir_domain::id::{DenialId, KeyId, TenantId};
use weir_domain::latency::Latencies;
use weir_domain::time::Timestamp;
use weir_domain::unmatched::UNKNOWN_NAMESPACE_RULE;
use weir_store::{
    DENIALS_PER_SECOND, DenialRow, DropCount, KeyHourRow, SKETCH_MS, SketchEntry, SketchRow,
    StepRow, TallyCounts, TallyRow,
};

use super::Tally;
use super::customers::CustomerDays;
use super::key_uses::KeyUses;
use super::minute_counts::{Denial, MINUTE_MS, MinuteCounts, Shard, TallyKey, TenantCounts, floor};
use super::sample_batch::SampleBatches;
use super::sketch::Sketch;
use super::steps::Steps;
use super::subject_text::subject;
use crate::metrics::traffic::TrafficCounts;

/// The most rows in memory while Postgres is away: ten minutes of 20,000 busy rules.
const ROWS_MAX: usize = 200_000;
const DENIALS_MAX: usize = 10_000;
const SKETCHES_MAX: usize = 2_000;
/// The most names of namespaces without rules that one tenant has in one hour.
const UNKNOWN_NAMESPACES_MAX: usize = 16;
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// The time after which a minute is final. Until then requests that began in it can still be counted.
const OPEN_MS: i64 = 2 * MINUTE_MS;
/// The number of collections after which shards free the memory of names that are no longer in use.
const COLLECTIONS_UNTIL_CLEARED: u32 = 60;

/// Counts that are not written, or not final.
#[derive(Debug)]
pub(super) struct TallyAccumulator {
    minutes: BTreeMap<i64, HashMap<TallyKey, Entry>>,
    steps: Steps,
    /// Minutes before this one are final. Their late requests are counted in this minute.
    open_from_ms: i64,
    unrecorded: BTreeMap<i64, Unrecorded>,
    sketches: HashMap<(TenantId, i64), (Sketch, bool)>,
    denials: VecDeque<DenialRow>,
    pub(super) samples: SampleBatches,
    pub(super) customers: CustomerDays,
    keys: KeyUses,
    /// The checks since this was last taken.
    pub(super) traffic: TrafficCounts,
    namespaces: HashSet<Arc<str>>,
    /// The names of namespaces without rules in this hour, and its start.
    unknown: (i64, HashMap<TenantId, HashSet<Arc<str>>>),
    spares: Vec<Shard>,
    collections: u32,
    rows_max: usize,
    boot_id: u128,
    next_denial: u128,
}

/// The rows of one write.
#[derive(Debug, Default)]
pub(super) struct TallyBatch {
    pub(super) rows: Vec<TallyRow>,
    pub(super) steps: Vec<StepRow>,
    pub(super) unrecorded: Vec<DropCount>,
    pub(super) sketches: Vec<SketchRow>,
    pub(super) denials: Vec<DenialRow>,
    pub(super) keys: Vec<(TenantId, KeyId, Timestamp)>,
    pub(super) key_hours: Vec<KeyHourRow>,
}

#[derive(Debug, Default)]
struct Entry {
    counts: TallyCounts,
    written: TallyCounts,
}

#[derive(Debug, Default)]
struct Unrecorded {
    count: u64,
    written: u64,
}

impl TallyAccumulator {
    pub(super) fn new(boot_id: u128) -> Self {
        Self {
            minutes: BTreeMap::new(),
            steps: Steps::default(),
            open_from_ms: i64::MIN,
            unrecorded: BTreeMap::new(),
            sketches: HashMap::new(),
            denials: VecDeque::new(),
            samples: SampleBatches::default(),
            customers: CustomerDays::default(),
            keys: KeyUses::default(),
            traffic: TrafficCounts::default(),
            namespaces: HashSet::new(),
            unknown: (i64::MIN, HashMap::new()),
            spares: Vec::new(),
            collections: 0,
            rows_max: ROWS_MAX,
            boot_id,
            next_denial: 0,
        }
    }

    /// The same, with a capacity of fewer rows.
    #[cfg(test)]
    pub(super) fn with_capacity(self, rows_max: usize) -> Self {
        Self { rows_max, ..self }
    }

    /// The same, with a capacity of fewer rows of steps.
    #[cfg(test)]
    pub(super) fn with_steps_max(self, rows_max: usize) -> Self {
        Self { steps: self.steps.with_capacity(rows_max), ..self }
    }

    /// Adds the counts of all shards since the last collection. Returns the number of checks that could not be counted.
    pub(super) fn collect(&mut self, tally: &Tally, now: Timestamp) -> u64 {
        self.collections += 1;
        self.steps.collect_at(now);
        let whole = self.collections.is_multiple_of(COLLECTIONS_UNTIL_CLEARED);
        self.spares.resize_with(tally.shard_count(), || Shard::new(1));
        let mut denied = HashMap::new();
        for at in 0..self.spares.len() {
            let mut spare = std::mem::replace(&mut self.spares[at], Shard::new(1));
            tally.exchange(at, &mut spare);
            for minute in &mut spare.minutes {
                if minute.used {
                    self.add_minute(minute, now, &mut denied);
                }
                minute.clear(whole);
            }
            self.spares[at] = spare;
        }
        for (tenant, (count, sampled)) in denied {
            self.log(tenant, count, sampled);
        }
        self.steps.trim();
        let mut lost = tally.take_unrecorded();
        while self.row_count() > self.rows_max {
            lost += self.drop_oldest();
        }
        if lost > 0 {
            let minute_ms = floor(now.as_millis(), MINUTE_MS);
            self.unrecorded.entry(minute_ms).or_default().count += lost;
        }
        lost
    }

    /// The rows that changed since the last write.
    pub(super) fn batch(&self, with_sketches: bool, now: Timestamp) -> TallyBatch {
        let rows = self.minutes.iter().flat_map(|(minute_ms, entries)| {
            let changed = entries.iter().filter(|(_, entry)| entry.counts != entry.written);
            changed.map(|((tenant_id, rule_id, namespace), entry)| TallyRow {
                tenant_id: *tenant_id,
                rule_id: *rule_id,
                minute: Timestamp::from_millis(*minute_ms),
                namespace: namespace.to_string(),
                counts: entry.counts,
            })
        });
        let unrecorded = self.unrecorded.iter().filter(|(_, minute)| minute.count > minute.written);
        let sketches = self.sketches.iter().filter(|(_, (_, changed))| *changed && with_sketches);
        TallyBatch {
            rows: rows.collect(),
            steps: self.steps.ended(now),
            unrecorded: unrecorded
                .map(|(minute_ms, unrecorded)| DropCount {
                    minute: Timestamp::from_millis(*minute_ms),
                    dropped: unrecorded.count,
                })
                .collect(),
            sketches: sketches
                .map(|((tenant, at), (sketch, _))| row(*tenant, *at, sketch))
                .collect(),
            denials: self.denials.iter().cloned().collect(),
            keys: self.keys.last(now),
            key_hours: self.keys.hours(now),
        }
    }

    /// Notes that a batch, made since the last collection, is written.
    pub(super) fn written(&mut self, batch: &TallyBatch, now: Timestamp) {
        self.steps.written(now);
        for entry in self.minutes.values_mut().flat_map(HashMap::values_mut) {
            entry.written = entry.counts;
        }
        self.open_from_ms = self.open_from_ms.max(floor(now.as_millis(), MINUTE_MS) - OPEN_MS);
        self.minutes = self.minutes.split_off(&self.open_from_ms);
        for minute in self.unrecorded.values_mut() {
            minute.written = minute.count;
        }
        self.unrecorded = self.unrecorded.split_off(&self.open_from_ms);
        if !batch.sketches.is_empty() {
            self.sketches.values_mut().for_each(|(_, changed)| *changed = false);
        }
        let present = floor(self.open_from_ms, SKETCH_MS);
        self.sketches.retain(|(_, at), (_, changed)| *changed || *at >= present);
        self.denials.clear();
        self.keys.written(now);
        if self.namespaces.len() > ROWS_MAX {
            self.namespaces.clear();
        }
    }

    /// The number of rows in memory.
    pub(super) fn row_count(&self) -> usize {
        self.minutes.values().map(HashMap::len).sum()
    }

    fn add_minute(
        &mut self,
        minute: &mut MinuteCounts,
        now: Timestamp,
        denied: &mut HashMap<TenantId, (u64, Vec<Denial>)>,
    ) {
        let minute_ms = minute.minute_ms.max(self.open_from_ms);
        for (&tenant, counted) in &mut minute.tenants {
            for (name, namespace) in &mut counted.namespaces {
                let name = self.intern(name);
                let requests = &namespace.requests;
                let latencies = Some(&namespace.latencies);
                self.traffic.add(requests, &namespace.latencies);
                self.count((tenant, None, Arc::clone(&name)), minute_ms, requests, latencies);
                for (rule, counts) in &namespace.rules {
                    self.count((tenant, Some(*rule), Arc::clone(&name)), minute_ms, counts, None);
                }
                for sample in &mut namespace.samples {
                    self.samples.add(tenant, sample);
                }
            }
            for (name, counts) in &counted.unknown {
                let name = self.intern_unknown(tenant, name, minute_ms);
                let key = (tenant, Some(UNKNOWN_NAMESPACE_RULE), name);
                self.count(key, minute_ms, counts, None);
            }
            self.add_subjects(tenant, minute_ms, counted);
            self.customers.collect(tenant, minute.minute_ms, &mut counted.customers);
            for (&key, &count) in &counted.keys {
                self.keys.add((tenant, key), count, now);
            }
            if counted.denial_count > 0 {
                let (count, sampled) = denied.entry(tenant).or_default();
                *count += counted.denial_count;
                sampled.append(&mut counted.denials);
            }
        }
    }

    /// The name of a namespace without rules, or an empty one beyond the bounds of an hour.
    fn intern_unknown(&mut self, tenant: TenantId, name: &str, minute_ms: i64) -> Arc<str> {
        let hour_ms = floor(minute_ms, HOUR_MS);
        if hour_ms > self.unknown.0 {
            self.unknown = (hour_ms, HashMap::new());
        }
        let names = self.unknown.1.entry(tenant).or_default();
        // The empty name stands for the others.
        if name.is_empty() || names.len() >= UNKNOWN_NAMESPACES_MAX && !names.contains(name) {
            return self.intern("");
        }
        let interned = self.intern(name);
        self.unknown.1.entry(tenant).or_default().insert(Arc::clone(&interned));
        interned
    }

    fn count(
        &mut self,
        key: TallyKey,
        minute_ms: i64,
        counts: &TallyCounts,
        latencies: Option<&Latencies>,
    ) {
        if *counts != TallyCounts::default() {
            self.steps.add(&key, counts, latencies);
            self.minutes.entry(minute_ms).or_default().entry(key).or_default().counts.add(counts);
        }
    }

    fn add_subjects(&mut self, tenant: TenantId, minute_ms: i64, counted: &TenantCounts) {
        let checks = counted.sketch.as_deref().map_or(0, Sketch::checks);
        if checks + counted.unsketched == 0 {
            return;
        }
        let key = (tenant, floor(minute_ms, SKETCH_MS));
        if !self.sketches.contains_key(&key) && self.sketches.len() >= SKETCHES_MAX {
            return;
        }
        let (sketch, changed) = self.sketches.entry(key).or_default();
        *changed = true;
        sketch.miss(counted.unsketched);
        if let Some(other) = &counted.sketch {
            sketch.absorb(other);
        }
    }

    /// Logs some of the denied checks of this second. Each stands for its share of all of them.
    fn log(&mut self, tenant_id: TenantId, total: u64, sampled: Vec<Denial>) {
        let most = DENIALS_PER_SECOND as usize;
        // Each shard chose at random, so every n-th of all is a random choice too.
        let stride = sampled.len().div_ceil(most).max(1);
        let logged: Vec<Denial> = sampled.into_iter().step_by(stride).collect();
        let count = logged.len() as u64;
        for (at, denial) in logged.into_iter().enumerate() {
            let share = total / count + u64::from((at as u64) < total % count);
            self.next_denial += 1;
            let random = self.boot_id.wrapping_mul(31).wrapping_add(self.next_denial);
            self.denials.push_back(DenialRow {
                id: DenialId::new(denial.at, random),
                tenant_id,
                at: denial.at,
                namespace: denial.namespace,
                rule_id: denial.rule.id,
                rule: denial.rule.rule.name().to_owned(),
                shadow: denial.shadow,
                subject: subject(&denial.subject),
                cost: denial.cost,
                retry_after_ms: denial.retry_after_ms,
                degraded: denial.degraded,
                stands_for: u32::try_from(share).unwrap_or(u32::MAX),
                detail: denial.detail,
            });
        }
        while self.denials.len() > DENIALS_MAX {
            self.denials.pop_front();
        }
    }

    /// Drops the oldest minute. Returns the number of its checks that were not written.
    fn drop_oldest(&mut self) -> u64 {
        let Some((minute_ms, entries)) = self.minutes.pop_first() else { return 0 };
        self.open_from_ms = self.open_from_ms.max(minute_ms + MINUTE_MS);
        let requests = entries.iter().filter(|((_, rule, _), _)| rule.is_none());
        let checks = |counts: &TallyCounts| counts.allowed + counts.denied;
        requests.map(|(_, entry)| checks(&entry.counts) - checks(&entry.written)).sum()
    }

    fn intern(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.namespaces.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.namespaces.insert(Arc::clone(&name));
        name
    }
}

fn row(tenant_id: TenantId, at_ms: i64, sketch: &Sketch) -> SketchRow {
    let entries = sketch.slots().map(|(slot, checks)| SketchEntry {
        rule_id: slot.rule,
        subject: subject(&slot.text),
        checks,
        denied: slot.denied.enforced + slot.denied.shadow,
        shadow_denied: slot.denied.shadow,
    });
    SketchRow {
        tenant_id,
        at: Timestamp::from_millis(at_ms),
        checks: sketch.checks(),
        floor: sketch.floor(),
        entries: entries.collect(),
    }
}
