//! Heartbeats of gates.

use std::time::Duration;

use weir_domain::id::GateId;

use super::*;
use crate::{GateBeat, GateLoad, LiveGates};

const MINUTE: Duration = Duration::from_mins(1);

pub(super) fn beat() -> GateBeat {
    GateBeat {
        id: GateId::new(NOW, next()),
        boot_id: next(),
        address: "127.0.0.1:8081".to_owned(),
        rulebook_version: 3,
        applied_at: NOW,
        applied_after_ms: 12,
        started_at: NOW,
        weir_version: "1.2.3".to_owned(),
        region: None,
        redis_up: true,
        redis_round_trip_us: Some(250),
        load: None,
    }
}

#[tokio::test]
async fn heartbeat_records_the_served_version_and_live_gates_are_counted() {
    let database = database().await;
    let (one, other) = (beat(), beat());
    let of = |all: u64, of_region: u64| LiveGates { all, of_region };
    assert_eq!(database.gate.beat(&one, MINUTE).await.unwrap(), of(1, 1));
    assert_eq!(database.gate.beat(&other, MINUTE).await.unwrap(), of(2, 2));
    let load = GateLoad {
        interval_ms: 2_000,
        checks: 100,
        denied: 12,
        from_memory: 40,
        latency_p50_us: Some(300),
        latency_p99_us: Some(1_900),
        leases: 3,
        leased_units: 25,
        memory_bytes: Some(90 << 20),
    };
    let later = GateBeat { rulebook_version: 4, load: Some(load), ..one.clone() };
    assert_eq!(database.gate.beat(&later, MINUTE).await.unwrap(), of(2, 2));
    let elsewhere = GateBeat { region: Some("us".to_owned()), ..other.clone() };
    assert_eq!(database.gate.beat(&elsewhere, MINUTE).await.unwrap(), of(2, 1));
    assert_eq!(database.gate.beat(&later, MINUTE).await.unwrap(), of(2, 1));

    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    let rows = tx.gates().list_live(MINUTE).await.unwrap();
    let row = rows.iter().find(|row| row.id == one.id).unwrap();
    assert_eq!((row.rulebook_version, row.applied_after_ms, row.boot_id), (4, 12, one.boot_id));
    assert!(row.age_ms < 60_000);
    assert_eq!(row.redis_away_since, None);
    let shown = (row.weir_version.as_deref(), row.redis_up, row.redis_round_trip_us);
    assert_eq!(shown, (Some("1.2.3"), Some(true), Some(250)));
    let of_other = rows.iter().find(|row| row.id == other.id).unwrap().load;
    assert_eq!((row.load, of_other), (Some(load), None));
    let regions = rows.iter().filter_map(|row| row.region.as_deref());
    assert_eq!(regions.collect::<Vec<_>>(), ["us"]);
    assert_eq!(tx.gates().forget(MINUTE).await.unwrap(), 0);
    assert_eq!(tx.gates().forget(Duration::ZERO).await.unwrap(), 2);
    assert_eq!(tx.gates().list_live(MINUTE).await.unwrap(), []);
}

#[tokio::test]
async fn a_gate_without_redis_keeps_the_time_since_when_until_it_is_back_or_restarts() {
    let database = database().await;
    let gate = beat();
    let since = async |beat: &GateBeat| {
        database.gate.beat(beat, MINUTE).await.unwrap();
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        let rows = tx.gates().list_live(MINUTE).await.unwrap();
        rows.into_iter().find(|row| row.id == beat.id).unwrap().redis_away_since
    };
    let away = GateBeat { redis_up: false, ..gate.clone() };
    let restarted = GateBeat { boot_id: next(), ..away.clone() };
    let first = since(&away).await;
    assert!(first.is_some(), "also in the first heartbeat");
    assert_eq!(since(&away).await, first);
    assert!(since(&restarted).await > first, "the former process was another outage");
    assert_eq!(since(&gate).await, None);
    assert!(since(&away).await > first);
}

#[tokio::test]
async fn gate_cannot_write_the_heartbeat_of_another() {
    let database = database().await;
    let (own, other) = (beat(), beat());
    database.gate.beat(&other, MINUTE).await.unwrap();
    let mut tx = database.gate.begin("tests", Scope::Gate(own.id)).await.unwrap();
    let beat = sqlx::AssertSqlSafe(crate::gates::beat_statement(&other));
    let refused = unchecked(beat).execute(tx.connection()).await.unwrap_err();
    assert!(refused.to_string().contains("row-level security"), "{refused}");
    let mut tx = database.gate.begin("tests", Scope::Gate(own.id)).await.unwrap();
    assert_eq!(raw(&mut tx, "UPDATE gates SET rulebook_version = 0").await.unwrap(), 0);
}

#[tokio::test]
async fn rollouts_show_when_each_live_gate_reported_a_change() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, before) = tenant(&database.app, owner).await;
    let change = async || {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        tx.tenants().begin_change(tenant_id).await.unwrap();
        tx.keys().insert(&key(tenant_id)).await.unwrap();
        tx.publish(tenant_id, None).await.unwrap().unwrap()
    };
    let rollouts = async |window: Duration| {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        tx.gates().rollouts(tenant_id, window, 50).await.unwrap()
    };
    let (one, other) = (beat(), beat());
    let serving =
        |gate: &GateBeat, rulebook_version: u64| GateBeat { rulebook_version, ..gate.clone() };
    for gate in [&one, &other] {
        database.gate.beat(&serving(gate, before), MINUTE).await.unwrap();
    }
    let (first, second) = (change().await, change().await);
    database.gate.beat(&serving(&one, first), MINUTE).await.unwrap();
    let known = rollouts(MINUTE).await;
    let shown: Vec<_> = known.iter().map(|rollout| rollout.rulebook_version).collect();
    assert_eq!(shown[..3], [second, first, before]);
    let reported = |at: usize, gate: &GateBeat| {
        let found = known[at].gates.iter().find(|report| report.gate_id == gate.id);
        found.map(|report| report.reported_at.is_some())
    };
    assert_eq!((reported(0, &one), reported(0, &other)), (Some(false), Some(false)));
    assert_eq!((reported(1, &one), reported(1, &other)), (Some(true), Some(false)));
    assert_eq!(reported(2, &one), None, "no earlier version of the gate is known");

    // A gate that skips a version serves it with the later one.
    database.gate.beat(&serving(&other, second), MINUTE).await.unwrap();
    let known = rollouts(MINUTE).await;
    let of = |at: usize| known[at].gates.iter().find(|report| report.gate_id == other.id).unwrap();
    assert_eq!(of(0).reported_at, of(1).reported_at);
    assert!(of(0).reported_at >= known[0].published_at, "both by Postgres' clock");
    assert!(rollouts(Duration::ZERO).await.iter().all(|rollout| rollout.gates.is_empty()));

    // After a restore, versions of the abandoned history are deleted.
    database.gate.beat(&serving(&other, first), MINUTE).await.unwrap();
    let known = rollouts(MINUTE).await;
    let report = known[0].gates.iter().find(|report| report.gate_id == other.id).unwrap();
    assert_eq!(report.reported_at, None);
}

#[tokio::test]
async fn only_the_newest_versions_of_a_gate_are_retained() {
    let database = database().await;
    let gate = beat();
    let serving = |rulebook_version: u64| GateBeat { rulebook_version, ..gate.clone() };
    database.gate.beat(&serving(0), MINUTE).await.unwrap();
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let earlier = "INSERT INTO gate_rollouts SELECT id, generate_series(1, 1002) FROM gates";
    raw(&mut tx, earlier).await.unwrap();
    tx.commit().await.unwrap();
    database.gate.beat(&serving(1_003), MINUTE).await.unwrap();
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let sql =
        "SELECT concat_ws(' ', min(rulebook_version), max(rulebook_version)) FROM gate_rollouts";
    assert_eq!(texts(&mut tx, sql).await, ["4 1003"]);
    tx.gates().forget(Duration::ZERO).await.unwrap();
    assert_eq!(texts(&mut tx, "SELECT count(*)::text FROM gate_rollouts").await, ["0"]);
}
