//! Absolute counts of this run, kept until they are written: only the recorder holds them.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use weir_domain::id::{DenialId, KeyId, RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_store::{
    DENIALS_PER_SECOND, DenialRow, DropCount, SKETCH_MS, SketchEntry, SketchRow, TallyCounts,
    TallyRow,
};

use super::Tally;
use super::page::{Denial, MINUTE_MS, Page, Shard, TenantPage, subject};
use super::piece::Pieces;
use super::sketch::Sketch;

/// Rows kept while they cannot be written: ten minutes of 20,000 rules that are all asked.
const ROWS_MAX: usize = 200_000;
const DENIALS_MAX: usize = 10_000;
const SKETCHES_MAX: usize = 2_000;
/// A key's use is written once in so long.
const KEY_USE_MS: i64 = MINUTE_MS;
/// Minutes that are not over for good: a request may have begun in them.
const OPEN_MS: i64 = 2 * MINUTE_MS;
/// Visits after which shards let go of what was counted once and then no more.
const VISITS_UNTIL_CLEARED: u32 = 60;

/// All that is counted and not yet, or not for good, written.
#[derive(Debug)]
pub(super) struct Book {
    minutes: BTreeMap<i64, HashMap<Whose, Entry>>,
    /// Minutes before this one are written for good; what still comes for them counts as of it.
    open_from_ms: i64,
    unrecorded: BTreeMap<i64, Unrecorded>,
    sketches: HashMap<(TenantId, i64), (Sketch, bool)>,
    denials: VecDeque<DenialRow>,
    pub(super) pieces: Pieces,
    keys: HashMap<(TenantId, KeyId), KeyUse>,
    namespaces: HashSet<Arc<str>>,
    spares: Vec<Shard>,
    visits: u32,
    rows_max: usize,
    boot_id: u128,
    next_denial: u128,
}

/// What is to be written now.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) rows: Vec<TallyRow>,
    pub(super) unrecorded: Vec<DropCount>,
    pub(super) sketches: Vec<SketchRow>,
    pub(super) denials: Vec<DenialRow>,
    pub(super) keys: Vec<(TenantId, KeyId, Timestamp)>,
}

type Whose = (TenantId, Option<RuleId>, Arc<str>);

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

#[derive(Debug)]
struct KeyUse {
    last: Timestamp,
    /// Which use was written last, and when that was.
    written: Option<(Timestamp, Timestamp)>,
}

impl Book {
    pub(super) fn new(boot_id: u128) -> Self {
        Self {
            minutes: BTreeMap::new(),
            open_from_ms: i64::MIN,
            unrecorded: BTreeMap::new(),
            sketches: HashMap::new(),
            denials: VecDeque::new(),
            pieces: Pieces::default(),
            keys: HashMap::new(),
            namespaces: HashSet::new(),
            spares: Vec::new(),
            visits: 0,
            rows_max: ROWS_MAX,
            boot_id,
            next_denial: 0,
        }
    }

    /// The same, with room for fewer rows.
    #[cfg(test)]
    pub(super) fn with_room(self, rows_max: usize) -> Self {
        Self { rows_max, ..self }
    }

    /// Takes in what was counted since the last visit; how much of it could not be.
    pub(super) fn visit(&mut self, tally: &Tally, now: Timestamp) -> u64 {
        self.visits += 1;
        let whole = self.visits.is_multiple_of(VISITS_UNTIL_CLEARED);
        self.spares.resize_with(tally.shard_count(), || Shard::new(1));
        let mut refused = HashMap::new();
        for at in 0..self.spares.len() {
            let mut spare = std::mem::replace(&mut self.spares[at], Shard::new(1));
            tally.exchange(at, &mut spare);
            for page in &mut spare.pages {
                if page.used {
                    self.take_in(page, &mut refused);
                }
                page.clear(whole);
            }
            self.spares[at] = spare;
        }
        for (tenant, (seen, kept)) in refused {
            self.log(tenant, seen, kept);
        }
        let mut lost = tally.take_unrecorded();
        while self.row_count() > self.rows_max {
            lost += self.forget_oldest();
        }
        if lost > 0 {
            let minute_ms = floor(now.as_millis(), MINUTE_MS);
            self.unrecorded.entry(minute_ms).or_default().count += lost;
        }
        lost
    }

    /// What is not written yet.
    pub(super) fn batch(&self, with_sketches: bool, now: Timestamp) -> Batch {
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
        let unrecorded = self.unrecorded.iter().filter(|(_, it)| it.count > it.written);
        let sketches = self.sketches.iter().filter(|(_, (_, changed))| *changed && with_sketches);
        let keys = self.keys.iter().filter(|(_, it)| it.due(now));
        let key = |((tenant, key), it): (&(TenantId, KeyId), &KeyUse)| (*tenant, *key, it.last);
        Batch {
            rows: rows.collect(),
            unrecorded: unrecorded
                .map(|(minute_ms, it)| DropCount {
                    minute: Timestamp::from_millis(*minute_ms),
                    dropped: it.count,
                })
                .collect(),
            sketches: sketches
                .map(|((tenant, at), (sketch, _))| row(*tenant, *at, sketch))
                .collect(),
            denials: self.denials.iter().cloned().collect(),
            keys: keys.map(key).collect(),
        }
    }

    /// Notes that a batch, made since the last visit, is written.
    pub(super) fn written(&mut self, batch: &Batch, now: Timestamp) {
        for entry in self.minutes.values_mut().flat_map(HashMap::values_mut) {
            entry.written = entry.counts;
        }
        self.open_from_ms = self.open_from_ms.max(floor(now.as_millis(), MINUTE_MS) - OPEN_MS);
        self.minutes = self.minutes.split_off(&self.open_from_ms);
        for it in self.unrecorded.values_mut() {
            it.written = it.count;
        }
        self.unrecorded = self.unrecorded.split_off(&self.open_from_ms);
        if !batch.sketches.is_empty() {
            self.sketches.values_mut().for_each(|(_, changed)| *changed = false);
        }
        let present = floor(self.open_from_ms, SKETCH_MS);
        self.sketches.retain(|(_, at), (_, changed)| *changed || *at >= present);
        self.denials.clear();
        for it in self.keys.values_mut().filter(|it| it.due(now)) {
            it.written = Some((it.last, now));
        }
        let long_ago = now.plus_ms(-OPEN_MS);
        self.keys.retain(|_, it| {
            it.written.is_none_or(|(written, then)| it.last > written || then >= long_ago)
        });
        if self.namespaces.len() > ROWS_MAX {
            self.namespaces.clear();
        }
    }

    /// Rows that are kept.
    pub(super) fn row_count(&self) -> usize {
        self.minutes.values().map(HashMap::len).sum()
    }

    fn take_in(&mut self, page: &mut Page, refused: &mut HashMap<TenantId, (u64, Vec<Denial>)>) {
        let minute_ms = page.minute_ms.max(self.open_from_ms);
        for (&tenant, counted) in &mut page.tenants {
            for (name, namespace) in &mut counted.namespaces {
                let name = self.intern(name);
                self.count((tenant, None, Arc::clone(&name)), minute_ms, &namespace.requests);
                for (rule, counts) in &namespace.rules {
                    self.count((tenant, Some(*rule), Arc::clone(&name)), minute_ms, counts);
                }
                for sample in &mut namespace.samples {
                    self.pieces.gather(tenant, sample);
                }
            }
            self.take_in_subjects(tenant, minute_ms, counted);
            for (&key, &at_ms) in &counted.keys {
                let known = self.keys.entry((tenant, key));
                let last = Timestamp::from_millis(at_ms);
                let known = known.or_insert(KeyUse { last, written: None });
                known.last = known.last.max(last);
            }
            if counted.denials_seen > 0 {
                let (seen, kept) = refused.entry(tenant).or_default();
                *seen += counted.denials_seen;
                kept.append(&mut counted.denials);
            }
        }
    }

    fn count(&mut self, whose: Whose, minute_ms: i64, counts: &TallyCounts) {
        if *counts != TallyCounts::default() {
            self.minutes.entry(minute_ms).or_default().entry(whose).or_default().counts.add(counts);
        }
    }

    fn take_in_subjects(&mut self, tenant: TenantId, minute_ms: i64, page: &TenantPage) {
        let counted = page.sketch.as_deref().map_or(0, Sketch::checks);
        if counted + page.unsketched == 0 {
            return;
        }
        let key = (tenant, floor(minute_ms, SKETCH_MS));
        if !self.sketches.contains_key(&key) && self.sketches.len() >= SKETCHES_MAX {
            return;
        }
        let (sketch, changed) = self.sketches.entry(key).or_default();
        *changed = true;
        sketch.miss(page.unsketched);
        if let Some(other) = &page.sketch {
            sketch.absorb(other);
        }
    }

    /// Keeps a few of the refused checks of this second, each standing for its share of all.
    fn log(&mut self, tenant_id: TenantId, seen: u64, kept: Vec<Denial>) {
        let room = DENIALS_PER_SECOND as usize;
        // Shards kept a fair choice each; a stride over them is one of all.
        let stride = kept.len().div_ceil(room).max(1);
        let kept: Vec<Denial> = kept.into_iter().step_by(stride).collect();
        let count = kept.len() as u64;
        for (at, denial) in kept.into_iter().enumerate() {
            let share = seen / count + u64::from((at as u64) < seen % count);
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
            });
        }
        while self.denials.len() > DENIALS_MAX {
            self.denials.pop_front();
        }
    }

    /// Lets go of the oldest minute; how many checks of it were not written.
    fn forget_oldest(&mut self) -> u64 {
        let Some((minute_ms, entries)) = self.minutes.pop_first() else { return 0 };
        self.open_from_ms = self.open_from_ms.max(minute_ms + MINUTE_MS);
        let requests = entries.iter().filter(|((_, rule, _), _)| rule.is_none());
        let checks = |it: &TallyCounts| it.allowed + it.denied;
        requests.map(|(_, it)| checks(&it.counts) - checks(&it.written)).sum()
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

impl KeyUse {
    fn due(&self, now: Timestamp) -> bool {
        self.written
            .is_none_or(|(written, then)| self.last > written && now >= then.plus_ms(KEY_USE_MS))
    }
}

fn row(tenant_id: TenantId, at_ms: i64, sketch: &Sketch) -> SketchRow {
    let entries = sketch.slots().map(|(slot, checks)| SketchEntry {
        rule_id: slot.rule,
        subject: subject(&slot.text),
        checks,
        denied: slot.denied,
    });
    SketchRow {
        tenant_id,
        at: Timestamp::from_millis(at_ms),
        checks: sketch.checks(),
        floor: sketch.floor(),
        entries: entries.collect(),
    }
}

fn floor(ms: i64, step_ms: i64) -> i64 {
    ms.div_euclid(step_ms) * step_ms
}
