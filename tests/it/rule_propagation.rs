//! A change is in force on both gates at once, and soon even if no gate receives the signal.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use weir_local::Relay;

use crate::harness::{
    GateSettings, Rule, Server, Stack, Tenant, millis, print, seconds, shared, until,
};

const PROMISED: Duration = millis(100);
const PROMISED_WITHOUT_SIGNAL: Duration = seconds(3);
/// The delay that a machine busy with other tests can add.
const SLACK: Duration = seconds(2);

fn limited_to(limit: u64) -> Value {
    json!({ "name": "watched", "count_by": ["user"],
        "limits": [{ "algorithm": "fixed_window", "limit": limit, "window_ms": 3_600_000 }] })
}

fn peek() -> Value {
    json!({ "attributes": { "user": "u-1" }, "mode": "peek" })
}

/// Waits until a gate enforces this limit. Returns the time since `changed`.
async fn in_force(tenant: &Tenant<'_>, gate: &Server, limit: u64, changed: Instant) -> Duration {
    until(seconds(10), &format!("a limit of {limit} is in force on {}", gate.url), async || {
        tenant.ask(gate, "/check", &peek()).await.number("/limit") == limit
    })
    .await;
    changed.elapsed()
}

#[tokio::test]
async fn change_is_in_force_on_both_gates_before_they_poll() {
    let tenant = Tenant::sign_up(shared().await).await;
    let mut rule = tenant.rule(&limited_to(1_000)).await;
    let mut taken = Vec::new();
    for round in 1..=20 {
        rule = tenant.put(&rule, &limited_to(1_000 + round)).await;
        let changed = Instant::now();
        for gate in &tenant.stack.gates {
            taken.push(in_force(&tenant, gate, 1_000 + round, changed).await);
        }
    }
    taken.sort_unstable();
    let (median, worst) = (taken[taken.len() / 2], taken[taken.len() - 1]);
    print(&format!("in force after: best {:?}, median {median:?}, worst {worst:?}", taken[0]));
    // Other tests keep the machine busy, and the promise is for an idle one. Gates that missed the announcements would poll every
    // two seconds, so three quarters of the times would be above 0.4 s.
    assert!(taken[0] < PROMISED, "{taken:?}");
    assert!(taken[taken.len() / 4] < millis(300), "{taken:?}");
    assert!(median < millis(1_000), "{taken:?}");
}

/// Prints the times of docs/operate/postgres.md. The bound that is asserted is that of a lost signal.
#[tokio::test]
async fn gate_far_from_postgres_follows() {
    let stack = shared().await;
    let relay = Relay::start(stack.postgres.port()).expect("a relay starts");
    let database_url = Some(stack.through(&relay, &stack.gate_url()));
    let far = stack.gate(GateSettings { database_url, ..GateSettings::default() });
    stack.until_ready(&far).await;
    let tenant = Tenant::sign_up(stack).await;
    let mut rule = tenant.rule(&limited_to(300)).await;
    tenant.settled_on(&far, rule.version).await;
    let mut limit = 300;
    for round_trip in [50, 100, 150, 200] {
        relay.set_round_trip(millis(round_trip));
        let mut taken = Vec::new();
        for _ in 0..3 {
            limit += 1;
            rule = tenant.put(&rule, &limited_to(limit)).await;
            taken.push(in_force(&tenant, &far, limit, Instant::now()).await);
        }
        taken.sort_unstable();
        print(&format!("at a round trip of {round_trip} ms in force after {taken:?}"));
        assert!(taken[1] < PROMISED_WITHOUT_SIGNAL + SLACK, "{taken:?}");
    }
    stack.until_ready(&far).await;
    assert_eq!(far.stop(), 0);
}

#[tokio::test]
async fn revoked_key_is_refused_on_both_gates_at_once() {
    let tenant = Tenant::sign_up(shared().await).await;
    let (id, secret, version) = tenant.make_key(&["check"]).await;
    tenant.settled(version).await;
    let other = Tenant { key: secret, ..tenant.clone() };
    for gate in [0, 1] {
        other.check(gate, &json!({})).await.expect(200);
    }
    tenant.admin(Method::DELETE, &format!("/keys/{id}"), &Value::Null).await.expect(204);
    for gate in [0, 1] {
        until(PROMISED + SLACK, "the key is refused", async || {
            let reply = other.check(gate, &json!({})).await;
            reply.status == 401 && reply.problem() == "unauthenticated"
        })
        .await;
    }
    tenant.check(0, &json!({})).await.expect(200);
}

#[tokio::test]
async fn gate_that_may_not_subscribe_follows_within_3_s() {
    let stack = shared().await;
    let deaf = deaf_gate(stack);
    stack.until_ready(&deaf).await;
    let tenant = Tenant::sign_up(stack).await;
    let mut rule = tenant.rule(&limited_to(500)).await;
    tenant.settled_on(&deaf, rule.version).await;
    for round in 1..=3 {
        rule = tenant.put(&rule, &limited_to(500 + round)).await;
        let taken = in_force(&tenant, &deaf, 500 + round, Instant::now()).await;
        print(&format!("without the signal in force after {taken:?}"));
        assert!(taken < PROMISED_WITHOUT_SIGNAL + SLACK, "{taken:?}");
    }

    let (id, secret, version) = tenant.make_key(&["check"]).await;
    tenant.settled_on(&deaf, version).await;
    let other = Tenant { key: secret, ..tenant.clone() };
    other.ask(&deaf, "/check", &json!({})).await.expect(200);
    tenant.admin(Method::DELETE, &format!("/keys/{id}"), &Value::Null).await.expect(204);
    until(PROMISED_WITHOUT_SIGNAL + SLACK, "the revoked key is refused", async || {
        other.ask(&deaf, "/check", &json!({})).await.status == 401
    })
    .await;
    assert_eq!(deaf.stop(), 0);
}

/// Starts a gate whose Redis user cannot subscribe to the signal.
fn deaf_gate(stack: &Stack) -> Server {
    let reply = stack
        .redis
        .command("ACL SETUSER deaf on >deaf-password ~* resetchannels +@all -subscribe")
        .expect("Redis makes a user");
    assert!(reply.starts_with("+OK"), "{reply}");
    let url = format!("redis://deaf:deaf-password@127.0.0.1:{}/0", stack.redis.port());
    stack.gate(GateSettings { redis_url: Some(url), ..GateSettings::default() })
}

#[tokio::test]
async fn subscription_that_is_cut_is_made_again() {
    let stack = shared().await;
    let tenant = Tenant::sign_up(stack).await;
    let mut rule = tenant.rule(&limited_to(100)).await;
    for round in 1..=3 {
        stack.redis.command("CLIENT KILL TYPE pubsub").expect("Redis cuts the subscriptions");
        rule = tenant.put(&rule, &limited_to(100 + round)).await;
        let changed = Instant::now();
        for gate in &stack.gates {
            let taken = in_force(&tenant, gate, 100 + round, changed).await;
            assert!(taken < PROMISED_WITHOUT_SIGNAL + SLACK, "{taken:?}");
        }
    }
}

/// F-08: whichever signals are coalesced, lost or late, the last version is in force in the end, and no gate returns to an
/// older one.
#[tokio::test]
async fn many_rapid_changes_end_on_the_last_version_on_both() {
    let stack = shared().await;
    let tenant = Tenant::sign_up(stack).await;
    let mut rule = tenant.rule(&limited_to(100)).await;
    let mut seen = vec![0; stack.gates.len()];
    for round in 1..=50 {
        rule = tenant.put(&rule, &limited_to(100 + round)).await;
        if round % 10 == 0 {
            for (gate, seen) in stack.gates.iter().zip(&mut seen) {
                let version = tenant.ask(gate, "/check", &peek()).await.number("/rulebook_version");
                assert!(version >= *seen, "{} went back from {seen} to {version}", gate.url);
                *seen = version;
            }
        }
    }
    tenant.settled(rule.version).await;
    for gate in &stack.gates {
        assert_eq!(tenant.ask(gate, "/check", &peek()).await.number("/limit"), 150);
    }
}

/// F-09.
#[tokio::test]
async fn nonsense_on_the_channel_changes_nothing() {
    let stack = shared().await;
    let tenant = Tenant::sign_up(stack).await;
    let rule = tenant.rule(&limited_to(10)).await;
    let long = "9".repeat(2_000);
    let nonsense =
        ["nonsense", "-1", "0", "1e9", "99999999999999999999", "18446744073709551615", "{}", &long];
    for text in nonsense {
        let said = stack.redis.command(&format!("PUBLISH weir:signal:rules {text}"));
        let heard = said.expect("Redis passes it on");
        assert!(heard.starts_with(':') && !heard.starts_with(":0"), "nobody listens: {heard}");
    }
    for gate in &stack.gates {
        assert_eq!(tenant.ask(gate, "/check", &peek()).await.number("/limit"), 10);
    }
    let rule = tenant.put_settled(&rule, &limited_to(11)).await;
    for gate in &stack.gates {
        let reply = tenant.ask(gate, "/check", &peek()).await;
        assert_eq!(reply.number("/limit"), 11);
        assert!(reply.number("/rulebook_version") >= rule.version);
        assert!(reply.number("/rulebook_version") < 1_000_000_000, "nonsense was believed");
    }
}

#[tokio::test]
async fn replicas_tell_the_version_of_each_gate() {
    let stack = shared().await;
    let tenant = Tenant::sign_up(stack).await;
    let rule: Rule = tenant.rule(&limited_to(10)).await;
    until(seconds(10), "both gates report the version they serve", async || {
        let reply = tenant.admin(Method::GET, "/replicas", &Value::Null).await.expect(200);
        assert!(reply.number("/rulebook_version") >= rule.version);
        assert_eq!(reply.number("/tenant_version"), rule.version);
        let data = reply.body["data"].as_array().expect("a list");
        stack.gates.iter().all(|gate| {
            let found = data.iter().find(|replica| replica["address"] == gate.url.as_str());
            found.is_some_and(|replica| {
                assert!(
                    replica["id"].as_str().is_some_and(|id| id.starts_with("gate_")),
                    "{replica}"
                );
                assert!(replica["age_ms"].as_u64().is_some_and(|age| age < 15_000), "{replica}");
                assert!(
                    replica["applied_at"].is_string() && replica["started_at"].is_string(),
                    "{replica}"
                );
                assert!(replica["weir_version"].is_string(), "{replica}");
                assert_eq!(replica["redis_up"], true, "{replica}");
                replica["rulebook_version"].as_u64().is_some_and(|version| version >= rule.version)
            })
        })
    })
    .await;
    until(seconds(10), "both gates are in the rollout of the rule", async || {
        let path = "/replicas/rollouts?limit=5";
        let reply = tenant.admin(Method::GET, path, &Value::Null).await.expect(200);
        let rollouts = reply.body["data"].as_array().expect("a list");
        let of_rule = rollouts.iter().find(|rollout| rollout["rulebook_version"] == rule.version);
        let gates = of_rule.and_then(|rollout| rollout["gates"].as_array()).expect("a list");
        gates.iter().filter(|gate| gate["after_ms"].is_u64()).count() >= stack.gates.len()
    })
    .await;
}
