//! Customers on plans: a tenant assigns them, and each gets exactly the units of its plan over all gates.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{
    GateSettings, PATIENT_MS, Server, Stack, Tenant, seconds, send, send_signal, shared, until,
};

const YEAR_MS: u64 = 366 * 24 * 60 * 60 * 1_000;
/// The number of customers, unless `WEIR_TEST_CUSTOMERS` names another.
const CUSTOMERS: usize = 300;
/// The limits of the rule itself, and of the plans.
const OWN: u64 = 2;
const FREE: u64 = 5;
const PRO: u64 = 20;

fn limits(limit: u64) -> Value {
    json!([{ "algorithm": "fixed_window", "limit": limit, "window_ms": YEAR_MS }])
}

#[expect(clippy::disallowed_methods, reason = "a setting of this test alone")]
fn customers() -> usize {
    let number = std::env::var("WEIR_TEST_CUSTOMERS");
    number.map_or(CUSTOMERS, |number| number.parse().expect("a number"))
}

fn customer(at: usize) -> String {
    format!("customer-{at}")
}

/// Sends one check of each of these customers to a gate. Returns which were admitted.
async fn check(tenant: &Tenant<'_>, gate: usize, customers: &[usize]) -> Vec<bool> {
    let mut admitted = Vec::with_capacity(customers.len());
    for part in customers.chunks(100) {
        let one =
            |at: &usize| json!({ "namespace": "api", "attributes": { "org": customer(*at) } });
        let body = json!({ "checks": part.iter().map(one).collect::<Vec<_>>() });
        let gate = &tenant.stack.gates[gate];
        let reply = tenant.ask(gate, "/check/batch", &body).await.expect(200);
        let results = reply.body["results"].as_array().expect("a list").clone();
        admitted.extend(results.iter().map(|result| {
            assert!(result["degraded"].is_null(), "{result}");
            result["allowed"].as_bool().expect("an answer")
        }));
    }
    admitted
}

async fn plan(tenant: &Tenant<'_>, name: &str, rule: Value) -> String {
    let body = json!({ "name": name, "rules": [rule] });
    tenant.admin(Method::POST, "/plans", &body).await.expect(201).text("/id")
}

async fn assign(tenant: &Tenant<'_>, customers: &[usize], plan: &str) -> u64 {
    let one = |at: &usize| json!({ "customer": customer(*at), "plan": plan });
    let body = json!({ "assignments": customers.iter().map(one).collect::<Vec<_>>() });
    let reply = tenant.admin(Method::POST, "/assignments/bulk", &body).await.expect(200);
    reply.number("/rulebook_version")
}

/// A third of the customers is on each plan, and a third on none; those of the first plan change to the second while all gates are
/// asked about them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn customers_get_exactly_the_units_of_their_plan_and_keep_used_ones_when_it_changes() {
    let tenant = Tenant::sign_up(shared().await).await;
    let attribute = json!({ "customer_attribute": "org" });
    tenant.admin(Method::PATCH, "", &attribute).await.expect(200);
    let rule = json!({ "namespace": "api", "name": "per-org", "count_by": ["org"], "limits": limits(OWN) });
    tenant.rule(&rule).await;
    let named = |limit| json!({ "namespace": "api", "rule": "per-org", "limits": limits(limit) });
    let free = plan(&tenant, "free", named(FREE)).await;
    let pro = plan(&tenant, "pro", named(PRO)).await;
    let allow = json!({ "namespace": "api", "rule": "per-org", "action": "allow" });
    let unlimited = plan(&tenant, "unlimited", allow).await;
    let customers = customers();
    let all: Vec<usize> = (0..customers).collect();
    let (on_free, others) = all.split_at(customers / 3);
    let (on_unlimited, on_none) = others.split_at(customers / 3);
    assign(&tenant, on_free, &free).await;
    tenant.settled(assign(&tenant, on_unlimited, &unlimited).await).await;

    let tenant = Arc::new(tenant);
    let admitted: Arc<Vec<AtomicU64>> = Arc::new(all.iter().map(|_| AtomicU64::new(0)).collect());
    let upgraded = Arc::new(AtomicBool::new(false));
    let mut callers = JoinSet::new();
    for gate in 0..2 {
        let (tenant, admitted) = (Arc::clone(&tenant), Arc::clone(&admitted));
        let (upgraded, all) = (Arc::clone(&upgraded), all.clone());
        callers.spawn(async move {
            // The last rounds begin after every gate serves the upgrade.
            let mut rounds_left = PRO;
            while rounds_left > 0 {
                rounds_left -= u64::from(upgraded.load(Ordering::Acquire));
                for (at, allowed) in check(&tenant, gate, &all).await.into_iter().enumerate() {
                    admitted[at].fetch_add(u64::from(allowed), Ordering::Relaxed);
                }
            }
        });
    }
    let used = |at: usize| admitted[at].load(Ordering::Relaxed);
    until(seconds(600), "all used what their first plan gives", async || {
        on_free.iter().all(|at| used(*at) >= FREE)
    })
    .await;
    for at in on_free {
        assert_eq!(used(*at), FREE, "customer {at} is on `free`");
    }
    tenant.settled(assign(&tenant, on_free, &pro).await).await;
    upgraded.store(true, Ordering::Release);
    while let Some(caller) = callers.join_next().await {
        caller.expect("it runs");
    }
    for at in on_free {
        assert_eq!(used(*at), PRO, "customer {at} changed to `pro`");
    }
    for at in on_none {
        assert_eq!(used(*at), OWN, "customer {at} has the limits of the rule");
    }
    for at in on_unlimited {
        assert!(used(*at) > PRO, "customer {at} is not limited");
    }

    // An override of a customer precedes its plan, and the end of an assignment gives the limits of the rule back.
    let list = format!("/assignments?customer={}", customer(0));
    let list = tenant.admin(Method::GET, &list, &Value::Null).await.expect(200);
    let ended = format!("/assignments/{}", list.text("/data/0/id"));
    tenant.admin(Method::DELETE, &ended, &Value::Null).await.expect(204);
    until(seconds(30), "the limit of the rule applies", async || {
        let body = json!({ "namespace": "api", "attributes": { "org": customer(0) } });
        tenant.check(0, &body).await.number("/limits/0/limit") == OWN
    })
    .await;
}

/// The answers to the checks of a customer, as its caller counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Answered {
    allowed: u64,
    denied: u64,
    units: u64,
}

/// Sends a check of two units to a gate for each of these customers.
async fn spend(tenant: &Tenant<'_>, gate: &Server, customers: &[usize], known: &mut [Answered]) {
    for &at in customers {
        let body = json!({ "namespace": "api", "attributes": { "org": customer(at) }, "cost": 2 });
        let allowed = tenant.ask(gate, "/check", &body).await.allowed();
        let own = &mut known[at];
        own.allowed += u64::from(allowed);
        own.denied += u64::from(!allowed);
        own.units += 2 * u64::from(allowed);
    }
}

/// The counts of a customer over yesterday and today, of whole checks and of the rule.
async fn counted(tenant: &Tenant<'_>, at: usize) -> [Answered; 2] {
    let from = tenant.stack.postgres_time("-1 day");
    let to = tenant.stack.postgres_time("0 days");
    let path = format!("/customers/{}/usage?from={}&to={}", customer(at), &from[..10], &to[..10]);
    let usage = tenant.admin(Method::GET, &path, &Value::Null).await.expect(200);
    assert_eq!(usage.body["complete"], true, "{}", usage.body);
    let mut sums = [Answered::default(); 2];
    for day in usage.body["days"].as_array().expect("days") {
        let rules = day["rules"].as_array().expect("rules");
        let rule = rules.iter().find(|rule| rule["rule"] == "per-org");
        for (sum, counts) in sums.iter_mut().zip([Some(day), rule]) {
            let number = |name: &str| counts.and_then(|counts| counts[name].as_u64()).unwrap_or(0);
            sum.allowed += number("allowed");
            sum.denied += number("denied");
            sum.units += number("units");
        }
    }
    sums
}

/// Waits until the counts of all customers are those that their callers know.
async fn until_counted(tenant: &Tenant<'_>, known: &[Answered]) {
    for (at, own) in known.iter().enumerate() {
        let what = format!("{own:?} are counted of {}", customer(at));
        until(seconds(30), &what, async || counted(tenant, at).await == [*own; 2]).await;
    }
}

/// The counts of each customer equal what its callers saw, over a gate that is killed, one that ends with unwritten counts, and an
/// outage of Postgres; and the customer itself sees the same at every gate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_and_the_view_of_customers_equal_what_their_callers_saw_over_faults() {
    let stack = Stack::start(PATIENT_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    let attribute = json!({ "customer_attribute": "org" });
    tenant.admin(Method::PATCH, "", &attribute).await.expect(200);
    let rule = json!({ "namespace": "api", "name": "per-org", "count_by": ["org"], "limits": limits(OWN) });
    tenant.rule(&rule).await;
    let named = json!({ "namespace": "api", "rule": "per-org", "limits": limits(PRO) });
    let pro = plan(&tenant, "pro", named).await;
    let all: Vec<usize> = (0..12).collect();
    tenant.settled(assign(&tenant, &all[..6], &pro).await).await;
    let mut known = vec![Answered::default(); all.len()];

    let [killed, ended] = [0, 1].map(|_| stack.gate(GateSettings::default()));
    stack.until_ready(&killed).await;
    stack.until_ready(&ended).await;
    for _ in 0..3 {
        spend(&tenant, &killed, &all, &mut known).await;
        spend(&tenant, &stack.gates[0], &all, &mut known).await;
    }
    until_counted(&tenant, &known).await;
    send_signal(killed.pid(), "KILL");
    spend(&tenant, &ended, &all, &mut known).await;
    ended.stop();
    until_counted(&tenant, &known).await;

    stack.postgres.stop().expect("Postgres stops");
    spend(&tenant, &stack.gates[1], &all, &mut known).await;
    stack.postgres.restart().expect("Postgres starts");
    stack.until_ready(&stack.control).await;
    until_counted(&tenant, &known).await;
    let on_pro = Answered { allowed: 8, denied: 0, units: 16 };
    let on_none = Answered { allowed: 1, denied: 7, units: OWN };
    assert_eq!(known, [[on_pro; 6], [on_none; 6]].concat());

    let (_, view_key, version) = tenant.make_key(&["view"]).await;
    tenant.settled(version).await;
    for (at, limit) in [(0, PRO), (11, OWN)] {
        let path = format!(
            "{}/api/v1/tenants/{}/customers/{}/view-token",
            stack.control.url,
            tenant.id,
            customer(at)
        );
        let made = tenant.http.post(&path, &view_key, &json!({ "ttl_s": 60 })).await.expect(200);
        tenant.settled(made.number("/rulebook_version")).await;
        let token = made.text("/token");
        for gate in &stack.gates {
            let url = format!("{}/usage", gate.url);
            let usage = send(tenant.http.request(Method::GET, &url).bearer_auth(&token)).await;
            let usage = usage.expect(200);
            assert_eq!(usage.text("/customer"), customer(at));
            assert_eq!(usage.body["plan"], if at == 0 { json!("pro") } else { Value::Null });
            let own = &usage.body["limits"][0];
            assert_eq!((&own["used"], &own["limit"]), (&json!(known[at].units), &json!(limit)));
            assert_eq!(usage.body["limits"].as_array().map(Vec::len), Some(1));
        }
        let page = format!("{}/api/v1/view", stack.control.url);
        let page = send(tenant.http.request(Method::GET, &page).bearer_auth(&token)).await;
        assert_eq!(page.expect(200).text("/title"), "Example");
    }
    let own = format!("{}/api/v1/tenants/{}/rules", stack.control.url, tenant.id);
    let refused = send(tenant.http.request(Method::GET, &own).bearer_auth(&view_key)).await;
    assert_eq!(refused.status, 403, "the key makes tokens and does nothing else");
}
