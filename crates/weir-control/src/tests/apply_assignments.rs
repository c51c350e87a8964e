//! Assignments of customers to plans as code.

use serde_json::{Value, json};
use weir_domain::time::Timestamp;
use weir_wire::time::DateTime;

use super::support::{Member, Plane};

/// A tenant whose customers are named by `org`.
struct Billing {
    plane: Plane,
    ada: Member,
}

impl Billing {
    async fn start() -> Self {
        let plane = Plane::start().await;
        let ada = plane.member("ada@example.com").await;
        let attribute = json!({ "customer_attribute": "org" });
        plane.by(&ada, "PATCH", "").json(&attribute).send().await.expect(200);
        Self { plane, ada }
    }

    /// Applies plans without rules, and assignments.
    async fn apply(
        &self,
        plans: &[&str],
        assignments: Value,
        more: Value,
    ) -> super::support::Answer {
        let plans: Vec<_> = plans.iter().map(|name| json!({ "plan": { "name": name } })).collect();
        let mut body = json!({ "set": "billing", "plans": plans, "assignments": assignments });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        self.plane.by(&self.ada, "POST", "apply").json(&body).send().await
    }

    /// The assignments of a customer that have not ended, oldest first: plan and owner.
    async fn plans_of(&self, customer: &str) -> Vec<(String, Value)> {
        let plans = self.plane.by(&self.ada, "GET", "plans").send().await.expect(200).body;
        let plans = plans["data"].as_array().expect("a list").clone();
        let name = |id: &Value| {
            let plan = plans.iter().find(|plan| plan["id"] == *id);
            plan.and_then(|plan| plan["name"].as_str()).expect("a plan").to_owned()
        };
        let path = format!("assignments?customer={customer}");
        let found = self.plane.by(&self.ada, "GET", &path).send().await.expect(200).body;
        let mut found = found["data"].as_array().expect("a list").clone();
        found.retain(|one| one["until"] != one["from"]);
        found.sort_by_key(|one| one["from"].as_str().map(str::to_owned));
        found.iter().map(|one| (name(&one["plan"]), one["managed_by"].clone())).collect()
    }

    fn at(&self, ms: i64) -> Value {
        json!(DateTime(Timestamp::from_millis(self.plane.now_ms() + ms)))
    }
}

fn on(customer: &str, plan: &str) -> Value {
    json!({ "customer": customer, "plan": plan })
}

fn named(customer: &str) -> Value {
    json!({ "kind": "assignment", "namespace": "", "name": customer })
}

fn of_billing(plan: &str) -> (String, Value) {
    (plan.to_owned(), json!("billing"))
}

#[tokio::test]
async fn assignments_are_applied_after_their_plans_once_and_ended_before_them() {
    let here = Billing::start().await;
    let both = ["free", "pro"];
    let wanted = json!([on("acme", "free"), on("globex", "pro")]);
    let planned = here.apply(&both, wanted.clone(), json!({ "dry_run": true })).await.expect(200);
    let created = planned.body["created"].as_array().expect("a list");
    assert_eq!(created[2..], [named("acme"), named("globex")]);
    assert_eq!(
        here.plane.by(&here.ada, "GET", "assignments").send().await.expect(200).body["data"],
        json!([])
    );
    let version = planned.body["version"].clone();
    let applied =
        here.apply(&both, wanted.clone(), json!({ "if_version": version })).await.expect(200);
    assert_eq!(applied.body["created"], planned.body["created"]);
    assert_eq!(here.plans_of("acme").await, [of_billing("free")]);
    let again = here.apply(&both, wanted, json!({})).await.expect(200).body;
    assert_eq!((&again["unchanged"], &again["updated"]), (&json!(4), &json!([])));
    assert_eq!(again["rulebook_version"], again["version"], "nothing was written");

    // The plan of a customer is renamed, which changes none; another customer moves to a new one.
    let renamed = json!([{ "plan": { "name": "basic" }, "renamed_from": "free" },
        { "plan": { "name": "pro" } }, { "plan": { "name": "business" } }]);
    let wanted = json!([on("acme", "basic"), on("globex", "business")]);
    let moved = here.apply(&[], wanted, json!({ "plans": renamed })).await.expect(200).body;
    assert_eq!(
        (moved["updated"][0]["name"].as_str(), moved["updated"][1]["name"].as_str()),
        (Some("basic"), Some("globex"))
    );
    let change = json!([{ "field": "plans", "before": [{ "plan": "pro" }], "after": [{ "plan": "business" }] }]);
    assert_eq!(moved["updated"][1]["changes"], change);
    assert_eq!(here.plans_of("globex").await, [of_billing("business")]);

    // One customer moves off a plan that is deleted in the same apply, and the other one is in no file any more.
    let pruned = json!({ "prune": true });
    let last = here
        .apply(&["business"], json!([on("acme", "business")]), pruned.clone())
        .await
        .expect(200)
        .body;
    assert_eq!(last["deleted"][0], named("globex"));
    assert_eq!(last["deleted"].as_array().map(Vec::len), Some(3));
    assert_eq!(here.plans_of("acme").await, [of_billing("business")]);
    assert_eq!(here.plans_of("globex").await, []);
    let few = json!({ "prune": true, "allow_deletes": 0 });
    here.apply(&["business"], json!([]), few).await.problem(409, "conflict");
    here.apply(&["business"], json!([]), json!({})).await.expect(200);
    assert_eq!(
        here.plans_of("acme").await,
        [of_billing("business")],
        "nothing is ended without `prune`"
    );
}

#[tokio::test]
async fn scheduled_plans_stay_as_the_files_say_while_time_passes() {
    let here = Billing::start().await;
    let both = ["free", "pro"];
    let mut later = on("acme", "pro");
    later["from"] = here.at(60_000);
    let wanted = json!([later, on("acme", "free")]);
    let unchanged = async |count: u64| {
        let again = here.apply(&both, wanted.clone(), json!({})).await.expect(200).body;
        assert_eq!((&again["unchanged"], &again["updated"]), (&json!(count), &json!([])));
        again["warnings"].clone()
    };
    here.apply(&both, wanted.clone(), json!({})).await.expect(200);
    assert_eq!(here.plans_of("acme").await, [of_billing("free"), of_billing("pro")]);
    assert_eq!(unchanged(3).await, json!([]));
    here.plane.advance(60_000);
    let warnings = unchanged(3).await;
    assert_eq!(warnings[0]["text"], "an assignment has ended; remove it from the files");
    assert_eq!(here.plans_of("acme").await, [of_billing("pro")]);

    // An end and a note change the assignment, which remains the same.
    let id = async || {
        let found = here.plane.by(&here.ada, "GET", "assignments?customer=acme").send().await;
        found.expect(200).text("/data/0/id")
    };
    let before = id().await;
    let until = here.at(5_000);
    let bounded = json!([{ "customer": "acme", "plan": "pro", "until": until, "note": "leaves" }]);
    let changed = here.apply(&both, bounded.clone(), json!({})).await.expect(200).body;
    let after = json!([{ "plan": "pro", "until": until, "note": "leaves" }]);
    assert_eq!(changed["updated"][0]["changes"][0]["after"], after);
    assert_eq!(id().await, before);
    here.plane.advance(5_000);
    let ended = here.apply(&both, bounded, json!({})).await.expect(200).body;
    assert_eq!(
        (&ended["unchanged"], ended["warnings"].as_array().map(Vec::len)),
        (&json!(3), Some(1))
    );
}

#[tokio::test]
async fn assignments_of_other_owners_are_changed_only_if_adopted() {
    let here = Billing::start().await;
    let both = ["free", "pro"];
    here.apply(&both, json!([]), json!({})).await.expect(200);
    let plans = here.plane.by(&here.ada, "GET", "plans").send().await.expect(200);
    let assign = async |plan: &str| {
        let body = json!({ "customer": "acme", "plan": plan });
        here.plane.by(&here.ada, "POST", "assignments").json(&body).send().await.expect(201)
    };
    assign(&plans.text("/data/0/id")).await;
    let same = here.apply(&both, json!([on("acme", "free")]), json!({})).await.expect(200).body;
    assert_eq!(same["unchanged"], 3, "people's assignment is as wanted");
    let refused =
        here.apply(&both, json!([on("other", "pro"), on("acme", "pro")]), json!({})).await;
    assert_eq!(refused.refused_field(), "assignments[1].customer");
    let mut later = on("acme", "pro");
    later["from"] = here.at(60_000);
    let refused = here.apply(&both, json!([later]), json!({})).await;
    assert_eq!(refused.refused_field(), "assignments[0].customer", "it would end people's");
    assert_eq!(here.plans_of("acme").await, [("free".to_owned(), Value::Null)]);

    let adopted =
        here.apply(&both, json!([later]), json!({ "adopt": true })).await.expect(200).body;
    let of_acme = adopted["updated"].as_array().expect("a list").last().expect("acme").clone();
    assert_eq!((&of_acme["name"], &of_acme["adopted"]), (&json!("acme"), &json!(true)));
    assert_eq!(here.plans_of("acme").await, [of_billing("free"), of_billing("pro")]);
    // People edit what the set has, and the next apply takes it back.
    here.plane.advance(60_000);
    let free = plans.text("/data/0/id");
    assert_eq!(assign(&free).await.body["managed_by"], "billing");
    let back = here.apply(&both, json!([later]), json!({})).await.expect(200).body;
    let change =
        json!([{ "field": "plans", "before": [{ "plan": "free" }], "after": [{ "plan": "pro" }] }]);
    assert_eq!(back["updated"][0]["changes"], change);
}

#[tokio::test]
async fn wrong_assignments_are_refused_with_the_field_and_change_nothing() {
    let here = Billing::start().await;
    let bob = here.plane.member("bob@example.com").await;
    let body = json!({ "assignments": [on("acme", "pro")] });
    let without = here.plane.by(&bob, "POST", "apply").json(&body).send().await;
    let detail = without.problem(409, "conflict").text("/detail");
    assert!(detail.contains("`customer_attribute`"), "{detail}");
    let many: Vec<_> = (0..5_001).map(|at| on(&format!("c{at}"), "pro")).collect();
    let nine: Vec<_> = (0..9)
        .map(|at| json!({ "customer": "acme", "plan": "pro", "from": here.at(1_000 * (at + 1)) }))
        .collect();
    let wrong_until =
        json!([{ "customer": "a", "plan": "pro", "from": here.at(5), "until": here.at(5) }]);
    for (field, assignments) in [
        ("assignments[1].plan", json!([on("acme", "pro"), on("globex", "Pro")])),
        ("assignments[0].customer", json!([on("a\u{0}b", "pro")])),
        ("assignments[1].customer", json!([on("acme", "pro"), on("acme", "free")])),
        ("assignments[0].until", wrong_until),
        ("assignments[0].customer", json!(nine)),
        ("assignments", json!(many)),
    ] {
        let refused = here.apply(&["pro", "free"], assignments, json!({})).await;
        assert_eq!(refused.refused_field(), field);
    }
    let plans = here.plane.by(&here.ada, "GET", "plans").send().await.expect(200);
    assert_eq!(plans.body["data"], json!([]));

    let key = json!({ "name": "ci", "scopes": ["write"], "namespaces": ["api"] });
    let key = here.plane.by(&here.ada, "POST", "keys").json(&key).send().await.expect(201);
    let path = format!("/v1/tenants/{}/apply", here.ada.tenant);
    let asked = here.plane.ask("POST", &path).bearer(&key.text("/secret"));
    asked.json(&body).send().await.problem(403, "forbidden");
}
