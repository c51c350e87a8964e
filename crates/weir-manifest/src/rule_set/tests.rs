use serde_json::json;

use super::*;

mod assignments;

const LOGIN: &str = "\
# yaml-language-server: $schema=weir-v1.json
apiVersion: weir/v1
kind: Rule
metadata: { namespace: api, name: login }
spec:
  match:
    - { attribute: route, op: equals, value: /login }
    - { attribute: version, op: one_of, value: [1.10, 2, no] }
  count_by: [user]
  limits:
    - { algorithm: sliding_window_log, limit: 5, window: 1m }
    - { algorithm: spacing, interval_ms: 1000 }
  block: 10m
";

fn file(name: &str, text: &str) -> SourceFile {
    SourceFile { name: name.to_owned(), text: text.to_owned() }
}

/// The findings of a file, as people read them.
fn wrong(text: &str) -> Vec<String> {
    let findings = RuleSet::read(&[file("a.yaml", text)]).expect_err(text);
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn documented_rule_is_read() {
    let set = RuleSet::read(&[file("a.yaml", LOGIN)]).unwrap();
    let rules = serde_json::to_value(set.rules()).unwrap();
    let rule = &rules[0]["rule"];
    assert_eq!((&rule["namespace"], &rule["name"]), (&json!("api"), &json!("login")));
    assert_eq!(rule["match"][1]["value"], json!(["1.10", "2", "no"]));
    assert_eq!(rule["limits"][0]["window_ms"], 60_000);
    assert_eq!((&rule["block_ms"], &rule["mode"]), (&json!(600_000), &json!("enforce")));
}

#[test]
fn every_error_has_its_file_line_and_column() {
    let replaced = |from: &str, to: &str| {
        assert!(LOGIN.contains(from), "{from}");
        wrong(&LOGIN.replace(from, to))
    };
    for (from, to, place, text) in [
        ("  count_by:", "  countBy:", "9:3", "unknown field `countBy`"),
        ("limit: 5", "limits: 5", "11:40", "unknown field `limits`"),
        ("limit: 5", "limit: 0", "11:40", "`limits[0].limit` must be"),
        ("limit: 5", "limit: five", "11:40", "must be a whole number without a sign, not \"five\""),
        (", window: 1m", "", "11:7", "`window_ms` is missing"),
        ("window: 1m", "window: 1 minute", "11:50", "`window` must be a time such as"),
        ("window: 1m", "window: 1m, window_ms: 1", "11:50", "are the same field"),
        ("op: equals", "op: like", "7:27", "unknown variant `like`"),
        ("name: login", "name: Login", "4:29", "`name`"),
        ("name: login", "title: login", "4:29", "unknown field `title`"),
        (", name: login", "", "4:1", "missing field `name`"),
        (
            "kind: Rule",
            "kind: Rules",
            "3:1",
            "`kind` must be `Rule`, `Gateway`, `EnvoyDomains`, `Plan`, `Assignments`, `Overrides` or `Alert`",
        ),
        ("weir/v1", "weir/v2", "2:1", "`apiVersion` must be `weir/v1`"),
        ("  block: 10m", "  name: login", "13:3", "`name` belongs in `metadata`"),
        ("  block: 10m", "  limits: []", "13:3", "`limits` is given twice"),
    ] {
        let found = replaced(from, to);
        assert_eq!(found.len(), 1, "{from} -> {to}: {found:?}");
        assert!(found[0].starts_with(&format!("a.yaml:{place}: ")), "{from} -> {to}: {found:?}");
        assert!(found[0].contains(text), "{from} -> {to}: {found:?}");
    }
    assert!(wrong("apiVersion: [weir/v1\n")[0].starts_with("a.yaml:"));
    assert!(wrong("- a\n")[0].starts_with("a.yaml:1:1: "));
}

#[test]
fn all_errors_of_all_files_are_reported_together() {
    let broken = LOGIN.replace("limit: 5", "limit: 0").replace("count_by: [user]", "count_by: [U]");
    let files = [file("a.yaml", &broken), file("b.yaml", LOGIN), file("c.yaml", LOGIN)];
    let findings: Vec<_> =
        RuleSet::read(&files).expect_err("wrong").iter().map(ToString::to_string).collect();
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(findings[0].starts_with("a.yaml:") && findings[1].starts_with("a.yaml:"));
    assert_eq!(findings[2], "c.yaml:4:29: the rule `api/login` is also in b.yaml:4:29");
}

#[test]
fn all_errors_of_one_document_are_reported_together() {
    let broken = LOGIN
        .replace("  count_by:", "  countBy:")
        .replace("op: equals", "op: like")
        .replace("limit: 5", "limit: five")
        .replace("  block: 10m", "  mode: strict");
    let found = wrong(&broken);
    for text in [
        "unknown field `countBy`",
        "unknown variant `like`",
        "not \"five\"",
        "unknown variant `strict`",
    ] {
        assert!(found.iter().any(|error| error.contains(text)), "{text}: {found:?}");
    }
}

#[test]
fn refusal_of_the_server_has_the_place_of_its_field() {
    let second = LOGIN.replace("name: login", "name: new, renamed: { from: old }");
    let set = RuleSet::read(&[file("a.yaml", LOGIN), file("b.yaml", &second)]).unwrap();
    let located = |field: &str| set.locate(field, "is wrong").map(|found| found.to_string());
    for (field, found) in [
        ("rules[0].rule.limits[1].interval_ms", "a.yaml:12:29: `limits[1].interval_ms` is wrong"),
        ("rules[1].rule.limits[0].window_ms", "b.yaml:11:50: `limits[0].window_ms` is wrong"),
        ("rules[1].rule", "b.yaml:4:29: `name` is wrong"),
        ("rules[1].renamed_from", "b.yaml:4:51: `renamed_from` is wrong"),
    ] {
        assert_eq!(located(field).as_deref(), Some(found), "{field}");
    }
    assert_eq!((located("set"), located("rules[2].rule")), (None, None));
}

const PROFILES: &str = "\
apiVersion: weir/v1
kind: Gateway
metadata: { name: edge, renamed: { from: old } }
spec:
  reads: forward_auth
  namespace: api
  attributes:
    ip: { from: address }
    plan: { from: header, name: x-plan, default: free }
  cost: { from: header, name: x-cost }
---
apiVersion: weir/v1
kind: EnvoyDomains
spec:
  - { name: http, domain: eg/default/http, namespace: api, rename: { remote_address: ip } }
  - name: all
    domain: '*'
";

#[test]
fn documented_profiles_are_read() {
    let set = RuleSet::read(&[file("a.yaml", PROFILES)]).unwrap();
    assert_eq!(set.rules(), []);
    let profiles = serde_json::to_value(set.profiles()).unwrap();
    assert_eq!(profiles[0]["renamed_from"], "old");
    let edge = &profiles[0]["profile"];
    assert_eq!((&edge["name"], &edge["reads"]), (&json!("edge"), &json!("forward_auth")));
    assert_eq!(edge["attributes"]["plan"]["default"], "free");
    assert_eq!(edge["cost"], json!({ "from": "header", "name": "x-cost", "default": 1 }));
    let http = &profiles[1]["profile"];
    assert_eq!((&http["name"], &http["reads"]), (&json!("http"), &json!("rate_limit_service")));
    assert_eq!(http["rename"], json!({ "remote_address": "ip" }));
    assert_eq!((&profiles[2]["profile"]["domain"]), &json!("*"));
}

#[test]
fn every_error_of_a_profile_has_its_place() {
    for (from, to, place, text) in [
        ("reads: forward_auth", "reads: forward", "5:3", "unknown variant `forward`"),
        ("reads: forward_auth", "reads: rate_limit_service", "5:3", "document `EnvoyDomains`"),
        ("  namespace: api\n  attr", "  domain: x\n  attr", "6:3", "`domain`"),
        ("ip: { from: address }", "ip: { from: adress }", "8:11", "unknown variant `adress`"),
        ("ip: { from: address }", "Ip: { from: address }", "8:5", "Ip"),
        ("  cost: {", "  costs: {", "10:3", "unknown field `costs`"),
        ("{ name: edge,", "{ names: edge,", "3:13", "unknown field `names`"),
        ("domain: eg/default/http,", "", "15:5", "`domain`"),
        (
            ", namespace: api, rename",
            ", reads: ext_authz, rename",
            "15:44",
            "unknown field `reads`",
        ),
        ("name: all", "name: All", "16:5", "`name`"),
        ("name: all", "name: edge", "16:5", "the profile `edge` is also in a.yaml:3:13"),
        ("'*'", "eg/default/http", "17:5", "the domain `eg/default/http` is also in a.yaml:15:19"),
        (
            "kind: EnvoyDomains",
            "kind: EnvoyDomains\nmetadata: { name: x }",
            "14:13",
            "has no metadata",
        ),
    ] {
        assert!(PROFILES.contains(from), "{from}");
        let found = wrong(&PROFILES.replace(from, to));
        assert_eq!(found.len(), 1, "{from} -> {to}: {found:?}");
        assert!(found[0].starts_with(&format!("a.yaml:{place}: ")), "{from} -> {to}: {found:?}");
        assert!(found[0].contains(text), "{from} -> {to}: {found:?}");
    }
}

#[test]
fn refused_profile_has_the_place_of_its_field() {
    let set = RuleSet::read(&[file("a.yaml", LOGIN), file("b.yaml", PROFILES)]).unwrap();
    let located = |field: &str| set.locate(field, "is wrong").map(|found| found.to_string());
    for (field, found) in [
        ("profiles[0].profile.attributes.ip.from", "b.yaml:8:11: `attributes.ip.from` is wrong"),
        ("profiles[0].profile.name", "b.yaml:3:13: `name` is wrong"),
        ("profiles[0].renamed_from", "b.yaml:3:36: `renamed_from` is wrong"),
        ("profiles[1].profile.domain", "b.yaml:15:19: `domain` is wrong"),
        ("profiles[2].profile", "b.yaml:16:5: `name` is wrong"),
    ] {
        assert_eq!(located(field).as_deref(), Some(found), "{field}");
    }
    assert_eq!(located("profiles[3].profile"), None);
}

const OVERRIDES: &str = "\
apiVersion: weir/v1
kind: Overrides
metadata: { namespace: api, rule: login }
spec:
  - { subject: { user: 17 }, limits: [{ algorithm: sliding_window_log, limit: 50, window: 1m }] }
  - subject: { user: bob }
    action: allow
    expires_at: 2027-01-01T00:00:00Z
    reason: 007
    starts_at: 2026-12-01T00:00:00Z
";

#[test]
fn documented_overrides_are_read() {
    let set = RuleSet::read(&[file("a.yaml", OVERRIDES), file("b.yaml", LOGIN)]).unwrap();
    let overrides = serde_json::to_value(set.overrides()).unwrap();
    assert_eq!(
        (&overrides[0]["namespace"], &overrides[0]["rule"]),
        (&json!("api"), &json!("login"))
    );
    assert_eq!(overrides[0]["subject"], json!({ "user": "17" }));
    assert_eq!(overrides[0]["limits"][0]["window_ms"], 60_000);
    assert_eq!(
        (&overrides[1]["action"], &overrides[1]["reason"]),
        (&json!("allow"), &json!("007"))
    );
    assert_eq!(overrides[1]["starts_at"], "2026-12-01T00:00:00Z");
}

#[test]
fn every_error_of_an_override_has_its_place() {
    for (from, to, place, text) in [
        ("rule: login }", "rules: login }", "3:29", "unknown field `rules`"),
        ("action: allow", "action: permit", "7:5", "unknown variant `permit`"),
        ("action: allow", "rule: login", "7:5", "`rule` belongs in `metadata`"),
        ("action: allow", "actions: allow", "7:5", "unknown field `actions`"),
        ("limit: 50", "limit: 0", "5:72", "`limits[0].limit` must be"),
        ("user: bob", "person: bob", "6:16", "`subject.person` is not counted by"),
        ("user: bob", "user: 17", "6:5", "the override `api/login user=17` is also in a.yaml:5:7"),
        ("2027-01-01T00:00:00Z", "tomorrow", "8:5", "expires_at"),
        (
            "2026-12-01T00:00:00Z",
            "2027-02-01T00:00:00Z",
            "10:5",
            "`starts_at` must be earlier than",
        ),
    ] {
        assert!(OVERRIDES.contains(from), "{from}");
        let files = [file("a.yaml", &OVERRIDES.replace(from, to)), file("b.yaml", LOGIN)];
        let found = RuleSet::read(&files).expect_err(to);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert!(found[0].starts_with(&format!("a.yaml:{place}: ")), "{from} -> {to}: {found:?}");
        assert!(found[0].contains(text), "{from} -> {to}: {found:?}");
    }
    let set = RuleSet::read(&[file("a.yaml", OVERRIDES)]).unwrap();
    let located = |field: &str| set.locate(field, "is wrong").map(|found| found.to_string());
    let first = located("overrides[0].limits[0].window_ms");
    assert_eq!(first.as_deref(), Some("a.yaml:5:83: `limits[0].window_ms` is wrong"));
    let second = located("overrides[1].subject");
    assert_eq!(second.as_deref(), Some("a.yaml:6:5: `subject` is wrong"));
}

const ALERTS: &str = "\
apiVersion: weir/v1
kind: Alert
metadata: { name: 17 }
spec:
  webhook: on call
  kind: denial_share
  namespace: api
  rule: login
  share_percent: 20
  window: 10m
---
apiVersion: weir/v1
kind: Alert
metadata: { name: nearly used up }
spec: { webhook: on call, kind: quota, rule: monthly }
";

const MONTHLY: &str = "\
apiVersion: weir/v1
kind: Rule
metadata: { name: monthly }
spec: { limits: [{ algorithm: quota, limit: 5, period: month }] }
";

#[test]
fn documented_alerts_are_read() {
    let files = [file("a.yaml", ALERTS), file("b.yaml", LOGIN), file("c.yaml", MONTHLY)];
    let set = RuleSet::read(&files).unwrap();
    let alerts = serde_json::to_value(set.alerts()).unwrap();
    assert_eq!(
        alerts[0],
        json!({
            "name": "17", "webhooks": ["on call"], "enabled": true, "kind": "denial_share",
            "namespace": "api", "rule": "login", "share_percent": 20, "window_s": 600,
        })
    );
    assert_eq!(
        set.alerts()[1].rule(),
        Some(("default".to_owned(), "monthly".to_owned())),
        "the namespace of a rule has a default"
    );
}

#[test]
fn every_error_of_an_alert_has_its_place() {
    for (from, to, place, text) in [
        ("name: 17", "names: 17", "3:13", "unknown field `names`"),
        ("name: 17", "name: \"\"", "3:13", "`name` must not be empty"),
        ("name: 17", "name: nearly used up", "14:13", "is also in a.yaml:3:13"),
        ("share_percent: 20", "share_percent: 101", "9:3", "`share_percent` must be"),
        ("share_percent: 20", "share: 20", "9:3", "unknown field `share`"),
        ("share_percent: 20", "name: x", "9:3", "`name` belongs in `metadata`"),
        ("window: 10m", "window: 61s", "10:3", "`window_s` must be whole minutes"),
        ("window: 10m", "window: 500ms", "10:3", "`window` must be a time"),
        ("window: 10m", "window: 10m\n  window_s: 600", "10:3", "are the same field"),
        ("namespace: api", "namespace: Api", "7:3", "`namespace` must be"),
        ("kind: denial_share", "kind: denials", "6:3", "unknown variant `denials`"),
        ("rule: monthly", "rule: Monthly", "15:40", "`rule` must be"),
        (", rule: monthly", "", "15:1", "`rule` must name"),
        (
            "rule: monthly",
            "namespace: api, rule: login",
            "15:56",
            "`rule` names a rule without a quota",
        ),
        ("webhook: on call\n", "webhook: \"\"\n", "5:3", "`webhooks` must be 1 to 2000"),
        ("webhook: on call\n", "webhooks: []\n", "5:3", "`webhooks` must be 1 to 5 different"),
        ("webhook: on call\n", "webhooks: [a, a]\n", "5:3", "`webhooks` must be 1 to 5 different"),
        ("webhook: on call\n", "webhook: a\n  webhooks: [b]\n", "5:3", "are the same field"),
    ] {
        assert!(ALERTS.contains(from), "{from}");
        let files = [file("a.yaml", &ALERTS.replace(from, to)), file("b.yaml", LOGIN)];
        let found = RuleSet::read(&files).expect_err(to);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert!(found[0].starts_with(&format!("a.yaml:{place}: ")), "{from} -> {to}: {found:?}");
        assert!(found[0].contains(text), "{from} -> {to}: {found:?}");
    }
    let set = RuleSet::read(&[file("a.yaml", ALERTS)]).unwrap();
    let located = |field: &str| set.locate(field, "is wrong").map(|found| found.to_string());
    assert_eq!(located("alerts[0].window_s").as_deref(), Some("a.yaml:10:3: `window_s` is wrong"));
    assert_eq!(located("alerts[1].webhooks").as_deref(), Some("a.yaml:15:9: `webhooks` is wrong"));
    assert_eq!(located("alerts[1].name").as_deref(), Some("a.yaml:14:13: `name` is wrong"));
    assert_eq!(located("alerts[2].name"), None);
}

/// Such a file can come with a link, or by mistake.
#[test]
fn nothing_of_a_file_that_is_no_manifest_is_repeated_beyond_its_first_characters() {
    let secret = "weir_0123456789abcdefghijklmnopqrstuvwxyz";
    let quoted = format!("\"{secret}\"");
    for text in [
        secret.to_owned(),
        quoted.clone(),
        format!("{secret}\n{secret}: 1\n"),
        format!("- {secret}\n"),
        format!("{secret}: {secret}\n"),
        format!("a: 1\n{secret}: 1\n{secret}: 2\n"),
        format!("apiVersion: {secret}\nkind: Rule\n"),
        format!("apiVersion: [{secret}]\n"),
        format!("&{secret} a: *{secret}\n"),
        format!("!{secret} a\n"),
        format!("%{secret} 1\n---\na: 1\n"),
        format!("a: [{secret}\n"),
        format!("a: {quoted} {secret}\n"),
        format!("-----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----\n"),
    ] {
        let file = SourceFile { name: "x.yaml".to_owned(), text };
        let errors = RuleSet::read(std::slice::from_ref(&file)).expect_err(&file.text);
        let envoy = crate::envoy::import(&file, false).expect_err(&file.text);
        for error in errors.iter().chain([&envoy]) {
            let shown = error.to_string();
            assert!(!shown.contains(&secret[..13]), "{shown}\n{}", file.text);
        }
    }
}
