//! Deferred jobs on a Redis Cluster and with Sentinel, while replicas take over.

use std::path::Path;
use std::time::Instant;

use weir_local::{LocalError, RedisCluster, RedisSentinel, ScratchDir};

use super::receiver::Receiver;
use super::{
    arrivals, assert_in_order, charged, job, rules, submit, webhook, with_private_webhooks,
};
use crate::harness::{GateSettings, Stack, Tenant, print, seconds, until};

const JOBS: usize = 120;
const ACCOUNTS: usize = 4;
/// The limit permits the last job after 18 s: later than a busy machine needs to store all of them.
const INTERVAL_MS: u64 = 150;

/// A stack whose two gates use the Redis at this address.
async fn stack_on(redis_url: &str) -> Stack {
    let mut stack = with_private_webhooks(Stack::start(1_000).await).await;
    let gate = || {
        let redis_url = Some(redis_url.to_owned());
        stack.gate(GateSettings { redis_url, ..GateSettings::default() })
    };
    let gates = vec![gate(), gate()];
    for gate in &gates {
        stack.until_ready(gate).await;
    }
    stack.gates = gates;
    stack
}

/// Stores the jobs, lets replicas take over while they are delivered, and examines the arrivals and charges.
async fn all_arrive<T: Send + 'static>(
    stack: Stack,
    servers: T,
    fail_over: impl FnOnce(&T) + Send + 'static,
) {
    let tenant = Tenant::sign_up(&stack).await;
    let receiver = Receiver::start();
    let target = webhook(&tenant, &receiver).await;
    rules(&tenant, 1, INTERVAL_MS).await;
    let urls: Vec<_> = stack.gates.iter().map(|gate| gate.url.clone()).collect();
    for number in 0..JOBS {
        let job = job(&target, number % ACCOUNTS, number / ACCOUNTS);
        submit(&urls, number % 2, &tenant.key, &job).await;
    }
    let before = receiver.count();
    assert!(before < JOBS, "all jobs arrived before the failover");
    let replaced = tokio::task::spawn_blocking(move || {
        fail_over(&servers);
        servers
    });
    let _servers = replaced.await.expect("the replicas take over");
    until(seconds(120), "all jobs arrive", async || arrivals(&receiver).len() == JOBS).await;
    assert_in_order(&arrivals(&receiver));
    let accounts: Vec<_> = (0..ACCOUNTS).collect();
    assert_eq!(charged(&tenant, &accounts).await, vec![(JOBS / ACCOUNTS) as u64; ACCOUNTS]);
    let copies = receiver.count() - JOBS;
    print(&format!("{JOBS} deferred jobs, {before} before the failover, {copies} arrived twice"));
}

/// Lets the primary accept no further write, and waits until the replica has all of them. Otherwise the replica would lack the
/// last ones: Redis confirms a write before it is replicated.
fn write_no_more(group: &RedisSentinel) {
    let primary = &group.servers()[group.primary().expect("the Sentinels agree")];
    let paused = primary.command("CLIENT PAUSE 60000 WRITE").expect("an answer");
    assert!(paused.starts_with("+OK"), "{paused}");
    let deadline = Instant::now() + seconds(30);
    loop {
        let state = primary.command("INFO replication").expect("an answer");
        let number = |name: &str| {
            let rest = state.split(name).nth(1).expect("it is stated");
            rest.chars().take_while(char::is_ascii_digit).collect::<String>()
        };
        if number(",offset=") == number("master_repl_offset:") {
            return;
        }
        assert!(Instant::now() < deadline, "the replica lacks writes: {state}");
    }
}

/// Starts servers in a folder of their own, which lasts as long as they do.
async fn started<T: Send + 'static>(start: fn(&Path) -> Result<T, LocalError>) -> (ScratchDir, T) {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let data_dir = scratch.path().join("redis");
    let servers = tokio::task::spawn_blocking(move || start(&data_dir));
    (scratch, servers.await.expect("it runs").expect("it starts"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_on_a_cluster_arrive_in_order_charged_once_while_all_primaries_are_replaced() {
    let (_scratch, cluster) = started(|data_dir| RedisCluster::start(data_dir, 3, 3)).await;
    let stack = stack_on(&cluster.url()).await;
    all_arrive(stack, cluster, |cluster| {
        (0..3).for_each(|primary| cluster.fail_over(primary).expect("a replica"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_with_sentinel_arrive_in_order_charged_once_while_the_primary_is_replaced() {
    let (_scratch, group) = started(RedisSentinel::start).await;
    let stack = stack_on(&group.url()).await;
    all_arrive(stack, group, |group| {
        write_no_more(group);
        group.fail_over().expect("a replica");
    })
    .await;
}
