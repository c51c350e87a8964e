//! Units that a gate leased are returned when it loses its subscription, when Redis stalls, and when it stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use crate::harness::{
    GateSettings, Http, Server, Stack, Tenant, print, seconds, send_signal, try_send, until,
};

const LIMIT: u64 = 1_000_000;
const YEAR_MS: u64 = 366 * 24 * 60 * 60 * 1_000;
const CALLERS: usize = 8;

/// Callers of one gate. They end when they are stopped or the gate no longer listens.
struct Load {
    stopped: Arc<AtomicBool>,
    admitted: Arc<AtomicU64>,
    /// The number of checks that Redis did not decide but whose units it has possibly taken.
    unknown: Arc<AtomicU64>,
    callers: JoinSet<()>,
}

impl Load {
    fn on(gate: &Server, key: &str) -> Self {
        let mut load = Self {
            stopped: Arc::default(),
            admitted: Arc::default(),
            unknown: Arc::default(),
            callers: JoinSet::new(),
        };
        for _ in 0..CALLERS {
            let (url, key) = (format!("{}/check", gate.url), key.to_owned());
            let (stopped, admitted) = (Arc::clone(&load.stopped), Arc::clone(&load.admitted));
            let unknown = Arc::clone(&load.unknown);
            load.callers.spawn(async move {
                let http = Http::new();
                while !stopped.load(Ordering::Relaxed) {
                    let request = http.request(Method::POST, &url).bearer_auth(&key);
                    let Ok(reply) = try_send(request.json(&body("consume"))).await else {
                        unknown.fetch_add(1, Ordering::Relaxed);
                        return;
                    };
                    assert_eq!(reply.status, 200, "{}", reply.body);
                    let decided = reply.body["degraded"].is_null();
                    let count = if decided { &admitted } else { &unknown };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        load
    }

    /// Stops the callers. Returns the number of admitted checks and that of the unknown ones.
    async fn stop(self) -> (u64, u64) {
        self.stopped.store(true, Ordering::Relaxed);
        self.callers.join_all().await;
        (self.admitted.load(Ordering::Relaxed), self.unknown.load(Ordering::Relaxed))
    }
}

fn body(mode: &str) -> Value {
    json!({ "attributes": { "user": "ada" }, "mode": mode })
}

/// The value of a gate's counter.
async fn counted(gate: &Server, name: &str) -> u64 {
    let text = Http::new().request(Method::GET, &format!("{}/metrics", gate.url)).send().await;
    let text = text.expect("a scrape").text().await.expect("text");
    let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
    line.and_then(|line| line.rsplit_once(' '))
        .map_or(0, |(_, number)| number.parse().expect("a number"))
}

async fn until_leasing(gate: &Server) {
    let before = counted(gate, "weir_leased_checks_total").await;
    until(seconds(30), "units are leased", async || {
        counted(gate, "weir_leased_checks_total").await > before + 200
    })
    .await;
}

/// Waits until the count of Redis equals the number of admitted checks.
async fn until_nothing_is_lost(tenant: &Tenant<'_>, what: &str, admitted: u64, unknown: u64) {
    let mut left = 0;
    let took = until(seconds(30), &format!("{what}: unused units come back"), async || {
        let reply = tenant.check(1, &body("peek")).await.expect(200);
        if reply.body["degraded"].is_null() {
            // A peek answers as if it took a unit.
            left = reply.number("/remaining") + 1;
        }
        left + admitted + unknown >= LIMIT
    })
    .await;
    assert!(left + admitted <= LIMIT, "{what}: {left} left, {admitted} admitted");
    print(&format!("{what}: {admitted} admitted, {unknown} unknown, {left} left after {took:?}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leased_units_come_back_after_a_lost_subscription_a_stall_and_a_stop() {
    static STACK: OnceCell<Stack> = OnceCell::const_new();
    let stack = STACK.get_or_init(|| Stack::start(200)).await;
    let tenant = Tenant::sign_up(stack).await;
    let limits = json!([{ "algorithm": "fixed_window", "limit": LIMIT, "window_ms": YEAR_MS }]);
    let rule = json!({ "name": "leased", "count_by": ["user"], "consistency": "leased", "limits": limits });
    let rule = tenant.rule(&rule).await;
    let (mut admitted, mut unknown) = (0, 0);
    let mut add = |(more, more_unknown): (u64, u64)| {
        (admitted, unknown) = (admitted + more, unknown + more_unknown);
        (admitted, unknown)
    };

    let load = Load::on(&stack.gates[0], &tenant.key);
    for _ in 0..3 {
        until_leasing(&stack.gates[0]).await;
        stack.redis.command("CLIENT KILL TYPE pubsub").expect("Redis ends subscriptions");
    }
    let (sum, unsure) = add(load.stop().await);
    until_nothing_is_lost(&tenant, "lost subscriptions", sum, unsure).await;

    let load = Load::on(&stack.gates[0], &tenant.key);
    until_leasing(&stack.gates[0]).await;
    stack.redis.pause().expect("Redis is stopped by a signal");
    until(seconds(30), "the gate notices", async || {
        let ready = tenant.http.get(&format!("{}/readyz", stack.gates[0].url)).await;
        ready.body["redis"] == "degraded"
    })
    .await;
    stack.redis.resume().expect("Redis goes on");
    stack.until_ready(&stack.gates[0]).await;
    let (sum, unsure) = add(load.stop().await);
    until_nothing_is_lost(&tenant, "a stall", sum, unsure).await;

    let gate = stack.gate(GateSettings::default());
    stack.until_ready(&gate).await;
    tenant.settled_on(&gate, rule.version).await;
    let load = Load::on(&gate, &tenant.key);
    until_leasing(&gate).await;
    send_signal(gate.pid(), "TERM");
    until(seconds(30), "the gate ends", async || gate.exit_code().is_some()).await;
    assert_eq!(gate.exit_code(), Some(0), "{}", gate.log());
    let (sum, unsure) = add(load.stop().await);
    until_nothing_is_lost(&tenant, "a stop", sum, unsure).await;
    assert!(!gate.log().contains("could not return leased units"), "{}", gate.log());
}
