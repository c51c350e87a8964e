//! Reports on real servers.

use weir_local::{Redis, RedisCluster, RedisOptions, RedisSentinel, ScratchDir};

use super::*;

const BUDGET: Duration = Duration::from_secs(10);

fn start(scratch: &ScratchDir, settings: &[&str]) -> Redis {
    let settings = settings.iter().map(|line| (*line).to_owned()).collect();
    let data_dir = scratch.path().join("redis");
    Redis::start(RedisOptions { data_dir, settings }).expect("redis starts")
}

async fn report(url: &str) -> Report {
    let client = crate::client(url).expect("an address");
    inspect(&client, BUDGET, || Timestamp::from_millis(0)).await
}

fn bad(report: &Report) -> Vec<&'static str> {
    let bad = report.0.iter().filter(|finding| finding.judgement == Judgement::Bad);
    bad.map(|finding| finding.subject).collect()
}

fn text<'a>(report: &'a Report, subject: &str) -> &'a str {
    let finding = report.0.iter().find(|finding| finding.subject == subject);
    &finding.unwrap_or_else(|| panic!("no {subject} in {report:?}")).text
}

#[tokio::test]
async fn usual_server_is_suitable_and_nothing_stays_in_it() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let server = start(&scratch, &[]);
    let report = report(&server.url()).await;
    assert!(report.is_suitable(), "{report:?}");
    assert!(text(&report, "replicas").contains("each limit"), "{report:?}");
    assert!(text(&report, "clock").contains("synchronise"), "the given clock is at 1970");
    assert_eq!(server.command("DBSIZE").expect("it answers"), ":0\r\n");
}

#[tokio::test]
async fn evicting_server_is_not_suitable() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let report = report(&start(&scratch, &["maxmemory-policy allkeys-lru"]).url()).await;
    assert_eq!(bad(&report), ["eviction"]);
    assert!(text(&report, "eviction").contains("allkeys-lru"), "{report:?}");
}

#[tokio::test]
async fn replica_and_missing_server_are_not_suitable() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let replica = report(&start(&scratch, &["replicaof 127.0.0.1 1"]).url()).await;
    assert!(bad(&replica).contains(&"address"), "{replica:?}");
    assert!(text(&replica, "address").contains("replica"), "{replica:?}");
    let missing = report("redis://127.0.0.1:1").await;
    assert!(text(&missing, "address").contains("no connection"), "{missing:?}");
}

#[tokio::test]
async fn missing_rights_are_named() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let server = start(&scratch, &[]);
    let rights = "~weir:* &weir:signal:* +@all -hset -publish -memory|usage";
    server.command(&format!("ACL SETUSER gate on >pass {rights}")).expect("it runs");
    let url = format!("redis://gate:pass@{}", server.address());
    let limited = report(&url).await;
    assert_eq!(bad(&limited), ["permissions"]);
    let missing = text(&limited, "permissions");
    assert_eq!(missing, "missing: +hset +memory|usage +publish");
    assert_eq!(text(&limited, "data loss"), "gates are notified at once");
    server.command("ACL SETUSER gate -client|tracking").expect("it runs");
    let untold = report(&url).await;
    assert!(text(&untold, "data loss").starts_with("gates notice it after"), "{untold:?}");
    assert_eq!(bad(&untold), ["permissions"], "Weir works without it");
    for right in ["fcall", "function|load"] {
        server.command("FUNCTION FLUSH").expect("it runs");
        server.command(&format!("ACL SETUSER gate -{right}")).expect("it runs");
        let without = report(&url).await;
        assert_eq!(bad(&without), ["functions", "permissions"], "-{right}");
        assert!(text(&without, "functions").contains("+fcall and +function|load"), "{without:?}");
        server.command(&format!("ACL SETUSER gate +{right}")).expect("it runs");
    }
    server.command("ACL SETUSER gate reset on >pass ~other:* +@all").expect("it runs");
    let missing = text(&report(&url).await, "permissions").to_owned();
    assert_eq!(missing, "missing: &weir:signal:* ~weir:*");
    server.command("ACL SETUSER gate resetkeys ~weir:* -@scripting").expect("it runs");
    assert!(bad(&report(&url).await).contains(&"functions"));
}

#[tokio::test]
async fn slow_server_is_reported_against_the_budget() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let server = start(&scratch, &[]);
    let client = crate::client(&server.url()).expect("an address");
    let clock = || Timestamp::from_millis(0);
    let report = inspect(&client, Duration::from_nanos(1), clock).await;
    assert_eq!(bad(&report), ["round trip"]);
    assert!(text(&report, "round trip").contains("set WEIR_REDIS_BUDGET_MS"), "{report:?}");
}

#[tokio::test]
async fn sentinels_are_described_and_the_loss_of_a_failover_is_bounded() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let group = RedisSentinel::start(&scratch.path().join("redis")).expect("it starts");
    let report = report(&group.url()).await;
    assert!(report.is_suitable(), "{report:?}");
    assert!(text(&report, "address").contains("3 of 3 Sentinels"), "{report:?}");
    assert!(text(&report, "failover").contains("once more at most"), "{report:?}");
}

#[tokio::test]
async fn cluster_is_reported_with_its_slots_its_spread_and_each_primary() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let cluster = RedisCluster::start(&scratch.path().join("redis"), 3, 1).expect("it starts");
    let report = report(&cluster.url()).await;
    assert!(report.is_suitable(), "{report:?}");
    assert!(text(&report, "address").contains("3 primaries"), "{report:?}");
    assert_eq!(text(&report, "slots"), "16384 of 16384 are covered");
    assert_eq!(text(&report, "spread"), "21 + 22 + 21 buckets");
    assert_eq!(text(&report, "node timeout"), "5000 ms");
    assert_eq!(text(&report, "permissions"), "all that Weir needs");
    let clocks = report.0.iter().filter(|finding| finding.subject == "clock");
    let nodes = cluster.nodes()[..3].iter().map(Redis::address);
    for (clock, node) in clocks.zip(nodes) {
        assert!(clock.text.starts_with(&node), "{report:?}");
    }
    for node in &cluster.nodes()[..3] {
        let keys = node.command("KEYS *").expect("it answers");
        assert_eq!(keys, "*0\r\n", "nothing stays in it");
    }
}

#[tokio::test]
async fn primary_that_requires_its_only_replica_is_noted() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let cluster = RedisCluster::start(&scratch.path().join("redis"), 3, 1).expect("it starts");
    let set = cluster.nodes()[0].command("CONFIG SET min-replicas-to-write 1");
    assert_eq!(set.expect("it answers"), "+OK\r\n");
    let report = report(&cluster.url()).await;
    assert!(report.is_suitable(), "{report:?}");
    let failovers = report.0.iter().filter(|finding| finding.subject == "failover");
    let stops = |finding: &Finding| finding.text.contains("The loss of the only replica stops");
    let found: Vec<_> = failovers.map(|finding| (finding.judgement, stops(finding))).collect();
    let good = (Judgement::Good, false);
    assert_eq!(found, [(Judgement::Notice, true), good, good], "{report:?}");
}

#[tokio::test]
async fn missing_rights_of_a_cluster_are_named() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let cluster = RedisCluster::start(&scratch.path().join("redis"), 3, 0).expect("it starts");
    let password = cluster.nodes()[0].password();
    for node in cluster.nodes() {
        let rights = "~weir:* &weir:signal:* +@all -asking -publish -config";
        node.command(&format!("ACL SETUSER gate on >pass {rights}")).expect("it runs");
    }
    let url = cluster.url().replace(&format!(":{password}@"), "gate:pass@");
    let limited = report(&url).await;
    assert_eq!(bad(&limited), ["permissions"]);
    assert_eq!(text(&limited, "permissions"), "missing: +asking +publish");
}
