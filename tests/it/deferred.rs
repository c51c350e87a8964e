//! Deferred jobs arrive at least once, in order, charged once and never faster than the limit, whatever is killed meanwhile.

mod failover;
mod places;
mod receiver;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use self::receiver::{Mode, Receiver};
use crate::harness::{
    Http, PATIENT_MS, Reply, Stack, Tenant, metric, print, seconds, send, send_signal, shared,
    try_send, until,
};

/// The jobs of the long test, unless `WEIR_TEST_DEFERRED_JOBS` states another number, a multiple of [`ACCOUNTS`].
const JOBS: usize = 1_000;
const ACCOUNTS: usize = 10;
/// The jobs that one gate attempts at once for a tenant.
const AT_ONCE: usize = 8;
const PER_SECOND: usize = 100;
/// More than an account is charged.
const COUNTED_MAX: u64 = 10_000;
const DAY_MS: u64 = 86_400_000;

/// A webhook of the tenant for this receiver. Its id.
async fn webhook(tenant: &Tenant<'_>, receiver: &Receiver) -> String {
    let body = json!({ "name": "jobs", "url": receiver.url });
    let webhook = tenant.admin(Method::POST, "/webhooks", &body).await.expect(201);
    webhook.text("/webhook/id")
}

/// Rules for `jobs`: the limit of a provider, and the count of each account.
async fn rules(tenant: &Tenant<'_>, capacity: u64, interval_ms: u64) {
    let bucket = json!({ "algorithm": "token_bucket", "capacity": capacity, "refill_tokens": 1, "refill_interval_ms": interval_ms });
    tenant
        .rule(&json!({ "namespace": "jobs", "name": "provider", "count_by": ["provider"], "limits": [bucket] }))
        .await;
    let count =
        json!({ "algorithm": "sliding_window_log", "limit": COUNTED_MAX, "window_ms": DAY_MS });
    tenant
        .rule(&json!({ "namespace": "jobs", "name": "account", "count_by": ["account"], "limits": [count] }))
        .await;
}

fn job(target: &str, account: usize, number: usize) -> Value {
    json!({
        "namespace": "jobs",
        "attributes": { "provider": "smtp", "account": format!("a-{account}") },
        "target": target,
        "payload": { "account": account, "number": number },
        "idempotency_key": format!("job {account} {number}"),
    })
}

async fn of_job(tenant: &Tenant<'_>, method: Method, id: &str) -> Reply {
    let url = format!("{}/deferred/{id}", tenant.stack.gates[0].url);
    send(tenant.http.request(method, &url).bearer_auth(&tenant.key)).await
}

#[tokio::test]
async fn job_passes_at_once_or_waits_and_can_be_read_and_cancelled() {
    let stack = shared().await;
    let control = stack.control_that_has(&[("WEIR_WEBHOOK_ALLOW_PRIVATE", "on".to_owned())]).await;
    let (tenant, other) = (Tenant::sign_up(stack).await, Tenant::sign_up(stack).await);
    let receiver = Receiver::start();
    let url = format!("{}/api/v1/tenants/{}/webhooks", control.url, tenant.id);
    let body = json!({ "name": "jobs", "url": receiver.url });
    let created = tenant.http.request(Method::POST, &url).bearer_auth(&tenant.token).json(&body);
    let target = send(created).await.expect(201).text("/webhook/id");
    rules(&tenant, 1, 60_000).await;
    let gate = &stack.gates[0];
    let defer = async |body: &Value| tenant.ask(gate, "/defer", body).await;

    let payload = json!({ "place": [[8.5, 47.4], []], "number": 1 });
    let mut body = job(&target, 1, 1);
    body["payload"] = payload.clone();
    let passed = defer(&body).await.expect(200);
    assert!(passed.allowed() && passed.header("ratelimit").is_some(), "{}", passed.body);
    assert_eq!(receiver.count(), 1);
    let message = receiver.received().messages[0].clone();
    assert_eq!(message.id, passed.text("/deferred"));
    assert!(message.signature.starts_with("v1,"), "{}", message.signature);
    assert_eq!(message.body["type"], "deferred");
    assert_eq!(message.body["data"]["payload"], payload);
    let repeated = defer(&body).await.expect(202);
    assert_eq!((&repeated.body["state"], receiver.count()), (&json!("delivered"), 1));

    let first = defer(&job(&target, 1, 2)).await.expect(202);
    let second = defer(&job(&target, 1, 3)).await.expect(202);
    assert_eq!((first.number("/position"), second.number("/position")), (1, 2));
    let again = defer(&job(&target, 1, 3)).await.expect(202);
    assert_eq!(again.text("/deferred"), second.text("/deferred"));
    let mut changed = job(&target, 1, 3);
    changed["payload"] = json!("another");
    assert_eq!(defer(&changed).await.expect(422).body["fields"][0]["field"], "idempotency_key");

    let id = second.text("/deferred");
    assert_eq!(of_job(&tenant, Method::GET, &id).await.expect(200).body["state"], "waiting");
    for method in [Method::GET, Method::DELETE] {
        of_job(&other, method, &id).await.expect(404);
    }
    let foreign = other.ask(gate, "/defer", &job(&target, 1, 1)).await.expect(422);
    assert_eq!(foreign.body["fields"][0]["field"], "target");
    of_job(&tenant, Method::DELETE, &first.text("/deferred")).await.expect(204);
    of_job(&tenant, Method::DELETE, &id).await.expect(204);
    of_job(&tenant, Method::DELETE, &id).await.expect(404);
    assert_eq!(receiver.count(), 1);
}

#[tokio::test]
async fn delivery_is_repeated_charged_once_and_becomes_a_dead_letter_in_time() {
    let stack = Stack::start(PATIENT_MS).await;
    let stack = with_private_webhooks(stack).await;
    let tenant = Tenant::sign_up(&stack).await;
    let receiver = Receiver::start();
    let target = webhook(&tenant, &receiver).await;
    rules(&tenant, 100, 60_000).await;
    receiver.received().mode = Mode::Refuse;
    let mut body = job(&target, 1, 1);
    body["not_after_ms"] = json!(8_000);
    let waiting = tenant.ask(&stack.gates[0], "/defer", &body).await.expect(202);
    let id = waiting.text("/deferred");
    let other = tenant.ask(&stack.gates[1], "/defer", &job(&target, 2, 1)).await.expect(202);
    until(seconds(20), "the job fails", async || {
        of_job(&tenant, Method::GET, &id).await.expect(200).body["state"] == "failed"
    })
    .await;
    let failed = of_job(&tenant, Method::GET, &id).await.expect(200);
    assert!(failed.text("/error").contains("500"), "{}", failed.body);
    assert!(failed.number("/attempts") >= 2, "{}", failed.body);
    until(seconds(30), "both gates report the queue", async || {
        let report = async |gate: usize, series| metric(&stack.gates[gate].url, series).await;
        let mut numbers = Vec::new();
        for gate in [0, 1] {
            let sizes = report(gate, "weir_deferred_waiting_bytes").await;
            numbers.push((
                report(gate, "weir_deferred_waiting_jobs").await,
                report(gate, "weir_deferred_failed_jobs").await,
                sizes > 100,
            ));
        }
        numbers == [(1, 1, true); 2]
    })
    .await;
    receiver.received().mode = Mode::Accept;
    until(seconds(90), "the other job is delivered", async || {
        let job = of_job(&tenant, Method::GET, &other.text("/deferred")).await.expect(200);
        job.body["state"] == "delivered"
    })
    .await;
    assert_eq!(charged(&tenant, &[1, 2]).await, [1, 1]);

    // While a receiver holds all places of its tenant, another tenant's jobs are delivered.
    receiver.received().mode = Mode::Hold;
    let mut callers = JoinSet::new();
    for account in 10..10 + 2 * AT_ONCE {
        let (http, key) = (tenant.http.clone(), tenant.key.clone());
        let url = format!("{}/defer", stack.gates[account % 2].url);
        let body = job(&target, account, 1);
        callers.spawn(async move { http.post(&url, &key, &body).await.expect(202) });
    }
    callers.join_all().await;
    let (other, prompt) = (Tenant::sign_up(&stack).await, Receiver::start());
    let target = webhook(&other, &prompt).await;
    rules(&other, 100, 60_000).await;
    for number in 1..=5 {
        other.ask(&stack.gates[0], "/defer", &job(&target, 1, number)).await.expect(200);
    }

    stack.redis.kill().expect("Redis runs");
    until(seconds(10), "Redis is missed", async || {
        let refused = other.ask(&stack.gates[0], "/defer", &job(&target, 1, 6)).await;
        refused.status == 503 && refused.problem() == "unavailable"
    })
    .await;
}

#[tokio::test]
async fn all_jobs_arrive_in_order_charged_once_although_a_gate_and_redis_are_killed() {
    let jobs = jobs();
    let lines = ["appendonly yes", "appendfsync always"].map(str::to_owned);
    let stack = Stack::start_with_redis(1_000, lines.into()).await;
    let stack = with_private_webhooks(stack).await;
    let tenant = Tenant::sign_up(&stack).await;
    let receiver = Receiver::start();
    let target = webhook(&tenant, &receiver).await;
    rules(&tenant, 1, 1_000 / PER_SECOND as u64).await;
    let urls = Arc::new(stack.gates.iter().map(|gate| gate.url.clone()).collect::<Vec<_>>());
    let killed = Arc::new(AtomicBool::new(false));
    let mut callers = JoinSet::new();
    for account in 0..ACCOUNTS {
        let (urls, killed) = (Arc::clone(&urls), Arc::clone(&killed));
        let (key, target) = (tenant.key.clone(), target.clone());
        callers.spawn(async move {
            for number in 0..jobs / ACCOUNTS {
                let gate = if killed.load(Ordering::Relaxed) { 0 } else { number % 2 };
                submit(&urls, gate, &key, &job(&target, account, number)).await;
            }
        });
    }
    until(seconds(300), "a third arrives", async || receiver.count() > jobs / 3).await;
    killed.store(true, Ordering::Relaxed);
    send_signal(stack.gates[1].pid(), "KILL");
    until(seconds(300), "half arrives", async || receiver.count() > jobs / 2).await;
    stack.redis.kill().expect("Redis runs");
    stack.redis.restart().expect("Redis starts again");
    callers.join_all().await;
    until(seconds(600 + jobs as u64 / 10), "all jobs arrive", async || {
        arrivals(&receiver).len() == jobs
    })
    .await;

    let arrivals = arrivals(&receiver);
    let took = arrivals[jobs - 1].at.duration_since(arrivals[0].at);
    assert_in_order(&arrivals);
    let in_a_second = arrivals.iter().enumerate().map(|(first, from)| {
        let later = arrivals[first..].iter();
        later.take_while(|arrival| arrival.at.duration_since(from.at) < seconds(1)).count()
    });
    let fastest = in_a_second.max().expect("jobs arrived");
    let copies = receiver.count() - jobs;
    print(&format!(
        "{jobs} deferred jobs in {took:?}, at most {fastest} in a second, {copies} arrived twice"
    ));
    // The charges are spaced by the limit. Between a charge and its arrival are only the jobs that are attempted at once.
    assert!(fastest <= PER_SECOND + 1 + 2 * AT_ONCE, "{fastest} in a second");
    let least = Duration::from_millis(1_000 * (jobs - 1 - 2 * AT_ONCE) as u64 / PER_SECOND as u64);
    assert!(took >= least, "{took:?}");
    let all: Vec<_> = (0..ACCOUNTS).collect();
    assert_eq!(charged(&tenant, &all).await, vec![(jobs / ACCOUNTS) as u64; ACCOUNTS]);
}

/// The number of jobs of the long test.
fn jobs() -> usize {
    let given = std::env::var_os("WEIR_TEST_DEFERRED_JOBS");
    let number = |text: OsString| text.to_str().and_then(|text| text.parse().ok());
    given.map_or(JOBS, |text| number(text).expect("WEIR_TEST_DEFERRED_JOBS is a number"))
}

/// Lets the tenants of the stack send to this machine.
async fn with_private_webhooks(mut stack: Stack) -> Stack {
    let control = stack.another_control(stack.control_url());
    stack.until_ready(&control).await;
    assert_eq!(std::mem::replace(&mut stack.control, control).stop(), 0);
    stack
}

/// Defers a job, again and again until a gate confirms it.
async fn submit(urls: &[String], mut gate: usize, key: &str, job: &Value) {
    let (http, deadline) = (Http::new(), Instant::now() + seconds(60));
    loop {
        let url = format!("{}/defer", urls[gate]);
        let request = http.request(Method::POST, &url).bearer_auth(key).json(job);
        let status = try_send(request).await.map_or(0, |reply| reply.status);
        if matches!(status, 200 | 202) {
            return;
        }
        // The other gate or Redis has been killed.
        assert!(matches!(status, 0 | 503), "{status}");
        assert!(Instant::now() < deadline, "no gate stores the job");
        gate = 0;
        tokio::task::yield_now().await;
    }
}

/// The first arrival of each job.
fn arrivals(receiver: &Receiver) -> Vec<Arrival> {
    let mut known = BTreeSet::new();
    let received = receiver.received();
    let first = received.messages.iter().filter(|message| known.insert(message.id.clone()));
    let number = |value: &Value| usize::try_from(value.as_u64().expect("a number")).expect("small");
    let arrivals = first.map(|message| {
        let payload = &message.body["data"]["payload"];
        Arrival {
            at: message.at,
            account: number(&payload["account"]),
            number: number(&payload["number"]),
        }
    });
    arrivals.collect()
}

/// Asserts that the jobs of each account arrived in the order of their numbers.
fn assert_in_order(arrivals: &[Arrival]) {
    let mut next = BTreeMap::new();
    for arrival in arrivals {
        let expected = next.entry(arrival.account).or_insert(0);
        assert_eq!(arrival.number, *expected, "of account {}", arrival.account);
        *expected += 1;
    }
}

struct Arrival {
    at: Instant,
    account: usize,
    number: usize,
}

/// The units that each account was charged.
async fn charged(tenant: &Tenant<'_>, accounts: &[usize]) -> Vec<u64> {
    let mut units = Vec::new();
    for account in accounts {
        let attributes = json!({ "account": format!("a-{account}") });
        let body = json!({ "namespace": "jobs", "attributes": attributes, "mode": "peek" });
        let peek = tenant.check(0, &body).await.expect(200);
        let limits = peek.body["limits"].as_array().expect("a list");
        let count = limits.iter().find(|limit| limit["rule"] == "account").expect("it counts");
        // A peek answers as if it took its unit.
        units.push(COUNTED_MAX - 1 - count["remaining"].as_u64().expect("a number"));
    }
    units
}
