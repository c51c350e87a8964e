//! Keys that are restricted to namespaces, at every operation of the document. A new operation needs a row here.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use weir_domain::id::{DenialId, GateId, RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_store::{
    DenialDetail, DenialRow, Flush, Scope, SketchEntry, SketchRow, TallyCounts, TallyRow,
};

use super::isolation::{For, Operation, Things, ask, operations, table as roles};
use super::support::{Member, Plane};

/// The effect of an operation for a key that is restricted to namespaces.
#[derive(Clone, Copy)]
enum Restricted {
    /// It admits objects of the namespaces, and refuses others.
    ToObjects,
    /// It lists what is in the namespaces. The function returns a text that is listed if the key has the namespace `default`.
    ToListed(fn(&Things) -> &str),
    /// It counts what is in the namespaces.
    ToCounted,
    /// It finds the request that was denied in one of these namespaces.
    ToFound,
    /// It is of no namespace, and shows nothing of one.
    No,
    /// It refuses the key.
    Refused,
}

/// The operations that concern the whole tenant.
const OF_TENANT: [&str; 38] = [
    "plans_list",
    "plans_create",
    "plans_read",
    "plans_update",
    "plans_delete",
    "plans_revisions",
    "plans_revert",
    "assignments_list",
    "assignments_create",
    "assignments_bulk",
    "assignments_delete",
    "customers_list",
    "customers_read",
    "customers_usage",
    "customers_view_token",
    "customer_view_read",
    "views_read",
    "views_update",
    "ceilings_read",
    "invitations_list",
    "members_list",
    "members_leave",
    "keys_list",
    "stats_live",
    "webhooks_list",
    "webhooks_test",
    "deliveries_list",
    "deliveries_retry",
    "deferred_read",
    "deferred_list",
    "deferred_retry",
    "deferred_delete",
    "alerts_list",
    "alerts_create",
    "alerts_update",
    "alerts_delete",
    "alerts_backtest",
    "alerts_mute",
];

/// The rows of the operations that a key with the scope `write` can call. All others refuse every such key.
fn table() -> BTreeMap<&'static str, Restricted> {
    use Restricted::{No, Refused, ToCounted, ToFound, ToListed, ToObjects};
    let mut table = BTreeMap::from([
        ("rules_list", ToListed(|things| &things.rule)),
        ("overrides_list", ToListed(|things| &things.exception)),
        ("profiles_list", ToListed(|things| &things.profile)),
        ("namespaces_list", ToListed(|_| "\"default\"")),
        ("subjects_inspect", ToListed(|things| &things.rule)),
        ("search", ToListed(|things| &things.rule)),
        ("stats_events", ToListed(|things| &things.rule)),
        ("stats_series", ToCounted),
        ("stats_rules", ToCounted),
        ("stats_summary", ToCounted),
        ("stats_top", ToCounted),
        ("subjects_near_limit", ToCounted),
        ("usage_list", ToCounted),
        ("stats_denials", ToCounted),
        ("stats_denied_request", ToFound),
        ("recorded_read", ToCounted),
        ("tenants_read", No),
        ("replicas_list", No),
        ("replicas_rollouts", No),
    ]);
    let of_objects = [
        "rules_create",
        "rules_read",
        "rules_update",
        "rules_delete",
        "rules_revisions",
        "rules_revert",
        "rules_segments",
        "rules_apply",
        "overrides_create",
        "overrides_read",
        "overrides_update",
        "overrides_delete",
        "overrides_bulk",
        "overrides_restore",
        "profiles_create",
        "profiles_read",
        "profiles_update",
        "profiles_delete",
        "profiles_revisions",
        "profiles_revert",
        "namespaces_read",
        "namespaces_update",
        "test",
        "simulate",
        "rules_suggest",
        "subjects_near_limit_of_plan",
        "counters_inspect",
        "counters_reset",
        "subjects_raise",
        "subjects_block",
        "subjects_allow",
    ];
    table.extend(of_objects.map(|id| (id, ToObjects)));
    table.extend(OF_TENANT.map(|id| (id, Refused)));
    table
}

/// The secret of a new key that is restricted to these namespaces.
async fn restricted(plane: &Plane, member: &Member, namespaces: &[&str]) -> String {
    let body = json!({ "name": "repository", "scopes": ["write"], "namespaces": namespaces });
    plane.by(member, "POST", "keys").json(&body).send().await.expect(201).text("/secret")
}

/// Keys that are restricted to other namespaces than `default`, and to it and another one.
async fn keys(plane: &Plane, member: &Member) -> [String; 2] {
    [
        restricted(plane, member, &["payments", "web"]).await,
        restricted(plane, member, &["default", "payments"]).await,
    ]
}

/// Texts of the namespace `default`.
fn secrets(things: &Things) -> [&str; 5] {
    [&things.rule, &things.exception, &things.profile, "\"default\"", "\"login\""]
}

fn has_namespace_filter(operation: &Operation) -> bool {
    let document = serde_json::to_value(crate::openapi()).expect("a document serialises");
    let method = operation.method.to_lowercase();
    let parameters = &document["paths"][&operation.path][&method]["parameters"];
    let of_query =
        |parameter: &Value| parameter["in"] == "query" && parameter["name"] == "namespace";
    parameters.as_array().into_iter().flatten().any(of_query)
}

#[test]
fn every_operation_that_a_key_can_call_has_a_row() {
    use weir_store::MemberRole::Editor;
    let roles = roles();
    let callable =
        roles.iter().filter(|(_, row)| matches!(row, For::Members(role) if *role <= Editor));
    let callable: Vec<_> = callable.map(|(id, _)| *id).collect();
    assert_eq!(callable, table().into_keys().collect::<Vec<_>>());
}

#[tokio::test]
async fn every_operation_is_limited_to_the_namespaces_of_the_key() {
    let plane = Plane::start().await;
    let table = table();
    let shared = plane.member("ada@example.com").await;
    let shared_things = Things::of(&plane, &shared).await;
    let shared_keys = keys(&plane, &shared).await;
    let rule = shared_things.rule.parse().expect("an id");
    super::denied_requests::denied(&plane, &shared, rule, "u-1", 1).await;
    // Events are of the time before the clock of the plane.
    plane.advance(60_000);
    for (at, operation) in operations().iter().enumerate() {
        let id = operation.id.as_str();
        if !operation.path.contains("{tenant}") || id.starts_with("operator_") {
            continue;
        }
        // An operation that changes something gets a tenant of its own.
        let changes = operation.method != "GET" && table.contains_key(id);
        let (things, [outside, inside]) = if changes {
            let member = plane.member(&format!("ada{at}@example.com")).await;
            (Things::of(&plane, &member).await, keys(&plane, &member).await)
        } else {
            (shared_things.clone(), shared_keys.clone())
        };
        let refused = ask(&plane, operation, &things, Some(&outside)).await;
        let admitted = ask(&plane, operation, &things, Some(&inside)).await;
        let (shown, all) = (refused.body.to_string(), admitted.body.to_string());
        let Some(row) = table.get(id).copied() else {
            assert_eq!(refused.status, 403, "{id}");
            assert_eq!(admitted.status, 403, "{id}");
            continue;
        };
        if matches!(row, Restricted::ToFound) {
            refused.problem(404, "not_found");
            assert!(admitted.expect(200).body.to_string().contains(&things.rule), "{id}");
            continue;
        }
        if matches!(row, Restricted::ToObjects | Restricted::Refused) {
            refused.problem(403, "forbidden");
            assert!(
                shown.contains("restricted to the namespaces `payments`, `web`"),
                "{id}: {shown}"
            );
        } else {
            assert!(refused.status.is_success(), "{id}: {shown}");
            for secret in secrets(&things) {
                assert!(!shown.contains(secret), "{id} shows {secret}: {shown}");
            }
        }
        match row {
            Restricted::Refused => drop(admitted.problem(403, "forbidden")),
            Restricted::ToListed(seen) => assert!(all.contains(seen(&things)), "{id}: {all}"),
            _ => {
                let status = admitted.status.as_u16();
                assert!(![401, 403, 404, 500, 503].contains(&status), "{id}: {all}");
            }
        }
        if has_namespace_filter(operation) && !matches!(row, Restricted::Refused) {
            for namespace in ["default", ""] {
                let path = operation.path.replace("{tenant}", &things.tenant);
                let path = format!("{path}?namespace={namespace}");
                let asked = plane.ask("GET", &path).bearer(&outside).send().await;
                asked.problem(403, "forbidden");
            }
        }
    }
}

#[tokio::test]
async fn a_rule_cannot_be_moved_between_namespaces_of_two_keys() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let rule = |namespace: &str, name: &str| json!({ "namespace": namespace, "name": name, "action": "deny" });
    let own = rule("payments", "own");
    let own = plane.by(&ada, "POST", "rules").json(&own).send().await.expect(201).text("/id");
    let web = rule("web", "web");
    let web = plane.by(&ada, "POST", "rules").json(&web).send().await.expect(201).text("/id");
    let key = restricted(&plane, &ada, &["payments"]).await;
    let by_key = |method: &str, path: &str| {
        plane.ask(method, &format!("/v1/tenants/{}/{path}", ada.tenant)).bearer(&key)
    };
    let put = |id: &str, body: Value| {
        let ask = by_key("PUT", &format!("rules/{id}")).header("if-match", "\"1\"");
        ask.json(&body).send()
    };
    put(&own, rule("web", "own")).await.problem(403, "forbidden");
    put(&web, rule("payments", "web")).await.problem(403, "forbidden");
    // A revision of a time when the rule was elsewhere.
    let moved = plane.by(&ada, "PUT", &format!("rules/{web}")).header("if-match", "\"1\"");
    moved.json(&rule("payments", "web")).send().await.expect(200);
    let revert = by_key("POST", &format!("rules/{web}/revert")).json(&json!({ "revision": 1 }));
    revert.send().await.problem(403, "forbidden");
    let denied = plane.by(&ada, "GET", "audit?action=access.denied").send().await.expect(200);
    let entries = denied.body["data"].as_array().expect("a list");
    assert_eq!(entries.len(), 3, "{}", denied.body);
    assert_eq!(entries[0]["actor"]["name"], "repository", "{}", denied.body);
}

#[tokio::test]
async fn apply_changes_and_prunes_only_in_the_namespaces_of_the_key() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let rule = |namespace: &str, name: &str| json!({ "rule": { "namespace": namespace, "name": name, "action": "deny" } });
    let both = json!({ "set": "repo", "rules": [rule("payments", "a"), rule("web", "b"), rule("payments", "c")] });
    plane.by(&ada, "POST", "apply").json(&both).send().await.expect(200);
    let key = restricted(&plane, &ada, &["payments"]).await;
    let apply = |body: Value| {
        let path = format!("/v1/tenants/{}/apply", ada.tenant);
        plane.ask("POST", &path).bearer(&key).json(&body).send()
    };
    for dry_run in [true, false] {
        let mut elsewhere = both.clone();
        elsewhere["dry_run"] = dry_run.into();
        apply(elsewhere).await.problem(403, "forbidden");
    }
    let pruned = json!({ "set": "repo", "rules": [rule("payments", "a")], "prune": true });
    let plan = apply(pruned).await.expect(200).body;
    assert_eq!(plan["deleted"], json!([{ "kind": "rule", "namespace": "payments", "name": "c" }]));
    let rules = plane.by(&ada, "GET", "rules").send().await.expect(200).body;
    let names: Vec<_> = rules["data"].as_array().expect("a list").iter().collect();
    let names: Vec<_> = names.iter().map(|rule| &rule["name"]).collect();
    assert_eq!(names, ["a", "b"]);
}

/// Writes statistics of a rule in its namespace, as a gate would: `checks` allowed checks and as many denials.
async fn wrote(plane: &Plane, member: &Member, (namespace, rule): (&str, &str), checks: u64) {
    let tenant_id: TenantId = member.tenant.parse().expect("an id");
    let rule_id: RuleId = rule.parse().expect("an id");
    let minute = Timestamp::from_millis(plane.now_ms() / 60_000 * 60_000 - 120_000);
    let gate_id = GateId::from_u128(rule_id.to_u128());
    let flush = Flush {
        gate_id,
        boot_id: rule_id.to_u128(),
        region: None,
        oldest_minute: minute,
        age: Duration::ZERO,
    };
    let counts = TallyCounts { allowed: checks, denied: checks, ..TallyCounts::default() };
    let row =
        |rule_id| TallyRow { tenant_id, rule_id, minute, namespace: namespace.to_owned(), counts };
    let subject = json!({ "user": namespace });
    let entry =
        SketchEntry { rule_id, subject: subject.clone(), checks, denied: checks, shadow_denied: 0 };
    let sketch = SketchRow { tenant_id, at: minute, checks, floor: 0, entries: vec![entry] };
    let denial = DenialRow {
        id: DenialId::new(minute, rule_id.to_u128()),
        tenant_id,
        at: minute,
        namespace: namespace.to_owned(),
        rule_id,
        rule: namespace.to_owned(),
        shadow: false,
        subject,
        cost: 1,
        retry_after_ms: None,
        degraded: false,
        stands_for: 1,
        detail: DenialDetail::default(),
    };
    let mut tx =
        plane.database.gate.begin("tests.wrote", Scope::Gate(gate_id)).await.expect("begin");
    tx.tallies().report(&flush).await.expect("report");
    tx.tallies().write(&flush, &[row(None), row(Some(rule_id))]).await.expect("write");
    tx.top_subjects().write(&flush, &[sketch]).await.expect("write");
    tx.denials().write(&flush, &[denial]).await.expect("write");
    tx.commit().await.expect("commit");
}

#[tokio::test]
async fn statistics_count_only_the_namespaces_of_the_key() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let mut rules = BTreeMap::new();
    for (namespace, checks) in [("mail", 100), ("payments", 20), ("web", 3)] {
        let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 }]);
        let body =
            json!({ "namespace": namespace, "name": "a", "count_by": ["user"], "limits": limits });
        let rule = plane.by(&ada, "POST", "rules").json(&body).send().await.expect(201).text("/id");
        wrote(&plane, &ada, (namespace, &rule), checks).await;
        rules.insert(namespace, rule);
    }
    let key = restricted(&plane, &ada, &["payments", "web"]).await;
    let get = async |path: &str| {
        let path = format!("/v1/tenants/{}/stats/{path}", ada.tenant);
        plane.ask("GET", &path).bearer(&key).send().await.expect(200).body
    };
    let summary = get("summary").await;
    assert_eq!(
        (&summary["counts"]["allowed"], &summary["counts"]["denied"]),
        (&json!(23), &json!(23))
    );
    assert_eq!(get("summary?namespace=web").await["counts"]["allowed"], 3);
    let of_mail = format!("summary?rule_id={}", rules["mail"]);
    assert_eq!(get(&of_mail).await["counts"]["allowed"], 0);
    let series = get("series?step_s=60").await;
    let allowed: u64 =
        series["allowed"].as_array().expect("a list").iter().filter_map(Value::as_u64).sum();
    assert_eq!(allowed, 23);
    for path in ["rules", "top?by=rule", "top", "denials"] {
        let answer = get(path).await;
        let data = answer["data"].as_array().expect("a list");
        let found: Vec<_> = data.iter().filter_map(|entry| entry["rule_id"].as_str()).collect();
        assert_eq!(found.len(), 2, "{path}: {answer}");
        assert!(!found.contains(&rules["mail"].as_str()), "{path}: {answer}");
    }
}

#[tokio::test]
async fn restrictions_are_shown_survive_a_rotation_and_are_checked() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let body = json!({ "name": "a", "scopes": ["read"], "namespaces": ["web", "api", "web"] });
    let made = plane.by(&ada, "POST", "keys").json(&body).send().await.expect(201);
    assert_eq!(made.body["namespaces"], json!(["api", "web"]));
    let rotate = plane.by(&ada, "POST", &format!("keys/{}/rotate", made.text("/id")));
    let rotated = rotate.json(&json!({ "overlap_s": 0 })).send().await.expect(200);
    assert_eq!(rotated.body["namespaces"], json!(["api", "web"]));
    let list = plane.by(&ada, "GET", "keys").send().await.expect(200);
    assert_eq!(list.body["data"][0]["namespaces"], json!(["api", "web"]));
    let rules = format!("/v1/tenants/{}/rules", ada.tenant);
    let read = plane.ask("GET", &rules).bearer(&rotated.text("/secret")).send();
    read.await.expect(200);
    let many: Vec<_> = (0..21).map(|at| format!("n{at}")).collect();
    for (scopes, namespaces, field) in [
        (json!(["read"]), json!([]), "namespaces"),
        (json!(["read"]), json!(many), "namespaces"),
        (json!(["read"]), json!(["api", "Über"]), "namespaces[1]"),
        (json!(["read"]), json!("api"), "namespaces"),
        (json!(["check"]), json!(["api"]), "namespaces"),
        (json!(["write", "audit"]), json!(["api"]), "namespaces"),
        (json!(["admin"]), json!(["api"]), "namespaces"),
    ] {
        let body = json!({ "name": "a", "scopes": scopes, "namespaces": namespaces });
        let answer = plane.by(&ada, "POST", "keys").json(&body).send().await;
        assert_eq!(answer.refused_field(), field, "{body}");
    }
}
