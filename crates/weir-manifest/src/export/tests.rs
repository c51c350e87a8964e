use proptest::prelude::*;

use super::*;
use crate::rule_set::{RuleSet, SourceFile};

/// Reads a manifest.
fn read(text: &str) -> Vec<RuleBody> {
    let file = SourceFile { name: "a.yaml".to_owned(), text: text.to_owned() };
    let set = RuleSet::read(&[file]).unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}"));
    set.rules().into_iter().map(|rule| rule.rule).collect()
}

fn body(json: Value) -> RuleBody {
    serde_json::from_value(json).expect("a rule")
}

#[test]
fn manifest_has_no_defaults() {
    let rule = body(json!({
        "namespace": "api", "name": "login", "count_by": ["user", "ip"],
        "match": [{ "attribute": "route", "op": "equals", "value": "/login" }],
        "limits": [
            { "algorithm": "sliding_window_log", "limit": 5, "window_ms": 60_000 },
            { "algorithm": "quota", "limit": 100, "period": "month" },
        ],
        "block_ms": 1500,
    }));
    let text = manifest(&rule);
    let expected = "\
---
apiVersion: weir/v1
kind: Rule
metadata: { namespace: api, name: login }
spec:
  match:
    - { attribute: route, op: equals, value: /login }
  count_by: [user, ip]
  limits:
    - { algorithm: sliding_window_log, limit: 5, window: 1m }
    - { algorithm: quota, limit: 100, period: month }
  block: 1500ms
";
    assert_eq!(text, expected);
    assert_eq!(read(&text), [rule]);
}

#[test]
fn rule_without_limits_is_read_back() {
    let deny = body(json!({ "name": "closed", "action": "deny" }));
    assert_eq!(read(&manifest(&deny)), [deny]);
}

#[test]
fn assignments_are_one_document_and_read_back() {
    let assignments = json!([
        { "customer": "007", "plan": "pro" },
        { "customer": "a: b", "plan": "free", "from": "2026-12-01T00:00:00Z", "note": "in May" },
    ]);
    let assignments: Vec<ApplyAssignment> = serde_json::from_value(assignments).expect("valid");
    let text = assignments_manifest(&assignments);
    let expected = "\
---
apiVersion: weir/v1
kind: Assignments
spec:
  - { customer: \"007\", plan: pro }
  - { customer: \"a: b\", plan: free, from: \"2026-12-01T00:00:00Z\", note: \"in May\" }
";
    assert_eq!(text, expected);
    let files = [SourceFile { name: "a.yaml".to_owned(), text }];
    assert_eq!(RuleSet::read(&files).expect("valid").assignments(), assignments);
    assert_eq!(assignments_manifest(&[]), "");
}

#[test]
fn plan_is_written_on_few_lines_and_read_back() {
    let plan = json!({
        "name": "pro", "description": "For companies",
        "rules": [
            { "namespace": "api", "rule": "per-org",
              "limits": [{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }] },
            { "namespace": "api", "rule": "exports", "action": "allow" },
        ],
    });
    let plan: PlanBody = serde_json::from_value(plan).expect("a plan");
    let text = plan_manifest(&plan);
    let expected = "\
---
apiVersion: weir/v1
kind: Plan
metadata: { name: pro }
spec:
  description: \"For companies\"
  rules:
    - { namespace: api, rule: per-org, limits: [{ algorithm: fixed_window, limit: 5, window: 1m }] }
    - { namespace: api, rule: exports, action: allow }
";
    assert_eq!(text, expected);
    let file = |text: String| [SourceFile { name: "a.yaml".to_owned(), text }];
    let set = RuleSet::read(&file(text.clone())).expect("valid");
    assert_eq!(set.plans().iter().map(|wanted| &wanted.plan).collect::<Vec<_>>(), [&plan]);
    let empty = PlanBody { description: String::new(), rules: Vec::new(), ..plan };
    let set = RuleSet::read(&file(plan_manifest(&empty))).expect("valid");
    assert_eq!(set.plans()[0].plan, empty);
    let wrong = RuleSet::read(&file(text.replace("action: allow", "action: limit")));
    let wrong = wrong.expect_err("an action without limits");
    assert_eq!((wrong[0].at.line, wrong.len()), (9, 1), "{wrong:?}");
}

fn limits() -> impl Strategy<Value = Value> {
    let limit = 1..10_000_u64;
    let span = 1..31_622_400_000_u64;
    prop_oneof![
        (limit.clone(), span.clone()).prop_map(
            |(limit, ms)| json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": ms })
        ),
        (limit.clone(), span.clone(), any::<bool>()).prop_map(|(limit, ms, count_denied)| json!({
            "algorithm": "sliding_window_log", "limit": limit, "window_ms": ms,
            "count_denied": count_denied,
        })),
        (limit.clone(), span.clone()).prop_map(|(limit, ms)| json!({
            "algorithm": "sliding_window_counter", "limit": limit, "window_ms": ms,
        })),
        (limit.clone(), limit.clone(), span.clone()).prop_map(|(capacity, tokens, ms)| json!({
            "algorithm": "token_bucket", "capacity": capacity, "refill_tokens": tokens,
            "refill_interval_ms": ms,
        })),
        (limit.clone(), limit.clone(), span.clone()).prop_map(|(capacity, units, ms)| json!({
            "algorithm": "leaky_bucket", "capacity": capacity, "drain_units": units,
            "drain_interval_ms": ms,
        })),
        (1..1_000_u64, 1_000..86_400_000_u64).prop_map(|(capacity, ms)| json!({
            "algorithm": "concurrency", "capacity": capacity, "lease_ms": ms,
        })),
        span.prop_map(|ms| json!({ "algorithm": "spacing", "interval_ms": ms })),
        (limit, prop_oneof!["UTC", "Europe/Berlin"], 1..28_u16).prop_map(|(limit, zone, day)| {
            json!({
                "algorithm": "quota", "limit": limit, "period": "month", "time_zone": zone,
                "anchor_day": day,
            })
        }),
    ]
}

/// Reads the profiles of a manifest.
fn read_profiles(text: &str) -> Vec<ProfileBody> {
    let file = SourceFile { name: "a.yaml".to_owned(), text: text.to_owned() };
    let set = RuleSet::read(&[file]).unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}"));
    set.profiles().into_iter().map(|profile| profile.profile).collect()
}

#[test]
fn profiles_have_no_defaults_and_are_read_back() {
    let profile = |json: Value| -> ProfileBody { serde_json::from_value(json).expect("a profile") };
    let gateway = profile(json!({
        "name": "edge", "reads": "forward_auth", "namespace": "api", "trusted_hops": 2,
        "attributes": {
            "ip": { "from": "address" }, "no": { "from": "path" },
            "client": { "from": "header", "name": "authorization", "hash": true },
            "plan": { "from": "header", "name": "x-plan", "default": "1.10" },
        },
        "cost": { "from": "header", "name": "x-cost" },
        "idempotency": { "from": "header", "name": "idempotency-key" },
    }));
    let expected = "\
---
apiVersion: weir/v1
kind: Gateway
metadata: { name: edge }
spec:
  reads: forward_auth
  namespace: api
  trusted_hops: 2
  attributes:
    client: { from: header, name: authorization, hash: true }
    ip: { from: address }
    \"no\": { from: path }
    plan: { from: header, name: x-plan, default: \"1.10\" }
  cost: { from: header, name: x-cost }
  idempotency: { from: header, name: idempotency-key }
";
    assert_eq!(profile_manifest(&gateway), expected);
    let domain = profile(json!({
        "name": "http", "reads": "rate_limit_service", "domain": "eg/default/http",
        "namespace": "api", "descriptors": "merged", "rename": { "Remote Address": "ip" },
    }));
    let text = profile_manifest(&domain);
    assert!(text.contains("kind: EnvoyDomains\nspec:\n  - { name: http, "), "{text}");
    let all = profile(json!({ "name": "all", "reads": "rate_limit_service", "domain": "*" }));
    for profile in [gateway, domain, all] {
        let text = profile_manifest(&profile);
        assert_eq!(read_profiles(&text), [profile], "{text}");
    }
}

#[test]
fn overrides_are_read_as_they_were() {
    let one = |json: Value| -> ApplyOverride { serde_json::from_value(json).expect("an override") };
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }]);
    let overrides = [
        one(json!({
            "namespace": "api", "rule": "login", "subject": { "user": "17" }, "limits": limits,
            "expires_at": "2027-01-01T00:00:00Z", "reason": "moving: house",
        })),
        one(json!({
            "namespace": "api", "rule": "login", "subject": { "user": "*" }, "action": "deny",
        })),
    ];
    let text = override_manifest(&overrides);
    let expected = "\
---
apiVersion: weir/v1
kind: Overrides
metadata: { namespace: api, rule: login }
spec:
  - { subject: { user: \"17\" }, limits: [{ algorithm: fixed_window, limit: 5, window: 1m }], \
expires_at: \"2027-01-01T00:00:00Z\", reason: \"moving: house\" }
  - { subject: { user: \"*\" }, action: deny }
";
    assert_eq!(text, expected);
    let file = SourceFile { name: "a.yaml".to_owned(), text: text.clone() };
    let set = RuleSet::read(&[file]).unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}"));
    assert_eq!(set.overrides(), overrides);
}

#[test]
fn alerts_are_read_as_they_were_and_have_no_defaults() {
    let one = |json: Value| -> ApplyAlert { serde_json::from_value(json).expect("an alert") };
    let alerts = [
        one(json!({
            "name": "1.10", "webhook": "on call: nights", "enabled": false, "kind": "denial_share",
            "namespace": "api", "share_percent": 20, "window_s": 5_400, "checks_min": 7,
        })),
        one(json!({
            "name": "nearly used up", "webhooks": ["ops", "17"], "kind": "quota", "namespace": "web",
            "rule": "monthly", "thresholds_percent": [50],
        })),
    ];
    let text: String = alerts.iter().map(alert_manifest).collect();
    let expected = "\
---
apiVersion: weir/v1
kind: Alert
metadata: { name: \"1.10\" }
spec:
  webhook: \"on call: nights\"
  enabled: false
  kind: denial_share
  namespace: api
  share_percent: 20
  window: 90m
  checks_min: 7
---
apiVersion: weir/v1
kind: Alert
metadata: { name: \"nearly used up\" }
spec:
  webhooks: [ops, \"17\"]
  kind: quota
  namespace: web
  rule: monthly
  thresholds_percent: [50]
";
    assert_eq!(text, expected);
    let file = SourceFile { name: "a.yaml".to_owned(), text: text.clone() };
    let set = RuleSet::read(&[file]).unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}"));
    assert_eq!(set.alerts(), alerts);

    let default = one(json!({
        "name": "a", "webhook": "ops", "enabled": true, "kind": "denial_share", "namespace": "default",
        "rule": "login", "share_percent": 5, "window_s": 300, "checks_min": 100,
    }));
    let spec = "spec:\n  webhook: ops\n  kind: denial_share\n  rule: login\n  share_percent: 5\n";
    assert!(alert_manifest(&default).ends_with(spec), "{}", alert_manifest(&default));
}

proptest! {
    #[test]
    fn exported_rule_is_read_as_it_was(
        limits in prop::collection::vec(limits(), 1..4),
        description in "[^\\p{Cc}]{0,40}",
        value in "[^\\p{Cc}]{1,20}",
        mode in prop_oneof!["enforce", "shadow", "off"],
        block in prop::option::of(1..86_400_000_u64),
    ) {
        let rule = body(json!({
            "namespace": "on", "name": "no", "description": description, "limits": limits,
            "match": [
                { "attribute": "a", "op": "equals", "value": value.clone() },
                { "attribute": "b", "op": "one_of", "value": [value, "1.10", "true", "~", " x: y"] },
            ],
            "count_by": ["user"], "mode": mode, "block_ms": block,
        }));
        prop_assume!(rule.clone().parse().is_ok());
        let text = manifest(&rule);
        prop_assert_eq!(&read(&text), &[rule]);
        // A second export has the same bytes.
        prop_assert_eq!(manifest(&read(&text)[0]), text);
    }
}
