//! Gates whose machine has a clock that is wrong by an hour, with the real clocks of Postgres and Redis.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_domain::id::{GateId, OverrideId};
use weir_domain::time::{Clock, Timestamp};
use weir_store::test_support::{TestDatabase, database};
use weir_wire::stored::{StoredOverride, StoredTenant};
use weir_wire::time::DateTime;

use super::support::{Gate, Keys};
use crate::{Follower, FollowerSettings, Staleness};

const HOUR_MS: i64 = 3_600_000;
const DEADLINE: Duration = Duration::from_mins(1);

/// The present time by the clock of Postgres.
async fn now(database: &TestDatabase) -> Timestamp {
    database.gate.poll_rulebook(None).await.expect("postgres").at
}

/// A gate whose machine is ahead by `wrong_ms`. Its key `read` expired half an hour ago and its key `check` expires in half an
/// hour (`exhaust` never), like the overrides that deny the users `former` and `present`.
async fn gate(now: Timestamp, wrong_ms: i64) -> (Gate, Keys) {
    let started = Instant::now();
    let machine = Clock::new(move || {
        let passed_ms = i64::try_from(started.elapsed().as_millis()).expect("short");
        now.plus_ms(wrong_ms).plus_ms(passed_ms)
    });
    let (past, future) = (now.plus_ms(-HOUR_MS / 2), now.plus_ms(HOUR_MS / 2));
    Gate::with_clock(machine, |tenant| {
        tenant.keys[0].expires_at_ms = Some(future.as_millis());
        tenant.keys[1].scopes = vec!["check".to_owned()];
        tenant.keys[1].expires_at_ms = Some(past.as_millis());
        tenant.keys[2].scopes = vec!["check".to_owned()];
        tenant.overrides =
            vec![denying(tenant, "former", past), denying(tenant, "present", future)];
    })
    .await
}

fn denying(tenant: &StoredTenant, user: &str, until: Timestamp) -> Arc<StoredOverride> {
    let (rule_id, id) =
        (tenant.rules[0].id.clone(), OverrideId::from_u128(until.as_millis_u64().into()));
    let body = json!({
        "rule_id": rule_id, "subject": { "user": user }, "action": "deny", "expires_at": DateTime(until),
    });
    Arc::new(StoredOverride { id: id.to_string(), rule_id, body: body.to_string().into() })
}

/// The answers of a gate: the statuses of the key that expired and of the valid one, and whether the users `former` and
/// `present` are admitted.
async fn answers(gate: &Gate, keys: &Keys) -> [Value; 4] {
    let check = |user| json!({ "attributes": { "user": user }, "cost": 1 });
    let expired = gate.send("post", "/check", Some(&keys.read), &check("a")).await.0;
    let valid = gate.send("post", "/check", Some(&keys.check), &check("a")).await.0;
    let mut allowed = Vec::new();
    for user in ["former", "present"] {
        let (_, answer) = gate.send("post", "/check", Some(&keys.check), &check(user)).await;
        allowed.push(answer["allowed"].clone());
    }
    [expired.into(), valid.into(), allowed.remove(0), allowed.remove(0)]
}

fn of_a_right_clock() -> [Value; 4] {
    [401.into(), 200.into(), true.into(), false.into()]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_clock_changes_no_answer_once_postgres_has_answered_a_poll() {
    let database = database().await;
    for wrong_ms in [-HOUR_MS, 0, HOUR_MS] {
        let now = now(&database).await;
        let (gate, keys) = gate(now, wrong_ms).await;
        let book = gate.state.held.current().expect("a rulebook");
        let settings = FollowerSettings {
            region: None,
            id: GateId::new(now, 1),
            boot_id: 1,
            address: "127.0.0.1:1".to_owned(),
            state_dir: None,
            staleness: Staleness::default(),
        };
        let stop = CancellationToken::new();
        let redis = weir_redis::client(&weir_local::shared::redis().url()).expect("an address");
        let follower = Follower::new(gate.state.clone(), database.gate.clone(), settings);
        let following = tokio::spawn(follower.run(redis, stop.clone()));
        // It replaces the rulebook of the test by that of the database.
        let deadline = Instant::now() + DEADLINE;
        while gate.state.rulebook_version() == Some(book.version()) {
            assert!(Instant::now() < deadline, "postgres has not answered");
            tokio::task::yield_now().await;
        }
        stop.cancel();
        following.await.expect("it ends");
        gate.state.held.apply((*book).clone());
        assert_eq!(answers(&gate, &keys).await, of_a_right_clock(), "{wrong_ms}");
        let metrics = gate.metrics();
        let offset =
            metrics.lines().find_map(|line| line.strip_prefix("weir_clock_offset_seconds "));
        let offset: f64 = offset.expect("a metric").parse().expect("a number");
        let wrong_s = f64::from(i32::try_from(wrong_ms / 1_000).expect("small"));
        assert!((offset - wrong_s).abs() < 60.0, "{offset}");
    }
}

#[tokio::test]
async fn redis_corrects_a_wrong_clock_before_postgres_has_answered() {
    let database = database().await;
    for wrong_ms in [-HOUR_MS, HOUR_MS] {
        let (gate, keys) = gate(now(&database).await, wrong_ms).await;
        assert!(!gate.metrics().contains("weir_clock_offset_seconds"));
        let check = json!({ "attributes": { "user": "b" } });
        let (status, _) = gate.send("post", "/check", Some(&keys.exhaust), &check).await;
        assert_eq!(status, 200);
        assert!(gate.state.clock.ahead_ms().is_some());
        assert_eq!(answers(&gate, &keys).await, of_a_right_clock(), "{wrong_ms}");
    }
}
