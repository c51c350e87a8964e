//! Generated statistics of the day before the first start, in the form in which gates write them: counts by minute and by step, and
//! the busiest subjects. The log of denials, durations and recorded checks are never generated.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_store::{
    Flush, SKETCH_MS, STEP_MS, STEPS_RETAINED_MS, Scope, SketchEntry, SketchRow, StepRow, Store,
    StoreError, TallyCounts, TallyRow,
};

use super::callers::{CALLERS, Caller};
use super::rules::DemoRule;

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// Statistics of one day.
#[derive(Debug, PartialEq)]
pub struct History {
    minutes: Vec<TallyRow>,
    steps: Vec<StepRow>,
    sketches: Vec<SketchRow>,
}

/// The start of a span, a rule or `None` for whole requests, and the namespace.
type CountKey = (i64, Option<RuleId>, &'static str);

#[derive(Debug)]
struct Generator<'r> {
    rules: &'r [(RuleId, DemoRule)],
    /// The checks that each bucket still had, in thousandths, and when.
    left_milli: HashMap<(RuleId, &'static str), (u64, i64)>,
    steps_from_ms: i64,
    minutes: BTreeMap<CountKey, TallyCounts>,
    steps: BTreeMap<CountKey, TallyCounts>,
    subjects: BTreeMap<i64, BTreeMap<(RuleId, &'static str), SketchEntry>>,
}

impl History {
    /// Generates the statistics of the day before `until`, the start of a minute.
    pub fn generate(tenant_id: TenantId, rules: &[(RuleId, DemoRule)], until: Timestamp) -> Self {
        let until_ms = until.as_millis();
        let mut generator = Generator {
            rules,
            left_milli: HashMap::new(),
            steps_from_ms: until_ms - STEPS_RETAINED_MS,
            minutes: BTreeMap::new(),
            steps: BTreeMap::new(),
            subjects: BTreeMap::new(),
        };
        let mut at_ms = until_ms - DAY_MS;
        while at_ms < until_ms {
            for (number, caller) in (0..).zip(&CALLERS) {
                generator.step(at_ms, number, caller);
            }
            at_ms += STEP_MS;
        }
        generator.rows(tenant_id)
    }

    /// Writes the statistics in one transaction, as those of a gate that has ended.
    pub async fn write(&self, store: &Store, flush: &Flush) -> Result<(), StoreError> {
        let mut tx = store.begin("tallies.demo", Scope::Gate(flush.gate_id)).await?;
        tx.tallies().report(flush).await?;
        tx.tallies().write(flush, &self.minutes).await?;
        tx.tallies().write_steps(flush, &self.steps).await?;
        tx.top_subjects().write(flush, &self.sketches).await?;
        tx.commit().await
    }

    /// The oldest minute of a day that ends at `until`.
    pub fn oldest_minute(until: Timestamp) -> Timestamp {
        Timestamp::from_millis(until.as_millis() - DAY_MS)
    }
}

impl Generator<'_> {
    /// Counts the checks of a caller in one step.
    fn step(&mut self, at_ms: i64, number: u64, caller: &Caller) {
        let at = Timestamp::from_millis(at_ms);
        let seed = (at.as_millis_u64() << 8) | number;
        let checks = caller.checks(at, STEP_MS.unsigned_abs(), seed);
        if checks == 0 {
            return;
        }
        let mut whole = TallyCounts::default();
        for (id, rule) in self.rules.iter().filter(|(_, rule)| rule.namespace() == caller.namespace)
        {
            let Some(value) = caller.value(rule.count_by) else { continue };
            let denied = checks - self.take(*id, rule, value, at_ms, checks);
            let (enforced, shadow) = if rule.is_shadow() { (0, denied) } else { (denied, 0) };
            let decided = TallyCounts {
                allowed: checks - denied,
                denied: enforced,
                shadow_denied: shadow,
                ..TallyCounts::default()
            };
            self.count(at_ms, Some(*id), caller.namespace, &decided);
            whole.denied = whole.denied.max(enforced);
            whole.shadow_denied = whole.shadow_denied.max(shadow);
            let sketch = self.subjects.entry(floor(at_ms, SKETCH_MS)).or_default();
            let entry = sketch.entry((*id, value)).or_insert_with(|| SketchEntry {
                rule_id: *id,
                subject: json!({ rule.count_by: value }),
                checks: 0,
                denied: 0,
                shadow_denied: 0,
            });
            entry.checks += checks;
            entry.denied += denied;
            entry.shadow_denied += shadow;
        }
        whole.allowed = checks - whole.denied;
        self.count(at_ms, None, caller.namespace, &whole);
    }

    /// Takes checks from the bucket of a subject. Returns how many it admits.
    fn take(
        &mut self,
        id: RuleId,
        rule: &DemoRule,
        value: &'static str,
        at_ms: i64,
        checks: u64,
    ) -> u64 {
        let bucket = rule.bucket_of(value);
        let refill_milli = |ms: u64| bucket.refill_per_minute * ms / 60;
        let most_milli = bucket.capacity * 1_000 + refill_milli(STEP_MS.unsigned_abs());
        let (left_milli, since_ms) =
            self.left_milli.entry((id, value)).or_insert((most_milli, at_ms));
        let refilled = *left_milli + refill_milli((at_ms - *since_ms).unsigned_abs());
        let available_milli = refilled.min(most_milli);
        let admitted = checks.min(available_milli / 1_000);
        (*left_milli, *since_ms) = (available_milli - admitted * 1_000, at_ms);
        admitted
    }

    fn count(
        &mut self,
        at_ms: i64,
        rule_id: Option<RuleId>,
        namespace: &'static str,
        counts: &TallyCounts,
    ) {
        let minute = (floor(at_ms, MINUTE_MS), rule_id, namespace);
        self.minutes.entry(minute).or_default().add(counts);
        if at_ms >= self.steps_from_ms {
            self.steps.entry((at_ms, rule_id, namespace)).or_default().add(counts);
        }
    }

    fn rows(self, tenant_id: TenantId) -> History {
        let minutes =
            self.minutes.into_iter().map(|((at_ms, rule_id, namespace), counts)| TallyRow {
                tenant_id,
                rule_id,
                minute: Timestamp::from_millis(at_ms),
                namespace: namespace.to_owned(),
                counts,
            });
        let steps = self.steps.into_iter().map(|((at_ms, rule_id, namespace), counts)| StepRow {
            tenant_id,
            rule_id,
            at: Timestamp::from_millis(at_ms),
            namespace: namespace.to_owned(),
            counts,
            latencies: None,
        });
        let sketches = self.subjects.into_iter().map(|(at_ms, entries)| SketchRow {
            tenant_id,
            at: Timestamp::from_millis(at_ms),
            checks: entries.values().map(|entry| entry.checks).sum(),
            floor: 0,
            entries: entries.into_values().collect(),
        });
        History { minutes: minutes.collect(), steps: steps.collect(), sketches: sketches.collect() }
    }
}

fn floor(at_ms: i64, span_ms: i64) -> i64 {
    at_ms.div_euclid(span_ms) * span_ms
}

#[cfg(test)]
mod tests {
    use super::super::rules::rules;
    use super::*;

    #[test]
    fn history_is_the_same_each_time_and_its_parts_agree() {
        let rules: Vec<_> = (1..).map(RuleId::from_u128).zip(rules()).collect();
        let tenant = TenantId::from_u128(9);
        let until = Timestamp::from_millis(1_795_800_000_000);
        let history = History::generate(tenant, &rules, until);
        assert_eq!(history, History::generate(tenant, &rules, until));

        let sum = |rule: Option<RuleId>| {
            let mut sum = TallyCounts::default();
            let rows = history.minutes.iter().filter(|row| row.rule_id == rule);
            rows.for_each(|row| sum.add(&row.counts));
            sum
        };
        let (whole, api) = (sum(None), sum(Some(rules[0].0)));
        let share_percent = 100 * whole.denied / (whole.allowed + whole.denied);
        assert!((1..=15).contains(&share_percent), "{whole:?}");
        assert!(api.denied > 0 && sum(Some(rules[2].0)).shadow_denied > 0, "{api:?}");
        let subjects: u64 = history.sketches.iter().map(|sketch| sketch.checks).sum();
        let by_rule: u64 = rules.iter().map(|(id, _)| sum(Some(*id))).map(all).sum();
        assert_eq!(subjects, by_rule);
        assert!(history.sketches.iter().all(|sketch| sketch.entries.len() <= 64));

        let from = until.as_millis() - STEPS_RETAINED_MS;
        let late = history.minutes.iter().filter(|row| row.minute.as_millis() >= from);
        let minutes: u64 = late.map(|row| all(row.counts)).sum();
        let steps: u64 = history.steps.iter().map(|row| all(row.counts)).sum();
        assert_eq!(minutes, steps);
    }

    fn all(counts: TallyCounts) -> u64 {
        counts.allowed + counts.denied + counts.shadow_denied
    }
}
