//! What one shard counts between two visits of the recorder.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use serde_json::Value;
use weir_domain::ceilings::TENANT_RATE_RULE;
use weir_domain::charge::RuleCharge;
use weir_domain::id::{KeyId, RuleId, TenantId};
use weir_domain::matching::{Matched, subject_key};
use weir_domain::request::{Operation, Request};
use weir_domain::rulebook::ActiveRule;
use weir_domain::sample::SamplePlan;
use weir_domain::subject::SubjectKey;
use weir_domain::time::Timestamp;
use weir_store::{DENIALS_PER_SECOND, TallyCounts};
use weir_wire::check::{AnswerCode, LimitAnswer};

use super::Seen;
use super::sample::Sample;
use super::sketch::Sketch;

pub(super) const MINUTE_MS: i64 = 60_000;
/// Characters of an attribute's value that are kept to be shown.
const VALUE_CHARS_MAX: usize = 128;
/// An odd number whose bits are as good as random.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
/// Tenants of one shard whose subjects are counted; those of others are only known in sum.
const SKETCHES_MAX: usize = 128;
/// Bytes of checks that a page keeps for what-if runs, and those of one tenant.
const KEPT_BYTES_MAX: usize = 2 << 20;
const TENANT_KEPT_BYTES_MAX: usize = KEPT_BYTES_MAX / 4;

/// A map by ids, which nobody outside can choose: they need no better hash than their own bits.
pub(super) type ById<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

#[derive(Debug, Default)]
pub(super) struct IdHasher(u64);

/// Counts of the requests of some threads: a page for this minute and one for the minute before.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) pages: [Page; 2],
    /// For sampling; any state but 0.
    random: u64,
}

/// Counts of one minute.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) minute_ms: i64,
    pub(super) used: bool,
    pub(super) tenants: ById<TenantId, TenantPage>,
    sketches: usize,
    /// How many bytes of checks are kept for what-if runs.
    kept_bytes: usize,
}

/// Counts of one tenant.
#[derive(Debug, Default)]
pub(super) struct TenantPage {
    pub(super) namespaces: HashMap<Box<str>, NamespacePage>,
    pub(super) sketch: Option<Box<Sketch>>,
    /// Checks that no sketch counted.
    pub(super) unsketched: u64,
    pub(super) denials: Vec<Denial>,
    /// How many refused checks there were, kept or not.
    pub(super) denials_seen: u64,
    /// How many bytes of its checks are kept for what-if runs.
    pub(super) kept_bytes: usize,
    /// When each key was last used, in milliseconds.
    pub(super) keys: ById<KeyId, i64>,
}

/// Counts of one namespace.
#[derive(Debug, Default)]
pub(super) struct NamespacePage {
    pub(super) requests: TallyCounts,
    pub(super) rules: ById<RuleId, TallyCounts>,
    /// Checks kept for what-if runs, one sample for each plan that held in this time.
    pub(super) samples: Vec<Sample>,
}

/// A refused check that was kept.
#[derive(Debug, Clone)]
pub(super) struct Denial {
    pub(super) at: Timestamp,
    pub(super) namespace: String,
    pub(super) rule: Arc<ActiveRule>,
    pub(super) shadow: bool,
    pub(super) subject: String,
    pub(super) cost: u64,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) degraded: bool,
}

/// What one rule decided about a check.
struct RuleDecision<'a> {
    rule: &'a Arc<ActiveRule>,
    subject: Option<SubjectKey>,
    shadow: bool,
    passes: bool,
    retry_after_ms: Option<u64>,
    refunded: bool,
}

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(SPREAD);
        }
    }

    fn write_u128(&mut self, id: u128) {
        #[expect(clippy::cast_possible_truncation, reason = "the halves are folded")]
        let folded = (id ^ (id >> 64)) as u64;
        self.0 = folded.wrapping_mul(SPREAD);
    }
}

impl Shard {
    pub(super) fn new(seed: u64) -> Self {
        let random = seed.wrapping_mul(SPREAD) | 1;
        Self { pages: [Page::default(), Page::default()], random }
    }

    pub(super) fn count(&mut self, seen: &Seen<'_>) {
        let minute = seen.at.as_millis().div_euclid(MINUTE_MS);
        let page = &mut self.pages[usize::from(minute.rem_euclid(2) == 1)];
        if !page.used {
            page.minute_ms = minute * MINUTE_MS;
            page.used = true;
        }
        // xorshift: sampling needs no better randomness.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        page.count(seen, self.random);
    }
}

impl Page {
    fn count(&mut self, seen: &Seen<'_>, random: u64) {
        let tenant = self.tenants.entry(seen.tenant).or_default();
        tenant.keys.insert(seen.key, seen.at.as_millis());
        let refund = seen.request.operation() == Operation::Refund;
        if !refund && tenant.sketch.is_none() && self.sketches < SKETCHES_MAX {
            tenant.sketch = Some(Box::default());
            self.sketches += 1;
        }
        let decisions = decisions(seen);
        if let Some(plan) = seen.sample {
            let own = TENANT_KEPT_BYTES_MAX.saturating_sub(tenant.kept_bytes);
            let before = own.min(KEPT_BYTES_MAX.saturating_sub(self.kept_bytes));
            let mut room = before;
            tenant.namespace(seen).keep(plan, seen, random, &mut room);
            // There is more room than before if older checks were let go.
            tenant.kept_bytes = (tenant.kept_bytes + before).saturating_sub(room);
            self.kept_bytes = (self.kept_bytes + before).saturating_sub(room);
        }
        let requests = tenant.namespace(seen);
        if refund {
            requests.requests.refunded += 1;
            for it in decisions.iter().filter(|it| it.refunded) {
                requests.rules.entry(it.rule.id).or_default().refunded += 1;
            }
            return;
        }
        requests.count(seen, &decisions);
        for it in &decisions {
            tenant.count_subject(it, seen.request);
        }
        let denied = decisions.iter().find(|it| !it.passes && !it.shadow);
        let logged = denied.or_else(|| decisions.iter().find(|it| !it.passes));
        if let Some(decision) = logged {
            tenant.log(decision, seen, random);
        }
    }

    /// Forgets the numbers and keeps the memory; with `whole` that too.
    pub(super) fn clear(&mut self, whole: bool) {
        self.used = false;
        self.kept_bytes = 0;
        if whole {
            self.tenants.clear();
            self.sketches = 0;
        }
        for tenant in self.tenants.values_mut() {
            for namespace in tenant.namespaces.values_mut() {
                namespace.requests = TallyCounts::default();
                namespace.rules.values_mut().for_each(|it| *it = TallyCounts::default());
                namespace.samples.retain(|it| it.seen() > 0);
                namespace.samples.iter_mut().for_each(Sample::restart);
            }
            if let Some(sketch) = &mut tenant.sketch {
                sketch.clear();
            }
            (tenant.unsketched, tenant.denials_seen, tenant.kept_bytes) = (0, 0, 0);
            tenant.denials.clear();
            tenant.keys.clear();
        }
    }
}

impl TenantPage {
    fn namespace(&mut self, seen: &Seen<'_>) -> &mut NamespacePage {
        let name = if seen.known_namespace { seen.request.namespace() } else { "" };
        if !self.namespaces.contains_key(name) {
            self.namespaces.insert(name.into(), NamespacePage::default());
        }
        self.namespaces.get_mut(name).expect("it was just put there")
    }

    fn count_subject(&mut self, decision: &RuleDecision<'_>, request: &Request) {
        let Some(subject) = decision.subject else { return };
        match &mut self.sketch {
            Some(sketch) => {
                let denied = u64::from(!decision.passes);
                sketch.add((decision.rule.id, subject), 1, denied, |text| {
                    write_subject(text, decision.rule, request);
                });
            }
            None => self.unsketched += 1,
        }
    }

    /// Keeps each refused check with the same chance, however many there are.
    fn log(&mut self, decision: &RuleDecision<'_>, seen: &Seen<'_>, random: u64) {
        self.denials_seen += 1;
        let room = DENIALS_PER_SECOND as usize;
        let place = if self.denials.len() < room {
            self.denials.len()
        } else {
            usize::try_from(random % self.denials_seen).unwrap_or(room)
        };
        if place >= room {
            return;
        }
        let mut subject = String::new();
        write_subject(&mut subject, decision.rule, seen.request);
        let denial = Denial {
            at: seen.at,
            namespace: seen.request.namespace().to_owned(),
            rule: Arc::clone(decision.rule),
            shadow: decision.shadow,
            subject,
            cost: seen.request.cost(),
            retry_after_ms: decision.retry_after_ms,
            degraded: seen.answer.degraded.is_some(),
        };
        match self.denials.get_mut(place) {
            Some(kept) => *kept = denial,
            None => self.denials.push(denial),
        }
    }
}

impl NamespacePage {
    /// Keeps the check if its subject is kept.
    fn keep(&mut self, plan: &Arc<SamplePlan>, seen: &Seen<'_>, random: u64, room: &mut usize) {
        let known = self.samples.iter().position(|it| it.is_by(plan));
        let at = known.unwrap_or_else(|| {
            self.samples.push(Sample::new(Arc::clone(plan)));
            self.samples.len() - 1
        });
        let chance = u32::try_from(random >> 32).expect("half of the bits fit");
        self.samples[at].offer(seen.request, seen.at, chance, room);
    }

    fn count(&mut self, seen: &Seen<'_>, decisions: &[RuleDecision<'_>]) {
        let degraded = u64::from(seen.answer.degraded.is_some());
        let shadow_denied = decisions.iter().any(|it| it.shadow && !it.passes);
        let (allowed, denied) = (u64::from(seen.answer.allowed), u64::from(!seen.answer.allowed));
        let shadow_denied = u64::from(shadow_denied);
        let counts = TallyCounts { allowed, denied, shadow_denied, degraded, refunded: 0 };
        self.requests.add(&counts);
        if seen.answer.code == Some(AnswerCode::TenantRate) {
            self.rules.entry(TENANT_RATE_RULE).or_default().denied += 1;
        }
        for it in decisions {
            let counts = TallyCounts {
                allowed: u64::from(it.passes),
                denied: u64::from(!it.passes && !it.shadow),
                shadow_denied: u64::from(!it.passes && it.shadow),
                degraded,
                refunded: 0,
            };
            self.rules.entry(it.rule.id).or_default().add(&counts);
        }
    }
}

/// What each rule that the request met decided.
fn decisions<'a>(seen: &'a Seen<'_>) -> Vec<RuleDecision<'a>> {
    match seen.matched {
        Matched::Denied(by) => by.iter().map(|rule| outright(rule, false, seen.request)).collect(),
        Matched::Allowed(rule) => vec![outright(rule, true, seen.request)],
        Matched::TooManyLimits => Vec::new(),
        Matched::Charged(charges) => {
            let mut limits = seen.answer.limits.iter();
            let decide = |charge| charged(charge, &mut limits);
            charges.iter().map(decide).collect()
        }
    }
}

/// A rule that let pass or refused without asking a limit.
fn outright<'a>(rule: &'a Arc<ActiveRule>, passes: bool, request: &Request) -> RuleDecision<'a> {
    let count_by = rule.rule.count_by();
    let values: Option<Vec<&str>> = count_by.iter().map(|it| request.attribute(it)).collect();
    let values = values.filter(|values| !values.is_empty());
    let subject = values.map(|values| subject_key(count_by, &values));
    let retry_after_ms = if passes { Some(0) } else { None };
    RuleDecision { rule, subject, shadow: false, passes, retry_after_ms, refunded: false }
}

fn charged<'a>(
    charge: &'a RuleCharge,
    limits: &mut std::slice::Iter<'_, LimitAnswer>,
) -> RuleDecision<'a> {
    let (mut passes, mut refunded, mut retry_after_ms) = (true, false, Some(0));
    for limit in limits.by_ref().take(charge.limits().len()) {
        refunded |= limit.refunded == Some(true);
        if !limit.allowed {
            passes = false;
            let longer = |(before, this): (u64, u64)| before.max(this);
            retry_after_ms = retry_after_ms.zip(limit.retry_after_ms).map(longer);
        }
    }
    let subject = (!charge.active.rule.count_by().is_empty()).then_some(charge.subject);
    let shadow = charge.shadow();
    RuleDecision { rule: &charge.active, subject, shadow, passes, retry_after_ms, refunded }
}

/// Writes the attributes that a rule counts by, each value cut. Neither names nor values hold control
/// characters, so these part them.
fn write_subject(text: &mut String, rule: &ActiveRule, request: &Request) {
    for name in rule.rule.count_by() {
        let Some(value) = request.attribute(name) else { continue };
        let end = if value.len() <= VALUE_CHARS_MAX {
            value.len()
        } else {
            value.char_indices().nth(VALUE_CHARS_MAX).map_or(value.len(), |(at, _)| at)
        };
        text.push_str(name);
        text.push(NAME_END);
        text.push_str(&value[..end]);
        text.push(VALUE_END);
    }
}

/// What was written, as a JSON object.
pub(super) fn subject(text: &str) -> Value {
    let attributes = text.split_terminator(VALUE_END).filter_map(|it| it.split_once(NAME_END));
    let texts = attributes.map(|(name, value)| (name.to_owned(), Value::String(value.to_owned())));
    Value::Object(texts.collect())
}

const NAME_END: char = '\u{1f}';
const VALUE_END: char = '\u{1e}';
