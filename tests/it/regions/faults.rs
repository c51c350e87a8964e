//! A way that is cut, processes that are killed, and promotions.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use tokio::task::JoinSet;
use weir_local::{Relay, free_port};

use super::{Regions, YEAR_MS, admitted, change, check};
use crate::harness::{GateSettings, Http, Reply, Tenant, seconds, send_signal, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn region_that_is_cut_off_recovers_alone_and_promotion_begins_with_unused_counters() {
    let regions = Regions::start().await;
    let tenant = Tenant::sign_up(&regions.stack).await;
    let rule = |namespace: &str, policy: &str| {
        json!({ "namespace": namespace, "name": "all", "count_by": ["user"], "reach": "world", "on_store_failure": policy,
            "limits": [{ "algorithm": "fixed_window", "limit": 50, "window_ms": YEAR_MS }] })
    };
    tenant.rule(&rule("denies", "deny")).await;
    let version = tenant.rule(&rule("allows", "allow")).await.version;
    regions.settled(&tenant, version, "allows").await;
    let degraded = async |namespace: &str| {
        let reply = tenant.ask(&regions.us, "/check", &check(namespace, &json!({}))).await;
        let degraded = reply.body["degraded"].as_str().map(str::to_owned);
        (reply.allowed(), degraded)
    };
    assert_eq!(degraded("allows").await, (true, None));
    let machine = IpAddr::from([127, 0, 0, 1]);
    regions.way.isolate(machine);
    until(seconds(10), "the cut is noticed", async || {
        degraded("denies").await == (false, Some("deny".to_owned()))
    })
    .await;
    assert_eq!(degraded("allows").await, (true, Some("allow".to_owned())));
    let home = tenant.ask(&regions.eu, "/check", &check("denies", &json!({}))).await;
    assert!(home.allowed() && home.body["degraded"].is_null(), "the home decides: {}", home.body);
    regions.way.rejoin();
    until(seconds(20), "the home answers again", async || degraded("denies").await == (true, None))
        .await;
    promote(&regions, &tenant).await;
}

/// Makes the other region the home while a limit is used up.
async fn promote(regions: &Regions, tenant: &Tenant<'_>) {
    let rule = json!({ "namespace": "api", "name": "all", "count_by": ["user"], "reach": "world",
        "on_store_failure": "deny", "limits": [{ "algorithm": "fixed_window", "limit": 50, "window_ms": YEAR_MS }] });
    let version = tenant.rule(&rule).await.version;
    regions.settled(tenant, version, "api").await;
    let both = [&regions.eu, &regions.us];
    let [eu, us] = admitted(both, &tenant.key, "api", 40).await;
    assert_eq!(eu + us, 50);
    let listed = change(&regions.stack, &["regions", "promote", "us"]).expect("it is promoted");
    assert!(listed.contains("* us") && listed.contains("  eu"), "{listed}");
    let peek = check("api", &json!({ "mode": "peek" }));
    until(seconds(20), "both regions use the new home", async || {
        let [eu, us] = [
            tenant.ask(both[0], "/check", &peek).await,
            tenant.ask(both[1], "/check", &peek).await,
        ];
        [eu, us].iter().all(|peek| peek.body["limits"][0]["remaining"] == 49)
    })
    .await;
    let [eu, us] = admitted(both, &tenant.key, "api", 40).await;
    assert_eq!(eu + us, 50, "the limit once more, and no unit beyond");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_gate_and_redis_of_the_home_and_a_home_that_does_not_learn_of_a_promotion() {
    let regions = Regions::start().await;
    let internal = free_port().expect("a free port");
    let postgres = Relay::start(regions.stack.postgres.port()).expect("a relay");
    let second = regions.stack.gate(GateSettings {
        env: regions.stack.in_region("eu", &format!("127.0.0.1:{internal}")),
        database_url: Some(regions.stack.through(&postgres, &regions.stack.gate_url())),
        ..GateSettings::default()
    });
    regions.stack.until_ready(&second).await;
    let gates = format!("http://127.0.0.1:{},http://127.0.0.1:{internal}", regions.way.port());
    change(&regions.stack, &["regions", "add", "eu", "--gates", &gates]).expect("a second gate");
    let tenant = Tenant::sign_up(&regions.stack).await;
    let rule = |namespace: &str, reach: &str, consistency: &str, limit: u64| {
        json!({ "namespace": namespace, "name": "all", "count_by": ["user"], "reach": reach,
            "consistency": consistency, "on_store_failure": "deny",
            "limits": [{ "algorithm": "fixed_window", "limit": limit, "window_ms": YEAR_MS }] })
    };
    tenant.rule(&rule("near", "region", "exact", 50)).await;
    tenant.rule(&rule("leased", "world", "leased", 10_000)).await;
    let version = tenant.rule(&rule("far", "world", "exact", 50)).await.version;
    regions.settled(&tenant, version, "far").await;
    tenant.settled_on(&second, version).await;
    let decided = async |namespace: &str| {
        let reply = tenant.ask(&regions.us, "/check", &check(namespace, &json!({}))).await;
        (reply.allowed(), reply.body["degraded"].is_null())
    };

    // One gate of the home is cut off: the other one answers.
    regions.way.isolate(IpAddr::from([127, 0, 0, 1]));
    until(seconds(10), "the other gate of the home answers", async || {
        decided("far").await == (true, true)
    })
    .await;
    regions.way.rejoin();

    // The home's Redis is away: its own rules of the region are not affected.
    regions.stack.redis.pause().expect("it is paused");
    until(seconds(10), "the home does not answer", async || decided("far").await == (false, false))
        .await;
    assert_eq!(decided("near").await, (true, true));
    regions.stack.redis.resume().expect("it goes on");
    until(seconds(20), "the home answers again", async || decided("far").await == (true, true))
        .await;

    // A gate outside the home is killed with leased units: at most 1 % of the limit is lost.
    let [eu, us] = admitted([&regions.eu, &regions.us], &tenant.key, "leased", 200).await;
    assert_eq!((eu, us), (200, 200));
    send_signal(regions.us.pid(), "KILL");
    until(seconds(10), "the gate ends", async || regions.us.exit_code().is_some()).await;
    regions.us.start_again();
    regions.stack.until_ready(&regions.us).await;
    regions.settled(&tenant, version, "far").await;
    let peek = check("leased", &json!({ "mode": "peek" }));
    until(seconds(10), "units of other gates came back", async || {
        let reply = tenant.ask(&regions.eu, "/check", &peek).await;
        let left = reply.body["limits"][0]["remaining"].as_u64().expect("units") + 1;
        assert!(left <= 9_600, "{left}");
        left >= 9_500
    })
    .await;

    // The former home learns nothing of a promotion while Postgres is away for it: it counts for its own callers.
    postgres.isolate(IpAddr::from([127, 0, 0, 1]));
    change(&regions.stack, &["regions", "promote", "us"]).expect("it is promoted");
    let unused = check("far", &json!({ "mode": "peek" }));
    until(seconds(20), "the new home has unused counters", async || {
        let reply = tenant.ask(&regions.us, "/check", &unused).await;
        reply.body["limits"][0]["remaining"] == 49
    })
    .await;
    let [former, new] = admitted([&second, &regions.us], &tenant.key, "far", 60).await;
    assert_eq!(new, 50, "the limit once more");
    assert!(former < 50, "the counter of before goes on: {former}");
    postgres.rejoin();
    until(seconds(30), "the former home asks the new one", async || {
        !tenant.ask(&second, "/check", &unused).await.allowed()
    })
    .await;
}

/// The answers of both gates, as callers see them.
#[derive(Debug, Default)]
struct Admissions {
    /// The admissions of each window, by namespace and the number of the window.
    windows: BTreeMap<(&'static str, u64), u64>,
    /// Admissions outside the home.
    outside: u64,
    /// Answers without the home, outside it.
    degraded: u64,
}

const WINDOW_MS: u64 = 3_000;
/// The consistencies, which name the rules, with the limit of each window.
const WINDOWS: [(&str, u64); 2] = [("exact", 20), ("leased", 200)];

impl Admissions {
    /// Adds an answer that arrived at this time, in milliseconds since the epoch.
    fn add(&mut self, namespace: &'static str, is_home: bool, reply: &Reply, arrived_ms: u64) {
        if !reply.body["degraded"].is_null() {
            assert!(!is_home && !reply.allowed(), "{}", reply.body);
            self.degraded += 1;
        } else if reply.allowed() {
            // The window ends this long after the decision, which was made while the caller waited. If that took as long as
            // a window, the window is unknown.
            let took_ms = u64::try_from(reply.took.as_millis()).expect("milliseconds");
            if took_ms > WINDOW_MS - 100 {
                return;
            }
            let left_ms = reply.body["limits"][0]["reset_after_ms"].as_u64().expect("the end");
            let end_ms = arrived_ms - took_ms / 2 + left_ms;
            let window = (end_ms + WINDOW_MS / 2) / WINDOW_MS;
            *self.windows.entry((namespace, window)).or_default() += 1;
            self.outside += u64::from(!is_home);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "windows are aligned to the epoch")]
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970");
    u64::try_from(since.as_millis()).expect("milliseconds")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_window_exceeds_its_limit_while_the_way_is_cut_again_and_again() {
    let regions = Regions::start().await;
    let tenant = Tenant::sign_up(&regions.stack).await;
    let mut version = 0;
    for (namespace, limit) in WINDOWS {
        let rule = json!({ "namespace": namespace, "name": "all", "count_by": ["user"], "reach": "world",
            "consistency": namespace, "on_store_failure": "deny",
            "limits": [{ "algorithm": "fixed_window", "limit": limit, "window_ms": WINDOW_MS }] });
        version = tenant.rule(&rule).await.version;
    }
    regions.settled(&tenant, version, "leased").await;
    let seen = Arc::new(Mutex::new(Admissions::default()));
    let lock = || seen.lock().expect("no caller panicked");
    let mut callers = JoinSet::new();
    for (namespace, _) in WINDOWS {
        for (gate, is_home) in [(&regions.eu, true), (&regions.us, false)] {
            let (url, key) = (format!("{}/check", gate.url), tenant.key.clone());
            let (seen, body) = (Arc::clone(&seen), check(namespace, &json!({})));
            callers.spawn(async move {
                let http = Http::new();
                loop {
                    let reply = http.post(&url, &key, &body).await;
                    seen.lock().expect("as above").add(namespace, is_home, &reply, now_ms());
                }
            });
        }
    }
    for _ in 0..4 {
        let outside = lock().outside;
        until(seconds(30), "checks outside the home are admitted", async || {
            lock().outside > outside + 5
        })
        .await;
        regions.way.isolate(IpAddr::from([127, 0, 0, 1]));
        let degraded = lock().degraded;
        until(seconds(30), "the cut is noticed", async || lock().degraded > degraded + 5).await;
        regions.way.rejoin();
    }
    // Each cut can lose the answer to a check that the home counted.
    until(seconds(60), "a window admits all of its units", async || {
        lock().windows.iter().any(|(window, admitted)| (window.0, *admitted) == WINDOWS[0])
    })
    .await;
    callers.shutdown().await;
    let seen = lock();
    for (namespace, limit) in WINDOWS {
        let of = seen.windows.iter().filter(|((of, _), _)| *of == namespace);
        let most = of.map(|(_, admitted)| *admitted).max().expect("windows");
        assert!(most <= limit, "{namespace}: {seen:?}");
    }
}
