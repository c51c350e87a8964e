use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weir_domain::id::{KeyId, RequestId, RuleId, TenantId};
use weir_domain::matching::{Matched, matched};
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_domain::rulebook::TenantRules;
use weir_domain::time::Timestamp;
use weir_domain::unmatched::{UNKNOWN_NAMESPACE_RULE, UNMATCHED_RULE, missing_attribute_rule};
use weir_http::request_id::RequestIds;
use weir_store::{CustomerDayRow, DENIALS_PER_SECOND, SketchEntry, TallyCounts, TallyRow};
use weir_wire::stored::{StoredRule, StoredTenant};

use super::accumulator::{TallyAccumulator, TallyBatch};
use super::*;
use crate::requests::answer::AnswerTemplate;

const NOON_MS: i64 = 1_763_726_400_000;
/// The number of the id of all requests.
const REQUEST: u128 = (1 << 127) | 0x21;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(NOON_MS + ms)
}

/// A tenant with a limit by user, a shadow rule that refuses all above cost 5, and a rule that denies a user.
struct Fixture {
    tally: Tally,
    tenant: TenantId,
    rules: TenantRules,
}

impl Fixture {
    fn new() -> Self {
        let tenant = TenantId::from_u128(1);
        let limits = |limit: u64| json!([{ "algorithm": "fixed_window", "limit": limit, "window_ms": 60_000 }]);
        let stored = |id: u128, body: Value| {
            Arc::new(StoredRule {
                id: RuleId::from_u128(id).to_string(),
                slots: if body["limits"].is_array() { vec![0] } else { Vec::new() },
                body: body.to_string().into(),
                revision: Some(1),
                newer_unreadable: None,
            })
        };
        let barred = json!([{ "attribute": "user", "op": "equals", "value": "eve" }]);
        let rules = vec![
            stored(10, json!({ "name": "per-user", "count_by": ["user"], "limits": limits(100) })),
            stored(
                11,
                json!({ "name": "dear", "mode": "shadow", "count_by": ["user"], "limits": limits(5) }),
            ),
            stored(12, json!({ "name": "barred", "action": "deny", "match": barred })),
        ];
        let stored = StoredTenant {
            id: tenant.to_string(),
            suspended: false,
            record_checks: true,
            enforced: true,
            checks_per_second: None,
            version: 1,
            keys: Vec::new(),
            rules,
            overrides: Vec::new(),
            profiles: Vec::new(),
            spread: BTreeMap::new(),
            customer_attribute: None,
            customer_view: None,
            plans: Vec::new(),
            assignments: Vec::new(),
        };
        let (rules, left_out) = stored.compile();
        assert_eq!(left_out, []);
        Self { tally: Tally::new(2), tenant, rules }
    }

    /// Answers a request as a gate does, from fresh counters, and counts it.
    fn ask(&self, now: Timestamp, operation: Operation, user: &str, cost: u64) {
        let attributes = BTreeMap::from([("user".to_owned(), user.to_owned())]);
        let namespace = "default".to_owned();
        let draft = RequestDraft { namespace, attributes, cost, operation, idempotency_key: None };
        let request = Request::parse(draft).expect("valid");
        let matched = matched(self.rules.rules("default"), &request, now);
        let answer = match &matched {
            Matched::Charged(charges) => {
                let local =
                    crate::outage::local::Local::new(weir_domain::time::Clock::new(move || now));
                let decisions = local.decide(self.tenant, operation, cost, charges);
                AnswerTemplate::of_charges(charges, 1, now).answer(&decisions, operation)
            }
            Matched::Denied(by) => AnswerTemplate::denied(by, 1).answer(&[], Operation::Consume),
            Matched::Allowed(_) | Matched::Unmatched(_) | Matched::TooManyLimits => {
                AnswerTemplate::of_charges(&[], 1, now).answer(&[], Operation::Consume)
            }
        };
        self.tally.record(&DecisionEvent {
            tenant: self.tenant,
            key: KeyId::from_u128(2),
            at: now,
            request_id: Some(RequestIds::new(|| REQUEST).next()),
            trace_id: Some(5),
            took: Duration::from_micros(90),
            known_namespace: true,
            sample: None,
            customer_attribute: Some("user"),
            requests: std::slice::from_ref(&request),
            origins: &[],
            matched: &matched,
            answer: &answer,
        });
    }
}

/// The row of a rule. `None` means the row of whole requests.
fn row(batch: &TallyBatch, rule: Option<u128>, minute: Timestamp) -> TallyCounts {
    let rule = rule.map(RuleId::from_u128);
    let wanted = |row: &&TallyRow| row.rule_id == rule && row.minute == minute;
    batch.rows.iter().find(wanted).map(|row| row.counts).unwrap_or_default()
}

fn counts(allowed: u64, denied: u64, shadow_denied: u64) -> TallyCounts {
    TallyCounts { allowed, denied, shadow_denied, ..TallyCounts::default() }
}

#[test]
fn checks_beyond_the_tenants_ceiling_have_a_count_of_their_own() {
    let fixture = Fixture::new();
    let mut accumulator = TallyAccumulator::new(1);
    let attributes = BTreeMap::from([("user".to_owned(), "ada".to_owned())]);
    let namespace = "default".to_owned();
    let operation = Operation::Consume;
    let draft = RequestDraft { namespace, attributes, cost: 1, operation, idempotency_key: None };
    let request = Request::parse(draft).expect("valid");
    let without = AnswerTemplate::of_charges(&[], 1, at(0)).answer(&[], Operation::Consume);
    let code = Some(weir_wire::check::AnswerCode::TenantRate);
    let answer = weir_wire::check::CheckAnswer { allowed: false, code, ..without };
    for _ in 0..3 {
        fixture.tally.record(&DecisionEvent {
            tenant: fixture.tenant,
            key: KeyId::from_u128(2),
            at: at(0),
            request_id: None,
            trace_id: None,
            took: Duration::from_micros(90),
            known_namespace: true,
            sample: None,
            customer_attribute: None,
            requests: std::slice::from_ref(&request),
            origins: &[],
            matched: &Matched::Charged(Vec::new()),
            answer: &answer,
        });
    }
    accumulator.collect(&fixture.tally, at(1_000));
    let batch = accumulator.batch(true, at(1_000));
    assert_eq!(row(&batch, None, at(0)), counts(0, 3, 0));
    let reserved = weir_domain::ceilings::TENANT_RATE_RULE.to_u128();
    assert_eq!(row(&batch, Some(reserved), at(0)), counts(0, 3, 0));
}

#[test]
fn checks_that_no_rule_counts_are_counted_by_their_reason() {
    let mut accumulator = TallyAccumulator::new(1);
    let tally = Tally::new(2);
    let (answer, tenant) = (AnswerTemplate::of_charges(&[], 1, at(0)), TenantId::from_u128(5));
    let ask = |namespace: &str, known, operation, missing: Option<&str>| {
        let (namespace, attributes) = (namespace.to_owned(), BTreeMap::new());
        let draft =
            RequestDraft { namespace, attributes, cost: 1, operation, idempotency_key: None };
        let request = Request::parse(draft).expect("valid");
        tally.record(&DecisionEvent {
            tenant,
            key: KeyId::from_u128(2),
            at: at(0),
            request_id: None,
            trace_id: None,
            took: Duration::from_micros(90),
            known_namespace: known,
            sample: None,
            customer_attribute: None,
            requests: std::slice::from_ref(&request),
            origins: &[],
            matched: &Matched::Unmatched(missing.map(str::to_owned)),
            answer: &answer.clone().answer(&[], operation),
        });
    };
    for _ in 0..3 {
        ask("default", true, Operation::Consume, Some("user"));
    }
    ask("default", true, Operation::Consume, None);
    ask("default", true, Operation::Record, Some("user"));
    ask("default", true, Operation::Refund, None);
    for name in 0..40 {
        ask(&format!("n{name}"), false, Operation::Consume, None);
    }
    accumulator.collect(&tally, at(1_000));
    let batch = accumulator.batch(true, at(1_000));
    let found = |rule: RuleId, namespace: &str| {
        let wanted = |row: &&TallyRow| row.rule_id == Some(rule) && row.namespace == namespace;
        let counts = batch.rows.iter().find(wanted).map(|row| row.counts).unwrap_or_default();
        (counts.allowed, counts.recorded)
    };
    assert_eq!(found(UNMATCHED_RULE, "default"), (4, 1));
    assert_eq!(found(missing_attribute_rule("user"), "default"), (3, 1));
    assert_eq!(found(UNKNOWN_NAMESPACE_RULE, "n0"), (1, 0));
    let unknown: Vec<_> =
        batch.rows.iter().filter(|row| row.rule_id == Some(UNKNOWN_NAMESPACE_RULE)).collect();
    assert_eq!(unknown.len(), 17, "16 names, and those without one");
    assert_eq!(unknown.iter().map(|row| row.counts.allowed).sum::<u64>(), 40);
}

#[test]
fn requests_and_rules_are_counted_in_their_minutes() {
    let fixture = Fixture::new();
    let mut accumulator = TallyAccumulator::new(1);
    for _ in 0..3 {
        fixture.ask(at(59_999), Operation::Consume, "ada", 1);
    }
    fixture.ask(at(60_000), Operation::Consume, "ada", 9);
    fixture.ask(at(60_000), Operation::Consume, "eve", 1);
    fixture.ask(at(60_001), Operation::Consume, "ada", 200);
    fixture.ask(at(60_002), Operation::Refund, "ada", 1);
    fixture.ask(at(60_002), Operation::Record, "ada", 1_000);
    assert_eq!(accumulator.collect(&fixture.tally, at(61_000)), 0);
    let batch = accumulator.batch(true, at(61_000));
    assert_eq!(row(&batch, None, at(0)), counts(3, 0, 0));
    let requests = TallyCounts { refunded: 1, recorded: 1, ..counts(1, 2, 2) };
    assert_eq!(row(&batch, None, at(60_000)), requests);
    let limit = TallyCounts { refunded: 1, recorded: 1, ..counts(1, 1, 0) };
    assert_eq!(row(&batch, Some(10), at(60_000)), limit);
    let shadow = TallyCounts { recorded: 1, ..counts(0, 0, 2) };
    assert_eq!(row(&batch, Some(11), at(60_000)), shadow, "the shadow rule");
    assert_eq!(row(&batch, Some(12), at(60_000)), counts(0, 1, 0), "refused outright");
    assert_eq!(batch.keys, [(fixture.tenant, KeyId::from_u128(2), at(60_002))]);
    let hours: Vec<_> = batch.key_hours.iter().map(|row| (row.hour, row.requests)).collect();
    assert_eq!(hours, [(at(0), 8)], "every kind of request");
    let customers = accumulator.customers.batch().expect("customers were counted").rows.clone();
    let of_customer = |customer: &str, rule: Option<u128>| {
        let rule = rule.map(RuleId::from_u128);
        let wanted = |row: &&CustomerDayRow| row.customer == customer && row.rule_id == rule;
        let counts = customers.iter().find(wanted).map(|row| row.counts).unwrap_or_default();
        (counts.allowed, counts.denied, counts.units)
    };
    assert_eq!(of_customer("ada", None), (4, 1, 3 + 9 - 1 + 1_000), "with a refund and a record");
    assert_eq!(of_customer("ada", Some(10)), (4, 1, 3 + 9 - 1 + 1_000));
    assert_eq!(of_customer("ada", Some(11)).1, 0, "denied in shadow mode");
    assert_eq!((of_customer("eve", None), of_customer("eve", Some(12))), ((0, 1, 0), (0, 1, 0)));
    let traffic = accumulator.traffic;
    assert_eq!((traffic.checks, traffic.denied), (6, 2), "without refunds and records");
    assert_eq!(traffic.latencies.counts()[2], 6, "90 µs each");

    let sketch = &batch.sketches[0];
    for (rule, denied, shadow_denied) in [(10, 1, 0), (11, 2, 2)] {
        let of_rule = |entry: &&SketchEntry| entry.rule_id == RuleId::from_u128(rule);
        let ada = sketch.entries.iter().find(of_rule).expect("held");
        assert_eq!((ada.checks, &ada.subject), (5, &json!({ "user": "ada" })));
        assert_eq!((ada.denied, ada.shadow_denied), (denied, shadow_denied), "{rule}");
    }
    let logged: Vec<_> =
        batch.denials.iter().map(|denial| (denial.rule.as_str(), denial.shadow)).collect();
    assert_eq!(logged, [("dear", true), ("barred", false), ("per-user", false)]);
    assert_eq!(batch.denials[2].retry_after_ms, None, "it can never pass");
    let detail = |at: usize| &batch.denials[at].detail;
    assert_eq!(detail(2).request_id.map(RequestId::to_u128), Some(REQUEST));
    assert_eq!((detail(2).rule_revision, detail(2).trace_id), (Some(1), Some(5)));
    assert_eq!(
        (&detail(2).limits[0]["limit"], detail(2).limits.as_array().map(Vec::len)),
        (&json!(100), Some(1))
    );
    assert_eq!((&detail(1).limits, detail(1).override_id), (&json!([]), None));
}

#[test]
fn counts_are_absolute_and_only_what_changed_is_written() {
    let fixture = Fixture::new();
    let mut accumulator = TallyAccumulator::new(1);
    for second in 0..5 {
        fixture.ask(at(second * 1_000), Operation::Consume, "ada", 1);
        accumulator.collect(&fixture.tally, at(second * 1_000));
        let batch = accumulator.batch(true, at(second * 1_000));
        // Counts are cumulative. Every other batch is not written, as after a failed flush.
        let expected = counts(u64::try_from(second).expect("small") + 1, 0, 0);
        assert_eq!(row(&batch, None, at(0)), expected);
        if second % 2 == 0 {
            accumulator.written(&batch, at(second * 1_000));
            assert_eq!(accumulator.batch(true, at(second * 1_000)).rows, []);
        }
    }
    let later = at(10 * 60_000);
    accumulator.collect(&fixture.tally, later);
    accumulator.written(&accumulator.batch(true, later), later);
    assert_eq!(accumulator.row_count(), 0, "final minutes are dropped from memory");
    fixture.ask(at(1), Operation::Consume, "ada", 1);
    accumulator.collect(&fixture.tally, later);
    let late = accumulator.batch(true, later);
    assert_eq!(late.rows.len(), 3);
    assert!(late.rows[0].minute > at(0), "a final minute is not counted again");
}

#[test]
fn ten_minutes_without_postgres_lose_nothing() {
    let fixture = Fixture::new();
    let mut accumulator = TallyAccumulator::new(1);
    for second in 0..600 {
        fixture.ask(at(second * 1_000), Operation::Consume, "ada", 1);
        accumulator.collect(&fixture.tally, at(second * 1_000));
    }
    let batch = accumulator.batch(true, at(600_000));
    let requests = batch.rows.iter().filter(|row| row.rule_id.is_none());
    assert_eq!(requests.map(|row| row.counts.allowed).sum::<u64>(), 600);
    assert_eq!(batch.unrecorded, []);
}

#[test]
fn oldest_minutes_beyond_the_capacity_are_dropped_and_counted() {
    let fixture = Fixture::new();
    let mut accumulator = TallyAccumulator::new(1).with_capacity(9);
    let mut lost = 0;
    for minute in 0..10 {
        for _ in 0..=minute {
            fixture.ask(at(minute * 60_000), Operation::Consume, "ada", 1);
        }
        lost += accumulator.collect(&fixture.tally, at(minute * 60_000));
    }
    let batch = accumulator.batch(true, at(600_000));
    assert_eq!(accumulator.row_count(), 9, "three minutes of three rows");
    let requests = batch.rows.iter().filter(|row| row.rule_id.is_none());
    assert_eq!((requests.map(|row| row.counts.allowed).sum::<u64>(), lost), (8 + 9 + 10, 28));
    assert_eq!(batch.unrecorded.iter().map(|minute| minute.dropped).sum::<u64>(), lost);
}

#[test]
fn log_is_a_sample_that_stands_for_all() {
    let fixture = Fixture::new();
    let mut accumulator = TallyAccumulator::new(1);
    for _ in 0..1_003 {
        fixture.ask(at(5), Operation::Consume, "eve", 1);
    }
    accumulator.collect(&fixture.tally, at(5));
    let batch = accumulator.batch(true, at(5));
    assert!(batch.denials.len() <= DENIALS_PER_SECOND as usize);
    assert_eq!(batch.denials.iter().map(|denial| u64::from(denial.stands_for)).sum::<u64>(), 1_003);
    let ids: std::collections::BTreeSet<_> = batch.denials.iter().map(|denial| denial.id).collect();
    assert_eq!(ids.len(), batch.denials.len());
}

#[test]
fn request_that_finds_every_shard_taken_is_counted_as_unrecorded() {
    let fixture = Fixture::new();
    let mut accumulator = TallyAccumulator::new(1);
    {
        let _held: Vec<_> =
            fixture.tally.shards.iter().map(|shard| shard.lock().unwrap()).collect();
        fixture.ask(at(5), Operation::Consume, "ada", 1);
    }
    assert_eq!(accumulator.collect(&fixture.tally, at(5)), 1);
    let batch = accumulator.batch(true, at(5));
    assert_eq!((batch.rows.len(), batch.unrecorded[0].dropped), (0, 1));
}

#[test]
fn memory_for_many_subjects_is_bounded() {
    let fixture = Fixture::new();
    let mut accumulator = TallyAccumulator::new(1);
    let mut most = 0;
    for at_ms in 0..20_000 {
        fixture.ask(at(at_ms / 10), Operation::Consume, &format!("user-{at_ms}"), 1);
        if at_ms % 1_000 == 0 {
            accumulator.collect(&fixture.tally, at(at_ms / 10));
            let batch = accumulator.batch(true, at(at_ms / 10));
            most = most
                .max(batch.sketches.iter().map(|sketch| sketch.entries.len()).max().unwrap_or(0));
        }
    }
    assert!(most <= 64, "{most}");
    assert!(accumulator.row_count() <= 3);
}

#[test]
fn counts_of_a_shard_that_a_panic_poisoned_are_read() {
    let fixture = Fixture::new();
    fixture.ask(at(0), Operation::Consume, "ada", 1);
    for shard in &fixture.tally.shards {
        let panicked = std::panic::catch_unwind(|| {
            let _held = shard.lock();
            panic!("poison the shard");
        });
        assert!(panicked.is_err() && shard.is_poisoned());
    }
    fixture.ask(at(1), Operation::Consume, "ada", 1);
    let mut accumulator = TallyAccumulator::new(1);
    assert_eq!(accumulator.collect(&fixture.tally, at(61_000)), 0, "none went unrecorded");
    assert_eq!(row(&accumulator.batch(false, at(61_000)), None, at(0)), counts(2, 0, 0));
}

#[test]
fn steps_of_ten_seconds_are_written_once_after_their_end() {
    let fixture = Fixture::new();
    let mut accumulator = TallyAccumulator::new(1);
    let turn = |accumulator: &mut TallyAccumulator, now: Timestamp| {
        accumulator.collect(&fixture.tally, now);
        let batch = accumulator.batch(false, now);
        accumulator.written(&batch, now);
        batch.steps
    };
    fixture.ask(at(1_000), Operation::Consume, "ada", 1);
    fixture.ask(at(1_000), Operation::Consume, "eve", 1);
    assert!(turn(&mut accumulator, at(2_000)).is_empty(), "the step has not ended");
    fixture.ask(at(9_000), Operation::Consume, "ada", 1);
    assert!(turn(&mut accumulator, at(9_500)).is_empty());
    fixture.ask(at(10_100), Operation::Consume, "ada", 1);
    let mut steps = turn(&mut accumulator, at(10_500));
    steps.sort_by_key(|step| step.rule_id);
    let whole = &steps[0];
    assert_eq!((whole.at, whole.rule_id, whole.counts), (at(0), None, counts(2, 1, 0)));
    let latencies = whole.latencies.expect("of whole requests");
    assert_eq!(latencies.counts()[2], 3, "90 us is in the bin up to 100 us");
    assert!(steps[1..].iter().all(|step| step.latencies.is_none() && step.at == at(0)));
    assert!(turn(&mut accumulator, at(11_500)).is_empty(), "once");
    let rest = turn(&mut accumulator, at(20_000));
    assert_eq!(
        rest.iter().find(|step| step.rule_id.is_none()).map(|step| step.at),
        Some(at(10_000))
    );
}

#[test]
fn steps_that_cannot_be_written_are_bounded() {
    let fixture = Fixture::new();
    let mut accumulator = TallyAccumulator::new(1).with_steps_max(6);
    for step in 0..100 {
        fixture.ask(at(step * 10_000), Operation::Consume, "ada", 1);
        accumulator.collect(&fixture.tally, at(step * 10_000));
    }
    let steps = accumulator.batch(false, at(2_000_000)).steps;
    assert!((1..=6).contains(&steps.len()), "{}", steps.len());
    assert!(steps.iter().all(|step| step.at >= at(970_000)), "the oldest are dropped");
}
