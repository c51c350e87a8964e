//! Plans, and the assignments of customers to them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weir_domain::id::{GateId, RuleId};
use weir_domain::time::Timestamp;
use weir_store::{CustomerCounts, CustomerDayRow, Flush, Scope};
use weir_wire::time::DateTime;

use super::support::{Member, Plane};

fn limits(limit: u64) -> Value {
    json!([{ "algorithm": "fixed_window", "limit": limit, "window_ms": 60_000 }])
}

fn rule(name: &str, count_by: &Value) -> Value {
    json!({ "namespace": "api", "name": name, "count_by": count_by, "limits": limits(5) })
}

fn plan(name: &str, rule: &str, limit: u64) -> Value {
    json!({ "name": name, "rules": [{ "namespace": "api", "rule": rule, "limits": limits(limit) }] })
}

/// A tenant whose customers are named by `org`, with a rule of each of them.
async fn tenant(plane: &Plane) -> (Member, String) {
    let ada = plane.member("ada@example.com").await;
    let attribute = json!({ "customer_attribute": "org" });
    let tenant = plane.by(&ada, "PATCH", "").json(&attribute).send().await.expect(200);
    assert_eq!(tenant.body["customer_attribute"], "org");
    let rule = plane.by(&ada, "POST", "rules").json(&rule("per-org", &json!(["org"])));
    let rule = rule.send().await.expect(201).text("/id");
    (ada, rule)
}

#[tokio::test]
async fn plan_is_written_reverted_pinned_for_its_customers_and_deleted_after_them() {
    let plane = Plane::start().await;
    let (ada, _) = tenant(&plane).await;
    let made = plane.by(&ada, "POST", "plans").json(&plan("pro", "per-org", 50)).send().await;
    let made = made.expect(201);
    assert_eq!((&made.body["customers"], &made.body["pinned"]), (&json!(0), &json!([])));
    plane
        .by(&ada, "POST", "plans")
        .json(&json!({ "name": "pro" }))
        .send()
        .await
        .problem(409, "name_taken");
    let (id, path) = (made.text("/id"), format!("plans/{}", made.text("/id")));

    let assign = json!({ "customer": "acme", "plan": id, "note": "signed in May" });
    let assigned = plane.by(&ada, "POST", "assignments").json(&assign).send().await.expect(201);
    assert!(assigned.body["rulebook_version"].as_u64() > made.body["rulebook_version"].as_u64());
    assert_eq!(
        (&assigned.body["until"], &assigned.body["pinned_revision"]),
        (&Value::Null, &Value::Null)
    );
    let put = async |query: &str, revision: u64, limit: u64| {
        let path = format!("{path}{query}");
        let put = plane.by(&ada, "PUT", &path).header("if-match", &format!("\"{revision}\""));
        put.json(&plan("pro", "per-org", limit)).send().await
    };
    let edited = put("", 1, 60).await.expect(200);
    assert_eq!((&edited.body["customers"], &edited.body["pinned"]), (&json!(1), &json!([])));
    let pinned = put("?keep_existing=true", 2, 70).await.expect(200);
    assert_eq!(pinned.body["customers"], 0);
    assert_eq!(pinned.body["pinned"], json!([{ "revision": 2, "customers": 1 }]));
    put("?keep_existing=true", 2, 80).await.problem(412, "stale");
    let list = plane.by(&ada, "GET", "assignments?customer=acme").send().await.expect(200);
    assert_eq!(list.body["data"][0]["pinned_revision"], 2);
    assert_eq!(list.text("/data/0/note"), "signed in May");

    let revert = plane.by(&ada, "POST", &format!("{path}/revert")).json(&json!({ "revision": 1 }));
    let reverted = revert.send().await.expect(200);
    assert_eq!(reverted.body["rules"][0]["limits"][0]["limit"], 50);
    assert_eq!(reverted.body["pinned"], pinned.body["pinned"]);
    let revisions = plane.by(&ada, "GET", &format!("{path}/revisions")).send().await.expect(200);
    assert_eq!(revisions.body["data"].as_array().map(Vec::len), Some(4));

    plane.by(&ada, "DELETE", &path).send().await.problem(409, "conflict");
    let assignment = format!("assignments/{}", assigned.text("/id"));
    plane.by(&ada, "DELETE", &assignment).send().await.expect(204);
    plane.by(&ada, "DELETE", &assignment).send().await.problem(409, "conflict");
    plane.by(&ada, "DELETE", &path).send().await.expect(204);
    let ended = plane.by(&ada, "GET", "assignments?customer=acme").send().await.expect(200);
    assert_eq!(ended.body["data"], json!([]));
    let history = plane.by(&ada, "GET", "assignments?customer=acme&ended=true").send().await;
    assert_eq!(history.expect(200).body["data"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn wrong_plans_are_refused_with_the_field_and_change_nothing() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let first = plane.by(&ada, "POST", "plans").json(&json!({ "name": "pro" }));
    first.send().await.problem(409, "conflict");
    let bob = plane.member("bob@example.com").await;
    let attribute = json!({ "customer_attribute": "org" });
    plane.by(&bob, "PATCH", "").json(&attribute).send().await.expect(200);
    for (name, count_by) in [
        ("per-org", json!(["org"])),
        ("per-user", json!(["user"])),
        ("per-lower", json!([{ "attribute": "org", "as": "lower" }])),
    ] {
        plane.by(&bob, "POST", "rules").json(&rule(name, &count_by)).send().await.expect(201);
    }
    let deny =
        json!({ "namespace": "api", "name": "barred", "count_by": ["org"], "action": "deny" });
    plane.by(&bob, "POST", "rules").json(&deny).send().await.expect(201);
    let named = |rule: Value| json!({ "name": "pro", "rules": [rule] });
    let twice = json!({ "name": "pro", "rules": [
        { "namespace": "api", "rule": "per-org", "action": "allow" },
        { "namespace": "api", "rule": "per-org", "action": "deny" },
    ] });
    for (field, body) in [
        ("name", json!({ "name": "Pro" })),
        ("description", json!({ "name": "pro", "description": "x".repeat(1_001) })),
        ("rules[0].rule", plan("pro", "elsewhere", 5)),
        ("rules[0].rule", plan("pro", "per-user", 5)),
        ("rules[0].rule", plan("pro", "per-lower", 5)),
        ("rules[0].rule", plan("pro", "barred", 5)),
        ("rules[0].limits", named(json!({ "namespace": "api", "rule": "per-org" }))),
        ("rules[0].limits[0].limit", plan("pro", "per-org", 0)),
        ("rules[1].rule", twice),
        ("guess", json!({ "name": "pro", "guess": 1 })),
    ] {
        let refused = plane.by(&bob, "POST", "plans").json(&body).send().await;
        assert_eq!(refused.refused_field(), field, "{body}");
    }
    let plans = plane.by(&bob, "GET", "plans").send().await.expect(200);
    assert_eq!(plans.body["data"], json!([]));
}

#[tokio::test]
async fn rule_that_a_plan_names_stays_as_the_plan_needs_it() {
    let plane = Plane::start().await;
    let (ada, rule_id) = tenant(&plane).await;
    let made = plane.by(&ada, "POST", "plans").json(&plan("pro", "per-org", 50)).send().await;
    let made = made.expect(201);
    let path = format!("rules/{rule_id}");
    let put = async |body: &Value| {
        plane.by(&ada, "PUT", &path).header("if-match", "\"1\"").json(body).send().await
    };
    for body in [
        rule("renamed", &json!(["org"])),
        rule("per-org", &json!(["user"])),
        json!({ "namespace": "other", "name": "per-org", "count_by": ["org"], "limits": limits(5) }),
        json!({ "namespace": "api", "name": "per-org", "count_by": ["org"], "action": "allow" }),
    ] {
        put(&body).await.problem(409, "conflict");
    }
    plane.by(&ada, "DELETE", &path).send().await.problem(409, "conflict");
    put(&rule("per-org", &json!(["user", "org"]))).await.expect(200);
    let other = json!({ "customer_attribute": null });
    plane.by(&ada, "PATCH", "").json(&other).send().await.problem(409, "conflict");
    plane.by(&ada, "DELETE", &format!("plans/{}", made.text("/id"))).send().await.expect(204);
    plane.by(&ada, "DELETE", &path).send().await.expect(204);
    let cleared = plane.by(&ada, "PATCH", "").json(&other).send().await.expect(200);
    assert_eq!(cleared.body["customer_attribute"], Value::Null);
}

#[tokio::test]
async fn assignments_do_not_overlap_and_are_written_all_or_none() {
    let mut database = weir_store::test_support::database().await;
    // A busy machine can take seconds for 5,000 rows.
    database.app = database.app.with_answer_timeout(Duration::from_secs(30));
    let plane = Plane::on(Arc::new(database));
    let (ada, _) = tenant(&plane).await;
    let mut plans = Vec::new();
    for name in ["free", "pro"] {
        let made = plane.by(&ada, "POST", "plans").json(&json!({ "name": name })).send().await;
        plans.push(made.expect(201).text("/id"));
    }
    let at = |ms: i64| json!(DateTime(Timestamp::from_millis(plane.now_ms() + ms)));
    let assign = async |body: Value| plane.by(&ada, "POST", "assignments").json(&body).send().await;
    let free = assign(json!({ "customer": "acme", "plan": plans[0] })).await.expect(201);
    let pro = json!({ "customer": "acme", "plan": plans[1], "from": at(60_000) });
    let pro = assign(pro).await.expect(201);
    let list = plane.by(&ada, "GET", "assignments?customer=acme").send().await.expect(200);
    assert_eq!(list.body["data"][1]["id"], free.body["id"]);
    assert_eq!(list.body["data"][1]["until"], pro.body["from"], "the present plan ends then");
    for (field, body) in [
        ("customer", json!({ "customer": "a\u{0}b", "plan": plans[0] })),
        ("plan", json!({ "customer": "acme", "plan": "plan_01JZZZZZZZZZZZZZZZZZZZZZZZ" })),
        ("plan", json!({ "customer": "acme", "plan": "free" })),
        ("from", json!({ "customer": "acme", "plan": plans[0], "from": at(-1_000) })),
        ("from", json!({ "customer": "acme", "plan": plans[0], "from": at(30_000) })),
        ("until", json!({ "customer": "acme", "plan": plans[0], "until": at(-1_000) })),
        ("until", json!({ "customer": "acme", "plan": plans[0], "until": at(90_000) })),
        ("note", json!({ "customer": "acme", "plan": plans[0], "note": "x".repeat(501) })),
    ] {
        assert_eq!(assign(body.clone()).await.refused_field(), field, "{body}");
    }

    let bulk = async |all: Value| {
        let body = json!({ "assignments": all });
        plane.by(&ada, "POST", "assignments/bulk").json(&body).send().await
    };
    assert_eq!(bulk(json!([])).await.refused_field(), "assignments");
    let two = json!([{ "customer": "b", "plan": plans[0] }, { "customer": "b", "plan": plans[1] }]);
    assert_eq!(bulk(two).await.refused_field(), "assignments[1].customer");
    let many = |count: u32| {
        let one = |at| json!({ "customer": format!("customer-{at}"), "plan": plans[0] });
        Value::from((0..count).map(one).collect::<Vec<_>>())
    };
    assert_eq!(bulk(many(5_001)).await.refused_field(), "assignments");
    let written = bulk(many(5_000)).await.expect(200);
    assert_eq!(written.body["created"], 5_000);
    let plan = plane.by(&ada, "GET", &format!("plans/{}", plans[0])).send().await.expect(200);
    assert_eq!(plan.body["customers"], 5_001);
}

#[tokio::test]
async fn tester_and_subject_show_the_limits_of_the_customers_plan() {
    let plane = Plane::start().await;
    let (ada, rule_id) = tenant(&plane).await;
    let made = plane.by(&ada, "POST", "plans").json(&plan("pro", "per-org", 50)).send().await;
    let plan_id = made.expect(201).text("/id");
    let assign = json!({ "customer": "acme", "plan": plan_id });
    plane.by(&ada, "POST", "assignments").json(&assign).send().await.expect(201);
    let shown = async |path: &str, body: Value, limit: &str, plan: &str| {
        let answer = plane.by(&ada, "POST", path).json(&body).send().await.expect(200);
        let value = |pointer| answer.body.pointer(pointer).cloned().unwrap_or_default();
        (value(limit), value(plan))
    };
    for (customer, expected) in
        [("acme", (json!(50), json!(plan_id))), ("other", (json!(5), Value::Null))]
    {
        let test = json!({ "namespace": "api", "attributes": { "org": customer } });
        let tested = shown("test", test, "/rules/0/limits/0/limit", "/rules/0/plan_id").await;
        assert_eq!(tested, expected);
        let inspect = json!({ "attributes": { "org": customer } });
        let inspected =
            shown("subjects/inspect", inspect, "/data/0/limits/0/limit", "/data/0/plan_id");
        assert_eq!(inspected.await, expected);
        let counters = json!({ "rule_id": rule_id, "subjects": [{ "org": customer }] });
        let counters =
            shown("counters/inspect", counters, "/data/0/limits/0/limit", "/data/0/plan_id");
        assert_eq!(counters.await, expected);
    }
    let raise = json!({ "rule_id": rule_id, "subject": { "org": "acme" }, "for_s": 3_600 });
    let raised = plane.by(&ada, "POST", "subjects/raise").json(&raise).send().await.expect(201);
    assert_eq!(raised.body["limits"][0]["limit"], 100, "twice the limit of the plan");
}

#[tokio::test]
async fn plans_are_applied_with_their_rules_and_pruned_before_them() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let attribute = json!({ "customer_attribute": "org" });
    plane.by(&ada, "PATCH", "").json(&attribute).send().await.expect(200);
    let apply = async |body: Value| plane.by(&ada, "POST", "apply").json(&body).send().await;
    let rules = json!([{ "rule": rule("per-org", &json!(["org"])) }]);
    let set = |plans: Value, more: Value| {
        let mut body = json!({ "set": "billing", "rules": rules, "plans": plans });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        body
    };
    let missing = set(json!([{ "plan": plan("pro", "elsewhere", 50) }]), json!({}));
    assert_eq!(apply(missing).await.refused_field(), "plans[0].plan.rules[0].rule");
    let wanted = json!([{ "plan": plan("pro", "per-org", 50) }]);
    let applied = apply(set(wanted.clone(), json!({}))).await.expect(200).body;
    assert_eq!(applied["created"].as_array().map(Vec::len), Some(2));
    assert_eq!(applied["created"][1], json!({ "kind": "plan", "namespace": "", "name": "pro" }));
    let again = apply(set(wanted, json!({}))).await.expect(200).body;
    assert_eq!(again["unchanged"], 2);
    let stored = plane.by(&ada, "GET", "plans").send().await.expect(200);
    assert_eq!(stored.text("/data/0/managed_by"), "billing");

    let renamed = json!([{ "plan": plan("business", "per-org", 60), "renamed_from": "pro" }]);
    let changed = apply(set(renamed, json!({}))).await.expect(200).body;
    assert_eq!(changed["updated"][0]["id"], stored.body["data"][0]["id"]);
    let assign = json!({ "customer": "acme", "plan": stored.text("/data/0/id") });
    let assigned = plane.by(&ada, "POST", "assignments").json(&assign).send().await.expect(201);
    let nothing = json!({ "set": "billing", "rules": [], "plans": [], "prune": true,
        "profiles": [], "overrides": [], "alerts": [] });
    let other = json!({ "rule": rule("other", &json!(["org"])) });
    let mut pruned = nothing;
    pruned["rules"] = json!([other]);
    apply(pruned.clone()).await.problem(409, "conflict");
    let assignment = format!("assignments/{}", assigned.text("/id"));
    plane.by(&ada, "DELETE", &assignment).send().await.expect(204);
    let pruned = apply(pruned).await.expect(200).body;
    assert_eq!(pruned["deleted"].as_array().map(Vec::len), Some(2), "the plan, then its rule");
}

#[tokio::test]
async fn customers_are_listed_and_their_counts_are_given_by_day_and_rule() {
    let plane = Plane::start().await;
    let (ada, rule_id) = tenant(&plane).await;
    let made = plane.by(&ada, "POST", "plans").json(&plan("pro", "per-org", 50)).send().await;
    let plan_id = made.expect(201).text("/id");
    for customer in ["acme", "a/b c"] {
        let assign = json!({ "customer": customer, "plan": plan_id });
        plane.by(&ada, "POST", "assignments").json(&assign).send().await.expect(201);
    }
    let rule: RuleId = rule_id.parse().expect("an id");
    let today = crate::days::of(plane.state.clock.now());
    let row = |customer: &str, day: i32, rule_id, allowed: u64, denied: u64| CustomerDayRow {
        tenant_id: ada.tenant.parse().expect("an id"),
        customer: customer.to_owned(),
        day,
        rule_id,
        counts: CustomerCounts { allowed, denied, units: 2 * i64::try_from(allowed).expect("few") },
    };
    let gate_id = GateId::from_u128(7);
    let flush = Flush {
        gate_id,
        boot_id: 1,
        region: None,
        oldest_minute: plane.state.clock.now(),
        age: Duration::ZERO,
    };
    let rows = [
        row("acme", today - 1, None, 3, 0),
        row("acme", today, None, 20, 22),
        row("acme", today, Some(rule), 20, 22),
        row("zeta", today, None, 1, 50),
    ];
    let mut tx = plane.database.gate.begin("tests", Scope::Gate(gate_id)).await.expect("begin");
    tx.tallies().report(&flush).await.expect("reported");
    assert!(tx.customer_days().count(1, 1, &rows).await.expect("counted"));
    tx.commit().await.expect("committed");

    let get = async |path: &str| plane.by(&ada, "GET", path).send().await;
    let names = async |path: &str| {
        let listed = get(path).await.expect(200);
        let data = listed.body["data"].as_array().expect("a list").clone();
        let names = data.iter().map(|entry| entry["customer"].as_str().expect("a name").to_owned());
        (names.collect::<Vec<_>>(), listed.body["next_cursor"].as_str().map(str::to_owned))
    };
    let (first, cursor) = names("customers?limit=2").await;
    assert_eq!(first, ["a/b c", "acme"]);
    let next = format!("customers?limit=2&cursor={}", cursor.expect("another page"));
    assert_eq!(names(&next).await, (vec!["zeta".to_owned()], None));
    assert_eq!(names("customers?order=denied").await.0, ["zeta", "acme"]);
    assert_eq!(names(&format!("customers?query=ac&plan={plan_id}")).await.0, ["acme"]);
    let listed = get("customers?query=acme").await.expect(200).body;
    let days = &listed["data"][0]["last_7_days"];
    assert_eq!((&days[4]["allowed"], &days[5]["allowed"]), (&json!(0), &json!(3)));
    assert_eq!(days[6], listed["data"][0]["today"]);
    for (field, path) in [
        ("limit", "customers?limit=0"),
        ("plan", "customers?plan=pro"),
        ("plan", &format!("customers?order=denied&plan={plan_id}")),
        ("cursor", "customers?cursor=x"),
        ("from", "customers/acme/usage?from=2026-01-02&to=2026-01-01"),
        ("from", "customers/acme/usage?from=2020-01-01&to=2026-01-01"),
        ("to", "customers/acme/usage?to=today"),
        ("step", "customers/acme/usage?step=hour"),
    ] {
        assert_eq!(get(path).await.refused_field(), field, "{path}");
    }

    let acme = get("customers/acme").await.expect(200).body;
    assert_eq!(acme["plan"], json!({ "id": plan_id, "name": "pro" }));
    assert_eq!(acme["today"], json!({ "allowed": 20, "denied": 22, "units": 40 }));
    assert_eq!(acme["assignments"][0]["plan"], plan_id.as_str());
    let encoded = get("customers/a%2Fb%20c").await.expect(200).body;
    assert_eq!((&encoded["customer"], &encoded["plan"]["name"]), (&json!("a/b c"), &json!("pro")));
    let unknown = get("customers/nobody").await.expect(200).body;
    assert_eq!((&unknown["plan"], &unknown["today"]["allowed"]), (&Value::Null, &json!(0)));

    let days = |day: i32| crate::days::text(day);
    let path = format!("customers/acme/usage?from={}&to={}&step=day", days(today - 1), days(today));
    let usage = get(&path).await.expect(200).body;
    assert_eq!(usage["complete"], true);
    assert_eq!(usage["days"][0]["day"], days(today - 1));
    assert_eq!((&usage["days"][0]["units"], &usage["days"][1]["units"]), (&json!(6), &json!(40)));
    let of_rule = json!({ "rule_id": rule_id, "namespace": "api", "rule": "per-org",
        "allowed": 20, "denied": 22, "units": 40 });
    assert_eq!(usage["days"][1]["rules"], json!([of_rule]));
    let table = plane.by(&ada, "GET", &format!("{path}&format=csv")).send().await;
    let day = days(today);
    let line = format!("{day},\"acme\",{rule_id},\"api\",\"per-org\",20,22,40");
    let text = table.expect(200).body;
    assert!(text.as_str().expect("a text").lines().any(|found| found == line), "{text}");
}

#[tokio::test]
async fn view_of_customers_is_set_and_its_tokens_name_one_customer() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let ask = async |customer: &str, body: Value| {
        let path = format!("customers/{customer}/view-token");
        plane.by(&ada, "POST", &path).json(&body).send().await
    };
    ask("acme", json!({})).await.problem(409, "conflict");
    let attribute = json!({ "customer_attribute": "org" });
    plane.by(&ada, "PATCH", "").json(&attribute).send().await.expect(200);
    for ttl in [0, 3_601] {
        assert_eq!(ask("acme", json!({ "ttl_s": ttl })).await.refused_field(), "ttl_s");
    }
    let first = ask("acme", json!({ "ttl_s": 60 })).await.expect(200).body;
    let second = ask("acme", json!({})).await.expect(200).body;
    assert_eq!(second["rulebook_version"], first["rulebook_version"], "the keys are there");
    let page = async |token: &str| plane.ask("GET", "/v1/view").bearer(token).send().await;
    let token = first["token"].as_str().expect("a token").to_owned();
    let shown = page(&token).await.expect(200).body;
    let name = shown["title"].clone();
    assert_eq!((&shown["customer"], &shown["color"]), (&json!("acme"), &Value::Null));

    let view = json!({ "title": "Acme API", "color": "#0a7d55", "logo": "data:image/png;base64,AA==",
        "origins": ["https://shop.example.com"], "hidden_rules": [{ "namespace": "api", "rule": "x" }] });
    let put = async |body: &Value| plane.by(&ada, "PUT", "customer-view").json(body).send().await;
    assert_eq!(put(&view).await.expect(200).body, view);
    assert_eq!(plane.by(&ada, "GET", "customer-view").send().await.expect(200).body, view);
    let shown = page(&token).await.expect(200).body;
    assert_eq!((&shown["title"], &shown["logo"]), (&json!("Acme API"), &view["logo"]));
    for (field, value) in [
        ("title", json!("x".repeat(81))),
        ("color", json!("green")),
        ("logo", json!("https://example.com/logo.png")),
        ("origins[0]", json!(["example.com"])),
    ] {
        let mut wrong = view.clone();
        wrong[field.trim_end_matches("[0]")] = value;
        assert_eq!(put(&wrong).await.refused_field(), field);
    }
    assert_eq!(plane.by(&ada, "GET", "customer-view").send().await.expect(200).body, view);
    assert_ne!(name, "Acme API");

    let changed = token.replacen('.', "A.", 1);
    for wrong in [changed.as_str(), "view_x", "", "weir_x"] {
        page(wrong).await.problem(401, "unauthenticated");
    }
    plane.advance(60_000);
    page(&token).await.problem(401, "unauthenticated");
    plane.by(&ada, "GET", "rules").send().await.expect(200);
    let as_key = plane.ask("GET", &format!("/v1/tenants/{}/rules", ada.tenant));
    let second = second["token"].as_str().expect("a token");
    as_key.bearer(second).send().await.problem(401, "unauthenticated");
    plane
        .by(&ada, "PATCH", "")
        .json(&json!({ "customer_attribute": null }))
        .send()
        .await
        .expect(200);
    page(second).await.problem(401, "unauthenticated");
}
