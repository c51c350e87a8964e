//! Workers that are killed at random under a concurrency limit: never more at work than the capacity, and no place is lost.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use weir_local::{RedisCluster, ScratchDir};

use crate::harness::{
    GateSettings, PATIENT_MS, Server, Stack, Tenant, millis, print, seconds, shared, until,
};

const CAPACITY: u64 = 8;
const LEASE_MS: u64 = 2_000;
const WORKERS: usize = 50;
/// The time in which thirty workers are killed one after another. The last twenty are killed at once.
const RUN: Duration = seconds(6);

struct Worker {
    process: Child,
    /// The time at which it was dead for sure, in nanoseconds since 1970.
    dead_ns: Option<u128>,
}

impl Worker {
    fn start(gate: &Server, key: &str, seed: usize) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/it/concurrency/worker.py");
        let host = gate.url.trim_start_matches("http://");
        let mut command = Command::new("python3");
        command.args([script, host, key, &LEASE_MS.to_string(), &seed.to_string()]);
        let process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        Self { process: process.expect("python3 runs"), dead_ns: None }
    }

    /// Kills it with SIGKILL.
    fn kill(&mut self) {
        self.process.kill().expect("it is killed");
        self.process.wait().expect("it is dead");
        self.dead_ns = Some(now_ns());
    }

    /// The spans in which it was at work.
    fn spans(self) -> Vec<(u128, u128)> {
        let dead_ns = self.dead_ns.expect("it was killed");
        let output = self.process.wait_with_output().expect("its output");
        let mut spans = Vec::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            match line.split_once(' ').map(|(word, at)| (word, at.parse())) {
                Some(("from", Ok(at))) => spans.push((at, dead_ns)),
                Some(("until", Ok(at))) => spans.last_mut().expect("it began").1 = at,
                _ => {}
            }
        }
        spans
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the workers state times by the clock of the machine"
)]
fn now_ns() -> u128 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.expect("it is later than 1970").as_nanos()
}

/// The most spans that overlap.
fn most_at_once(spans: &[(u128, u128)]) -> i64 {
    let begins = spans.iter().map(|&(from, _)| (from, 1));
    let ends = spans.iter().map(|&(_, until)| (until, -1));
    let mut changes: Vec<(u128, i64)> = begins.chain(ends).collect();
    changes.sort_unstable();
    let mut at_work = 0;
    changes
        .iter()
        .map(|(_, change)| {
            at_work += change;
            at_work
        })
        .max()
        .unwrap_or(0)
}

async fn free_places(tenant: &Tenant<'_>, gate: &Server) -> u64 {
    let peek = json!({ "attributes": { "user": "u" }, "mode": "peek" });
    let answer = tenant.ask(gate, "/check", &peek).await.body;
    // A peek answers as a check would, which takes a place.
    answer["remaining"].as_u64().expect("a number") + u64::from(answer["allowed"] == true)
}

/// Lets workers of these gates work, and kills all of them, most at random times.
async fn workers_are_killed(tenant: &Tenant<'_>, gates: &[&Server]) {
    let worker = |at: usize| Worker::start(gates[at % gates.len()], &tenant.key, at);
    let mut workers: Vec<_> = (0..WORKERS).map(worker).collect();
    until(seconds(60), "the places are taken", async || free_places(tenant, gates[0]).await == 0)
        .await;
    let began = Instant::now();
    // An order and times that look random and are the same in each run.
    let mut order: Vec<usize> = (0..WORKERS).map(|at| at * 17 % WORKERS).collect();
    until(seconds(120), "30 workers are killed", async || {
        let due = began.elapsed().as_millis() * 30 / RUN.as_millis();
        while order.len() > WORKERS - 30 && (WORKERS - order.len()) as u128 <= due {
            let next = order.pop().expect("there are more");
            workers[next].kill();
        }
        order.len() <= WORKERS - 30 && began.elapsed() > RUN
    })
    .await;
    for next in order {
        workers[next].kill();
    }
    // Requests of the dead workers are decided before those that are sent now.
    for gate in gates {
        free_places(tenant, gate).await;
    }
    let (killed, mut last_missed) = (Instant::now(), Duration::ZERO);
    let took = until(millis(LEASE_MS) + seconds(10), "all places are free", async || {
        let asked = killed.elapsed();
        let all_free = free_places(tenant, gates[0]).await == CAPACITY;
        last_missed = if all_free { last_missed } else { asked };
        all_free
    })
    .await;
    // The answer of a busy machine can be late, but what it says was so when it was asked for or later.
    assert!(last_missed <= millis(LEASE_MS + 500), "a place was taken after {last_missed:?}");
    let spans: Vec<_> = workers.into_iter().flat_map(Worker::spans).collect();
    let most = most_at_once(&spans);
    print(&format!("{} spans of work, {most} at once at most; free after {took:?}", spans.len()));
    assert!(spans.len() > 20, "only {} spans of work", spans.len());
    assert!(most <= i64::try_from(CAPACITY).expect("small"), "{most} were at work at once");
    assert!(most >= 4, "the limit was not used: {most} at once");
}

fn rule() -> Value {
    json!({ "name": "jobs", "count_by": ["user"], "on_store_failure": "deny",
        "limits": [{ "algorithm": "concurrency", "capacity": CAPACITY, "lease_ms": LEASE_MS }] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_killed_at_random_never_exceed_the_capacity_and_lose_no_place() {
    let tenant = Tenant::sign_up(shared().await).await;
    tenant.rule(&rule()).await;
    let gates: Vec<_> = tenant.stack.gates.iter().collect();
    workers_are_killed(&tenant, &gates).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_on_a_cluster() {
    let stack = Stack::start(PATIENT_MS).await;
    let tenant = Tenant::sign_up(&stack).await;
    tenant.rule(&rule()).await;
    let scratch = ScratchDir::create().expect("a scratch folder");
    let data_dir = scratch.path().join("cluster");
    let cluster = tokio::task::spawn_blocking(move || RedisCluster::start(&data_dir, 3, 1));
    let cluster = cluster.await.expect("it runs").expect("it starts");
    let redis_url = Some(cluster.url());
    let gate = stack.gate(GateSettings { redis_url, ..GateSettings::default() });
    stack.until_ready(&gate).await;
    workers_are_killed(&tenant, &[&gate]).await;
}
