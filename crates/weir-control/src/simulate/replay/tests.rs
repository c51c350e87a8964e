use std::time::Duration;

use serde_json::{Value, json};
use weir_domain::id::RuleId;
use weir_domain::overrides::Overrides;
use weir_wire::overrides::OverrideBody;
use weir_wire::rules::RuleBody;

use super::*;

fn active(body: Value) -> Arc<ActiveRule> {
    let body: RuleBody = serde_json::from_value(body).expect("a rule");
    let rule = body.parse().expect("valid");
    Arc::new(ActiveRule::new(RuleId::from_u128(7), rule, Overrides::default()))
}

fn per_user(limit: &Value) -> Value {
    json!({ "name": "per-user", "count_by": ["user"], "limits": [limit] })
}

fn fixed(limit: u64) -> Value {
    json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": 10_000 })
}

/// A replay of checks with a time in milliseconds, a user and a cost. A negative cost is a refund.
fn replay(
    present: Option<Value>,
    candidate: Value,
    (from, to): (i64, i64),
    checks: &[(i64, &str, i64)],
) -> Replay {
    let mut traffic = Traffic::new("default");
    for (at, user, cost) in checks {
        let attributes = [("user".to_owned(), (*user).to_owned())].into();
        let request = traffic.request(attributes).expect("valid");
        let operation = if *cost < 0 { Operation::Refund } else { Operation::Consume };
        let at = Timestamp::from_millis(*at);
        traffic.asked.push(ReplayedCheck { at, request, cost: cost.unsigned_abs(), operation });
    }
    traffic.sort();
    Replay {
        tenant: TenantId::from_u128(1),
        present: present.map(active),
        candidate: active(candidate),
        traffic,
        steps: Steps::new(Timestamp::from_millis(from), Timestamp::from_millis(to)),
    }
}

fn run(replay: &Replay) -> Outcome {
    replay.run(Instant::now() + Duration::from_mins(1)).expect("in time")
}

#[test]
fn halved_limit_denies_what_was_counted_by_hand() {
    let mut checks: Vec<_> = (0..5).map(|at| (at * 1_000, "ada", 1)).collect();
    checks.extend([(500, "bob", 1), (1_500, "bob", 1), (10_000, "ada", 1)]);
    let all = replay(Some(per_user(&fixed(4))), per_user(&fixed(2)), (0, 20_000), &checks);
    let outcome = run(&all);
    assert_eq!((outcome.present.allowed, outcome.present.denied), (7, 1), "ada's fifth");
    assert_eq!((outcome.candidate.allowed, outcome.candidate.denied), (5, 3), "from her third on");
    assert_eq!(outcome.candidate.denied_series[..5], [0, 0, 1, 1, 1]);
    assert_eq!(outcome.candidate.allowed_series[10], 1, "a new window");
    let subjects = outcome.subjects();
    assert_eq!((subjects.seen, subjects.more_denied, subjects.less_denied), (2, 1, 0));
    let ada = &subjects.data[0];
    assert_eq!(ada.subject["user"], "ada");
    assert_eq!((ada.denied_before, ada.denied_after, ada.allowed_after), (1, 3, 3));
}

#[test]
fn warm_up_fills_counters_and_is_not_counted() {
    let checks = [(1_000, "ada", 3), (12_000, "ada", 3), (15_000, "ada", 1), (16_000, "ada", 1)];
    let outcome = run(&replay(None, per_user(&fixed(4)), (15_000, 20_000), &checks));
    assert_eq!((outcome.candidate.allowed, outcome.candidate.denied), (1, 1));
    assert_eq!((outcome.present.met, outcome.present.allowed), (0, 2), "no rule before");
    let cold = run(&replay(None, per_user(&fixed(4)), (15_000, 20_000), &checks[2..]));
    assert_eq!(cold.candidate.denied, 0);
}

#[test]
fn refunds_give_back_and_are_no_checks() {
    let checks = [(0, "ada", 2), (1, "ada", -2), (2, "ada", 2)];
    let outcome = run(&replay(None, per_user(&fixed(2)), (0, 1_000), &checks));
    assert_eq!((outcome.candidate.allowed, outcome.candidate.denied), (2, 0));
}

/// A check that matches only one of the rules passes under the other one, so both sides count the same checks.
#[test]
fn both_sides_count_the_same_checks() {
    let only = |user: &str| {
        let mut rule = per_user(&fixed(1));
        rule["match"] = json!([{ "attribute": "user", "op": "equals", "value": user }]);
        rule
    };
    let checks = [(0, "ada", 1), (1, "ada", 1), (2, "bob", 1), (3, "cleo", 1)];
    let outcome = run(&replay(Some(only("ada")), only("bob"), (0, 1_000), &checks));
    let sums = |side: &weir_wire::simulate::SimulatedSide| (side.met, side.allowed, side.denied);
    assert_eq!((sums(&outcome.present), sums(&outcome.candidate)), ((2, 2, 1), (1, 3, 0)));
    let off = json!({ "name": "a", "mode": "off", "action": "deny" });
    let outcome =
        run(&replay(Some(json!({ "name": "a", "action": "deny" })), off, (0, 9), &checks));
    assert_eq!((outcome.present.denied, outcome.candidate.denied), (4, 0), "switched off");
    assert_eq!(outcome.subjects().data[0].subject.len(), 0, "counted together");
}

#[test]
fn overrides_hold_in_the_replay() {
    let mut all = replay(None, per_user(&fixed(1)), (0, 1_000), &[(0, "ada", 1), (1, "ada", 1)]);
    let body = json!({ "rule_id": "rule_x", "subject": { "user": "ada" }, "action": "allow" });
    let body: OverrideBody = serde_json::from_value(body).expect("an override");
    let rule = all.candidate.rule.clone();
    let parsed = body.parse(&rule).expect("valid");
    let id = weir_domain::id::OverrideId::from_u128(1);
    let overrides = Overrides::build(&rule, vec![(id, parsed, None)]);
    all.candidate = Arc::new(ActiveRule::new(RuleId::from_u128(7), rule, overrides));
    assert_eq!(run(&all).candidate.denied, 0);
}

/// A gate's `decide` gives the same results for the same checks at the same times, with each algorithm.
#[test]
fn replay_decides_as_a_gate_does() {
    let limits = [
        fixed(5),
        json!({ "algorithm": "sliding_window_log", "limit": 5, "window_ms": 7_000, "count_denied": true }),
        json!({ "algorithm": "sliding_window_counter", "limit": 5, "window_ms": 7_000 }),
        json!({ "algorithm": "token_bucket", "capacity": 5, "refill_tokens": 1, "refill_interval_ms": 900 }),
        json!({ "algorithm": "leaky_bucket", "capacity": 5, "drain_units": 1, "drain_interval_ms": 900 }),
        json!({ "algorithm": "spacing", "interval_ms": 700 }),
        json!({ "algorithm": "quota", "limit": 5, "period": "day", "time_zone": "Europe/Berlin" }),
    ];
    for limit in limits {
        let users = ["ada", "bob", "cleo"];
        let asking = users.iter().cycle();
        let checks: Vec<_> = (0..300_i64)
            .zip(asking)
            .map(|(at, user)| (at * at % 40_000, *user, 1 + at % 2))
            .collect();
        let mut body = per_user(&limit);
        body["block_ms"] = json!(1_500);
        let replay = replay(None, body, (0, 40_000), &checks);
        let mut counters = Counters::default();
        let mut denied = 0;
        for asked in &replay.traffic.asked {
            let request = &replay.traffic.requests[asked.request as usize];
            let RuleMatch::Charged(charge) = match_rule(&replay.candidate, request, asked.at)
            else {
                panic!("it meets the rule");
            };
            let now = micros(asked.at);
            let meters = charge.meters(replay.tenant, |quota| calendar::bounds(quota, now));
            let check = Check {
                operation: Operation::Consume,
                cost: asked.cost,
                rules: vec![meters],
                lease_id: None,
                charged: None,
            };
            let decisions = decide(&mut counters, &check, now);
            denied += u64::from(decisions.iter().any(|decision| !decision.allowed));
        }
        assert!(denied > 10, "{limit}");
        assert_eq!(run(&replay).candidate.denied, denied, "{limit}");
    }
}

#[test]
fn deadline_ends_it() {
    let all = replay(None, per_user(&fixed(1)), (0, 1_000), &[(0, "ada", 1)]);
    assert_eq!(all.run(Instant::now()).map(|_| ()), Err(TooSlow));
}
