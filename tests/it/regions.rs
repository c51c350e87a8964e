//! Two regions, each with a Redis and gates of its own, and one Postgres. A relay between them can cut the way.

mod faults;
mod statistics;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use weir_local::{Redis, RedisOptions, Relay, free_port};

use crate::harness::{
    GateSettings, Http, PATIENT_MS, Server, Stack, Tenant, seconds, send, until, weir,
};

/// The gates of both regions. The home is `eu`; `us` asks it through the relay.
struct Regions {
    stack: Stack,
    eu: Server,
    us: Server,
    way: Relay,
    us_redis: Redis,
}

const YEAR_MS: u64 = 366 * 24 * 60 * 60 * 1_000;

/// The regions for tests that break nothing.
async fn shared() -> &'static Regions {
    static REGIONS: OnceCell<Regions> = OnceCell::const_new();
    REGIONS.get_or_init(Regions::start).await
}

impl Regions {
    async fn start() -> Self {
        let stack = Stack::start(PATIENT_MS).await;
        let data_dir = stack.scratch.path().join("redis-us");
        let options = RedisOptions { data_dir, settings: Vec::new() };
        let us_redis = tokio::task::spawn_blocking(move || Redis::start(options));
        let us_redis = us_redis.await.expect("it runs").expect("start the other Redis");
        let internal = [(); 2].map(|()| free_port().expect("a free port"));
        let way = Relay::start(internal[0]).expect("a relay");
        for (name, port, more) in [("eu", way.port(), &["--home"][..]), ("us", internal[1], &[])] {
            let address = format!("http://127.0.0.1:{port}");
            let add = [&["regions", "add", name, "--gates", &address], more].concat();
            change(&stack, &add).expect("the region is added");
        }
        let redis = us_redis.url();
        let gate = |name: &str, port: u16, redis_url: Option<String>| {
            let env = stack.in_region(name, &format!("127.0.0.1:{port}"));
            stack.gate(GateSettings { redis_url, env, ..GateSettings::default() })
        };
        let eu = gate("eu", internal[0], None);
        let us = gate("us", internal[1], Some(redis));
        stack.until_ready(&eu).await;
        stack.until_ready(&us).await;
        Self { stack, eu, us, way, us_redis }
    }

    /// Waits until both gates apply this version, and the far one reaches the home for a rule of this namespace.
    async fn settled(&self, tenant: &Tenant<'_>, version: u64, namespace: &str) {
        tenant.settled_on(&self.eu, version).await;
        tenant.settled_on(&self.us, version).await;
        let peek = check(namespace, &json!({ "mode": "peek" }));
        until(seconds(20), "the home answers", async || {
            tenant.ask(&self.us, "/check", &peek).await.body["degraded"].is_null()
        })
        .await;
    }
}

/// Runs a command of the registry.
fn change(stack: &Stack, args: &[&str]) -> Result<String, String> {
    let url = stack.postgres.url("weir");
    let done = weir(args, &[("WEIR_DATABASE_URL", &url)], "");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if done.status.success() { Ok(text(&done.stdout)) } else { Err(text(&done.stderr)) }
}

/// A check of a user in a namespace, with more fields.
fn check(namespace: &str, more: &Value) -> Value {
    let mut body = json!({ "namespace": namespace, "attributes": { "user": "u-1" } });
    let fields = more.as_object().expect("fields").clone();
    body.as_object_mut().expect("an object").extend(fields);
    body
}

/// Sends `count` checks to each gate at the same time. Returns the number of admissions at each.
async fn admitted(gates: [&Server; 2], key: &str, namespace: &str, count: u64) -> [u64; 2] {
    let mut callers = JoinSet::new();
    let counts = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
    for (gate, admitted) in gates.iter().zip(&counts) {
        for first in 0..4 {
            let (url, key) = (format!("{}/check", gate.url), key.to_owned());
            let (admitted, body) = (Arc::clone(admitted), check(namespace, &json!({})));
            callers.spawn(async move {
                let http = Http::new();
                for _ in (first..count).step_by(4) {
                    let request = http.request(Method::POST, &url).bearer_auth(&key).json(&body);
                    let reply = send(request).await;
                    assert!(reply.body["degraded"].is_null(), "{}", reply.body);
                    admitted.fetch_add(u64::from(reply.allowed()), Ordering::Relaxed);
                }
            });
        }
    }
    callers.join_all().await;
    counts.map(|count| count.load(Ordering::Relaxed))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limit_of_all_regions_is_never_exceeded_with_any_algorithm() {
    let regions = shared().await;
    let tenant = Tenant::sign_up(&regions.stack).await;
    let both = [&regions.eu, &regions.us];
    let limits = [
        ("fixed", json!({ "algorithm": "fixed_window", "limit": 50, "window_ms": YEAR_MS })),
        ("log", json!({ "algorithm": "sliding_window_log", "limit": 50, "window_ms": YEAR_MS })),
        (
            "counter",
            json!({ "algorithm": "sliding_window_counter", "limit": 50, "window_ms": YEAR_MS }),
        ),
        (
            "bucket",
            json!({ "algorithm": "token_bucket", "capacity": 50, "refill_tokens": 1, "refill_interval_ms": YEAR_MS }),
        ),
        (
            "month",
            json!({ "algorithm": "quota", "limit": 50, "period": "year", "time_zone": "UTC" }),
        ),
        ("places", json!({ "algorithm": "concurrency", "capacity": 50, "lease_ms": 600_000 })),
    ];
    let mut version = 0;
    for (namespace, limit) in &limits {
        let rule = json!({ "namespace": namespace, "name": "all", "count_by": ["user"], "reach": "world",
            "limits": [limit], "on_store_failure": "deny" });
        version = tenant.rule(&rule).await.version;
    }
    let each = json!({ "namespace": "each", "name": "each", "count_by": ["user"],
        "limits": [{ "algorithm": "fixed_window", "limit": 50, "window_ms": YEAR_MS }] });
    version = version.max(tenant.rule(&each).await.version);
    regions.settled(&tenant, version, "fixed").await;
    for (namespace, _) in &limits {
        let [eu, us] = admitted(both, &tenant.key, namespace, 40).await;
        assert_eq!(eu + us, 50, "{namespace}: {eu} in eu, {us} in us");
        assert!(eu >= 10 && us >= 10, "{namespace}: each region sent 40");
    }
    assert_eq!(admitted(both, &tenant.key, "each", 60).await, [50, 50], "the default reach");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gate_that_is_ready_has_reached_the_home() {
    let regions = shared().await;
    let tenant = Tenant::sign_up(&regions.stack).await;
    let rule = json!({ "namespace": "api", "name": "all", "count_by": ["user"], "reach": "world",
        "limits": [{ "algorithm": "fixed_window", "limit": 50, "window_ms": YEAR_MS }] });
    tenant.rule(&rule).await;
    for _ in 0..3 {
        let internal = free_port().expect("a free port");
        let env = regions.stack.in_region("us", &format!("127.0.0.1:{internal}"));
        let redis_url = Some(regions.us_redis.url());
        let gate = regions.stack.gate(GateSettings { redis_url, env, ..GateSettings::default() });
        regions.stack.until_serving(&gate).await;
        let reply = tenant.ask(&gate, "/check", &check("api", &json!({}))).await;
        assert!(reply.allowed() && reply.body["degraded"].is_null(), "{}", reply.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_of_a_far_and_a_near_rule_charges_both_or_none() {
    let regions = shared().await;
    let tenant = Tenant::sign_up(&regions.stack).await;
    let window =
        |limit: u64| json!([{ "algorithm": "fixed_window", "limit": limit, "window_ms": YEAR_MS }]);
    let far = json!({ "namespace": "api", "name": "all", "count_by": ["user"], "reach": "world", "limits": window(50) });
    let near =
        json!({ "namespace": "api", "name": "here", "count_by": ["user"], "limits": window(20) });
    tenant.rule(&far).await;
    let version = tenant.rule(&near).await.version;
    regions.settled(&tenant, version, "api").await;
    let mut passed = 0;
    for _ in 0..30 {
        let reply = tenant.ask(&regions.us, "/check", &check("api", &json!({}))).await;
        passed += u64::from(reply.allowed());
    }
    assert_eq!(passed, 20, "the near rule denies the others");
    // The units that would be left after one more check.
    let left = async |gate: &Server| {
        let peek = tenant.ask(gate, "/check", &check("api", &json!({ "mode": "peek" }))).await;
        let limits = peek.body["limits"].as_array().expect("limits").clone();
        limits.iter().map(|limit| limit["remaining"].as_u64()).collect::<Vec<_>>()
    };
    // Denied checks return the units of the far rule, the last ones within a moment.
    until(seconds(10), "denied checks take nothing of the far rule", async || {
        left(&regions.eu).await == [Some(29), Some(19)]
            && left(&regions.us).await == [Some(29), Some(0)]
    })
    .await;
    // A repeat with an idempotency key takes nothing, in either region.
    let once = check("api", &json!({ "idempotency_key": "order-1" }));
    for _ in 0..3 {
        assert!(tenant.ask(&regions.eu, "/check", &once).await.allowed());
    }
    assert_eq!(left(&regions.eu).await, [Some(28), Some(18)]);
    // A refund goes back to where it was taken.
    let refund = check("api", &json!({ "cost": 5 }));
    tenant.ask(&regions.us, "/refund", &refund).await.expect(200);
    assert_eq!(left(&regions.us).await, [Some(33), Some(4)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leased_limit_of_all_regions_is_never_exceeded_and_nearly_used_up() {
    let regions = shared().await;
    let tenant = Tenant::sign_up(&regions.stack).await;
    let rule = json!({ "namespace": "api", "name": "all", "count_by": [], "reach": "world", "consistency": "leased",
        "limits": [{ "algorithm": "fixed_window", "limit": 1_000, "window_ms": YEAR_MS }] });
    let version = tenant.rule(&rule).await.version;
    regions.settled(&tenant, version, "api").await;
    let both = [&regions.eu, &regions.us];
    let [eu, us] = admitted(both, &tenant.key, "api", 800).await;
    assert!(eu + us <= 1_000, "{eu} in eu and {us} in us");
    assert!(eu + us >= 950, "{eu} in eu and {us} in us: each gate holds at most 1 %");
    // Idle units come back, and can be used in either region.
    let mut total = eu + us;
    until(seconds(20), "all units are used", async || {
        let [eu, us] = admitted(both, &tenant.key, "api", 10).await;
        total += eu + us;
        assert!(total <= 1_000, "{total}");
        total == 1_000
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_plane_shows_and_resets_the_counters_of_each_region() {
    let regions = shared().await;
    let tenant = Tenant::sign_up(&regions.stack).await;
    let rule = |name: &str, reach: &str, limit: u64| {
        json!({ "namespace": "api", "name": name, "count_by": ["user"], "reach": reach,
            "limits": [{ "algorithm": "fixed_window", "limit": limit, "window_ms": YEAR_MS }] })
    };
    let all = tenant.rule(&rule("all", "world", 50)).await;
    let here = tenant.rule(&rule("here", "region", 20)).await;
    regions.settled(&tenant, here.version, "api").await;
    for gate in [&regions.eu, &regions.us, &regions.us] {
        assert!(tenant.ask(gate, "/check", &check("api", &json!({}))).await.allowed());
    }
    let left = |limits: &Value| limits[0]["remaining"].as_u64();
    // The units left of the rule of all regions, of the other where least is left, and of that in eu and in us.
    let shown = async |path: &str, body: Value, rows: &str| {
        let reply = tenant.admin(Method::POST, path, &body).await;
        let rows = reply.expect(200).body[rows].as_array().expect("rows").clone();
        let row =
            |name: &str| rows.iter().find(|row| row["rule"] == name).expect("the rule").clone();
        let (all, here) = (row("all"), row("here"));
        assert!(all["regions"].is_null(), "it is counted in one place: {all}");
        let regions = here["regions"].as_array().expect("regions").clone();
        let names: Vec<_> = regions.iter().map(|region| region["region"].as_str()).collect();
        assert_eq!(names, [Some("eu"), Some("us")]);
        let of = |at: usize| left(&regions[at]["limits"]);
        (left(&all["limits"]), left(&here["limits"]), of(0), of(1))
    };
    let subject = async || {
        let attributes = json!({ "attributes": { "user": "u-1" } });
        shown("/subjects/inspect", attributes, "data").await
    };
    let used = (Some(47), Some(18), Some(19), Some(18));
    until(seconds(10), "the regions answer", async || subject().await == used).await;
    assert_eq!(shown("/test", check("api", &json!({})), "rules").await, used);
    for (rule, counters) in [(&all, 1), (&here, 2)] {
        let body = json!({ "rule_id": rule.id, "subject": { "user": "u-1" } });
        let reset = tenant.admin(Method::POST, "/counters/reset", &body).await.expect(200);
        assert_eq!(reset.body["counters"], counters);
    }
    assert_eq!(subject().await, (Some(50), Some(20), Some(20), Some(20)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reset_ends_the_units_that_a_gate_of_another_region_leased() {
    let regions = shared().await;
    let tenant = Tenant::sign_up(&regions.stack).await;
    let rule = json!({ "namespace": "api", "name": "all", "count_by": ["user"], "reach": "world", "consistency": "leased",
        "limits": [{ "algorithm": "fixed_window", "limit": 10_000, "window_ms": YEAR_MS }] });
    let rule = tenant.rule(&rule).await;
    regions.settled(&tenant, rule.version, "api").await;
    let both = [&regions.eu, &regions.us];
    let [eu, us] = admitted(both, &tenant.key, "api", 200).await;
    assert_eq!((eu, us), (200, 200));
    let body = json!({ "rule_id": rule.id, "subject": { "user": "u-1" } });
    let reset = tenant.admin(Method::POST, "/counters/reset", &body).await.expect(200);
    assert_eq!(reset.body["counters"], 1);
    // No unit of before comes back to the new counter: it would then admit more than the limit.
    let inspect = json!({ "rule_id": rule.id, "subjects": [{ "user": "u-1" }] });
    let [eu, us] = admitted(both, &tenant.key, "api", 100).await;
    until(seconds(10), "idle units are returned", async || {
        let answer = tenant.admin(Method::POST, "/counters/inspect", &inspect).await.expect(200);
        let remaining = answer.body["data"][0]["limits"][0]["remaining"].as_u64().expect("units");
        assert!(remaining <= 10_000 - eu - us, "{remaining} after {eu} and {us}");
        remaining == 10_000 - eu - us
    })
    .await;
}

#[tokio::test]
async fn wrong_regions_are_refused_with_a_sentence_that_says_how_to_go_on() {
    let stack = &shared().await.stack;
    let refused = |args: &[&str]| change(stack, args).expect_err("it is refused");
    let plain = refused(&["regions", "add", "ap", "--gates", "http://gate.ap.example.com"]);
    assert!(plain.contains("regions[2].gates[0] must be an address such as"), "{plain}");
    let second =
        refused(&["regions", "add", "ap", "--gates", "https://gate.ap.example.com", "--home"]);
    assert!(second.contains("to change it, run: weir regions promote ap"), "{second}");
    let promoted = refused(&["regions", "promote", "mars"]);
    assert!(promoted.contains("no region has the name `mars`"), "{promoted}");
    let removed = refused(&["regions", "remove", "eu"]);
    assert!(removed.contains("`eu` is the home; first make another region the home"), "{removed}");
    let unknown = stack.in_region("mars", &format!("127.0.0.1:{}", free_port().expect("a port")));
    for (env, sentence) in [
        (
            unknown,
            "WEIR_REGION is `mars`, which is not registered (eu, us): run `weir regions add mars",
        ),
        (Vec::new(), "this installation has regions: set WEIR_REGION to one of eu, us"),
    ] {
        let gate = stack.gate(GateSettings { env, ..GateSettings::default() });
        until(seconds(20), "the gate ends", async || gate.exit_code().is_some()).await;
        assert_ne!(gate.exit_code(), Some(0));
        assert!(gate.log().contains(sentence), "{}", gate.log());
    }
}
