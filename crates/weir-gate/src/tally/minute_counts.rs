//! The counts of one shard between two collections.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use weir_domain::ceilings::TENANT_RATE_RULE;
use weir_domain::id::{KeyId, RuleId, TenantId};
use weir_domain::latency::Latencies;
use weir_domain::request::Operation;
use weir_domain::rulebook::ActiveRule;
use weir_domain::sample::SamplePlan;
use weir_domain::time::Timestamp;
use weir_domain::unmatched::{UNMATCHED_RULE, Unmatched, missing_attribute_rule};
use weir_http::request_id::RequestId;
use weir_store::{ALSO_DENIED_BY_MAX, DENIALS_PER_SECOND, DenialDetail, TallyCounts};
use weir_wire::check::AnswerCode;

use super::customers::{self, CustomersOfShard};
use super::event::DecisionEvent;
use super::rule_decision::{RuleDecision, decisions};
use super::sample::Sample;
use super::sketch::{Denials, Sketch};
use super::subject_text::write_subject;

pub(super) const MINUTE_MS: i64 = 60_000;
/// An odd number whose bits are as good as random.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
/// The most tenants of one shard whose subjects are counted. Of other tenants only the number of checks is known.
const SKETCHES_MAX: usize = 128;
/// The most names of namespaces without rules that one tenant has in one minute. Others count without a name.
const UNKNOWN_NAMESPACES_MAX: usize = 16;
/// The most bytes of sampled checks of one minute.
const SAMPLE_BYTES_MAX: usize = 2 << 20;
/// The most bytes of sampled checks of one tenant in one minute.
const TENANT_SAMPLE_BYTES_MAX: usize = SAMPLE_BYTES_MAX / 4;

/// The counts of some threads, for this minute and the one before.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) minutes: [MinuteCounts; 2],
    /// The state of the random numbers for sampling; never 0.
    random: u64,
}

/// Counts of one minute.
#[derive(Debug, Default)]
pub(super) struct MinuteCounts {
    pub(super) minute_ms: i64,
    pub(super) used: bool,
    pub(super) tenants: FxHashMap<TenantId, TenantCounts>,
    sketches: usize,
    /// The size of the sampled checks.
    sample_bytes: usize,
}

/// The tenant, the rule (`None` for whole requests) and the namespace of counts.
pub(super) type TallyKey = (TenantId, Option<RuleId>, Arc<str>);

/// Counts of one tenant.
#[derive(Debug, Default)]
pub(super) struct TenantCounts {
    pub(super) namespaces: IndexMap<Box<str>, NamespaceCounts>,
    /// The checks and records in namespaces without rules, by the name that they gave; an empty name beyond a number of names.
    pub(super) unknown: FxHashMap<Box<str>, TallyCounts>,
    pub(super) sketch: Option<Box<Sketch>>,
    /// The number of checks that no sketch counted.
    pub(super) unsketched: u64,
    pub(super) denials: Vec<Denial>,
    /// The number of denied checks, sampled or not.
    pub(super) denial_count: u64,
    /// The size of the sampled checks.
    pub(super) sample_bytes: usize,
    pub(super) keys: FxHashMap<KeyId, KeyCount>,
    pub(super) customers: CustomersOfShard,
}

/// The uses of a key.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct KeyCount {
    /// The last use, in milliseconds since 1970.
    pub(super) last_ms: i64,
    pub(super) requests: u64,
}

/// Counts of one namespace.
#[derive(Debug, Default)]
pub(super) struct NamespaceCounts {
    pub(super) requests: TallyCounts,
    /// The durations of whole requests.
    pub(super) latencies: Latencies,
    pub(super) rules: FxHashMap<RuleId, TallyCounts>,
    /// Checks sampled for what-if runs, one sample for each plan that was in force.
    pub(super) samples: Vec<Sample>,
}

/// A denied check for the log.
#[derive(Debug, Clone)]
pub(super) struct Denial {
    pub(super) detail: DenialDetail,
    pub(super) at: Timestamp,
    pub(super) namespace: String,
    pub(super) rule: Arc<ActiveRule>,
    pub(super) shadow: bool,
    pub(super) subject: String,
    pub(super) cost: u64,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) degraded: bool,
}

impl Shard {
    pub(super) fn new(seed: u64) -> Self {
        let random = seed.wrapping_mul(SPREAD) | 1;
        Self { minutes: [MinuteCounts::default(), MinuteCounts::default()], random }
    }

    pub(super) fn count(&mut self, event: &DecisionEvent<'_>) {
        let minute = event.at.as_millis().div_euclid(MINUTE_MS);
        let counts = &mut self.minutes[usize::from(minute.rem_euclid(2) == 1)];
        if !counts.used {
            counts.minute_ms = minute * MINUTE_MS;
            counts.used = true;
        }
        // xorshift: sampling needs no better randomness.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        counts.count(event, self.random);
    }
}

impl MinuteCounts {
    fn count(&mut self, event: &DecisionEvent<'_>, random: u64) {
        let tenant = self.tenants.entry(event.tenant).or_default();
        let key = tenant.keys.entry(event.key).or_default();
        key.last_ms = event.at.as_millis();
        key.requests += 1;
        let operation = event.request().operation();
        let records = matches!(operation, Operation::Record | Operation::Commit(_));
        let counts_decisions = !records && operation != Operation::Refund;
        if counts_decisions && tenant.sketch.is_none() && self.sketches < SKETCHES_MAX {
            tenant.sketch = Some(Box::default());
            self.sketches += 1;
        }
        let decisions = decisions(event);
        if operation != Operation::Refund {
            tenant.count_unmatched(event, records);
        }
        customers::count(&mut tenant.customers, event, &decisions);
        let requests = counts_of_namespace(&mut tenant.namespaces, event);
        if let Some(plan) = event.sample {
            let own = TENANT_SAMPLE_BYTES_MAX.saturating_sub(tenant.sample_bytes);
            let before = own.min(SAMPLE_BYTES_MAX.saturating_sub(self.sample_bytes));
            let mut free = before;
            requests.sample(plan, event, random, &mut free);
            // There is more free space than before if older checks were dropped.
            tenant.sample_bytes = (tenant.sample_bytes + before).saturating_sub(free);
            self.sample_bytes = (self.sample_bytes + before).saturating_sub(free);
        }
        if records {
            requests.requests.recorded += 1;
            for id in decisions.iter().flat_map(RuleDecision::counted_ids) {
                requests.rules.entry(id).or_default().recorded += 1;
            }
            return;
        }
        if operation == Operation::Refund {
            requests.requests.refunded += 1;
            let refunded = decisions.iter().filter(|decision| decision.refunded);
            for id in refunded.flat_map(RuleDecision::counted_ids) {
                requests.rules.entry(id).or_default().refunded += 1;
            }
            return;
        }
        requests.count(event, &decisions);
        for decision in &decisions {
            tenant.count_subject(decision);
        }
        let denied = decisions.iter().find(|decision| !decision.passes && !decision.shadow);
        let logged = denied.or_else(|| decisions.iter().find(|decision| !decision.passes));
        if let Some(decision) = logged {
            tenant.log(decision, event, random);
        }
    }

    /// Sets all counts to 0. With `free_memory` also frees the memory of their names.
    pub(super) fn clear(&mut self, free_memory: bool) {
        self.used = false;
        self.sample_bytes = 0;
        if free_memory {
            self.tenants.clear();
            self.sketches = 0;
        }
        for tenant in self.tenants.values_mut() {
            for namespace in tenant.namespaces.values_mut() {
                namespace.requests = TallyCounts::default();
                namespace.latencies = Latencies::default();
                namespace.rules.values_mut().for_each(|counts| *counts = TallyCounts::default());
                namespace.samples.retain(|sample| sample.checks_total() > 0);
                namespace.samples.iter_mut().for_each(Sample::restart);
            }
            if let Some(sketch) = &mut tenant.sketch {
                sketch.clear();
            }
            (tenant.unsketched, tenant.denial_count, tenant.sample_bytes) = (0, 0, 0);
            tenant.denials.clear();
            tenant.keys.clear();
            tenant.customers.clear();
            tenant.unknown.clear();
        }
    }
}

impl TenantCounts {
    /// Counts a check or record that no rule counted, by its reason.
    fn count_unmatched(&mut self, event: &DecisionEvent<'_>, records: bool) {
        let Some(reason) = event.unmatched() else { return };
        let allowed = u64::from(!records);
        let recorded = u64::from(records);
        let counts = TallyCounts { allowed, recorded, ..TallyCounts::default() };
        if reason == Unmatched::Namespace {
            let name = event.request().namespace();
            let has_place =
                self.unknown.len() < UNKNOWN_NAMESPACES_MAX || self.unknown.contains_key(name);
            let name = if has_place { name } else { "" };
            self.unknown.entry(name.into()).or_default().add(&counts);
            return;
        }
        let rules = &mut counts_of_namespace(&mut self.namespaces, event).rules;
        rules.entry(UNMATCHED_RULE).or_default().add(&counts);
        if let Unmatched::Attribute(attribute) = reason {
            rules.entry(missing_attribute_rule(attribute)).or_default().add(&counts);
        }
    }

    fn count_subject(&mut self, decision: &RuleDecision<'_>) {
        let Some(subject) = decision.subject else { return };
        match &mut self.sketch {
            Some(sketch) => {
                let denied = Denials {
                    enforced: u64::from(!decision.passes && !decision.shadow),
                    shadow: u64::from(!decision.passes && decision.shadow),
                };
                sketch.add(decision.rule.id, subject, 1, denied, |text| {
                    write_subject(text, decision.rule, decision.request);
                });
            }
            None => self.unsketched += 1,
        }
    }

    /// Logs each denied check with the same probability, however many there are.
    fn log(&mut self, decision: &RuleDecision<'_>, event: &DecisionEvent<'_>, random: u64) {
        self.denial_count += 1;
        let most = DENIALS_PER_SECOND as usize;
        let place = if self.denials.len() < most {
            self.denials.len()
        } else {
            usize::try_from(random % self.denial_count).unwrap_or(most)
        };
        if place >= most {
            return;
        }
        let mut subject = String::new();
        write_subject(&mut subject, decision.rule, decision.request);
        let denial = Denial {
            detail: detail(decision, event),
            at: event.at,
            namespace: event.request().namespace().to_owned(),
            rule: Arc::clone(decision.rule),
            shadow: decision.shadow,
            subject,
            cost: decision.cost,
            retry_after_ms: decision.retry_after_ms,
            degraded: event.answer.degraded.is_some(),
        };
        match self.denials.get_mut(place) {
            Some(logged) => *logged = denial,
            None => self.denials.push(denial),
        }
    }
}

/// The facts that explain the denial.
fn detail(decision: &RuleDecision<'_>, event: &DecisionEvent<'_>) -> DenialDetail {
    let others = event.answer.denied_by.iter().filter(|name| *name != decision.rule.name());
    DenialDetail {
        request_id: event.request_id.as_ref().map(RequestId::id),
        trace_id: event.trace_id,
        rule_revision: decision.rule.revision,
        override_id: decision.override_id(event.at),
        also_denied_by: others.take(ALSO_DENIED_BY_MAX).map(ToString::to_string).collect(),
        limits: serde_json::to_value(decision.limits).expect("limits are plain data"),
    }
}

/// The start of the step that contains this time.
pub(super) fn floor(ms: i64, step_ms: i64) -> i64 {
    ms.div_euclid(step_ms) * step_ms
}

/// The counts of the namespace of an event.
fn counts_of_namespace<'c>(
    namespaces: &'c mut IndexMap<Box<str>, NamespaceCounts>,
    event: &DecisionEvent<'_>,
) -> &'c mut NamespaceCounts {
    let name = if event.known_namespace { event.request().namespace() } else { "" };
    let at = match namespaces.get_index_of(name) {
        Some(at) => at,
        None => namespaces.insert_full(name.into(), NamespaceCounts::default()).0,
    };
    &mut namespaces[at]
}

impl NamespaceCounts {
    /// Samples the check, if its subject is sampled.
    fn sample(
        &mut self,
        plan: &Arc<SamplePlan>,
        event: &DecisionEvent<'_>,
        random: u64,
        free: &mut usize,
    ) {
        let known = self.samples.iter().position(|sample| sample.is_by(plan));
        let at = known.unwrap_or_else(|| {
            self.samples.push(Sample::new(Arc::clone(plan)));
            self.samples.len() - 1
        });
        let chance = u32::try_from(random >> 32).expect("half of the bits fit");
        for request in
            event.requests.iter().filter(|request| request.operation() != Operation::Peek)
        {
            self.samples[at].offer(request, event.at, chance, free);
        }
    }

    fn count(&mut self, event: &DecisionEvent<'_>, decisions: &[RuleDecision<'_>]) {
        let degraded = u64::from(event.answer.degraded.is_some());
        let shadow_denied = decisions.iter().any(|decision| decision.shadow && !decision.passes);
        let (allowed, denied) = (u64::from(event.answer.allowed), u64::from(!event.answer.allowed));
        let shadow_denied = u64::from(shadow_denied);
        let counts =
            TallyCounts { allowed, denied, shadow_denied, degraded, ..TallyCounts::default() };
        self.requests.add(&counts);
        self.latencies.add(u64::try_from(event.took.as_micros()).unwrap_or(u64::MAX));
        if event.answer.code == Some(AnswerCode::TenantRate) {
            self.rules.entry(TENANT_RATE_RULE).or_default().denied += 1;
        }
        for decision in decisions {
            let passes = decision.passes;
            let shadow = decision.shadow;
            let counts = TallyCounts {
                allowed: u64::from(passes),
                denied: u64::from(!passes && !shadow),
                shadow_denied: u64::from(!passes && shadow),
                degraded,
                ..TallyCounts::default()
            };
            for id in decision.counted_ids() {
                self.rules.entry(id).or_default().add(&counts);
            }
        }
    }
}
