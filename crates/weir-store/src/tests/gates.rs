//! Heartbeats of gates.

use std::time::Duration;

use weir_domain::id::GateId;

use super::*;
use crate::GateBeat;

const MINUTE: Duration = Duration::from_mins(1);

fn beat() -> GateBeat {
    GateBeat {
        id: GateId::new(NOW, next()),
        boot_id: next(),
        address: "127.0.0.1:8081".to_owned(),
        rulebook_version: 3,
        applied_at: NOW,
        applied_after_ms: 12,
        started_at: NOW,
    }
}

#[tokio::test]
async fn heartbeat_records_the_served_version_and_live_gates_are_counted() {
    let database = database().await;
    let (one, other) = (beat(), beat());
    assert_eq!(database.gate.beat(&one, MINUTE).await.unwrap(), 1);
    assert_eq!(database.gate.beat(&other, MINUTE).await.unwrap(), 2);
    let later = GateBeat { rulebook_version: 4, ..one.clone() };
    assert_eq!(database.gate.beat(&later, MINUTE).await.unwrap(), 2);

    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    let rows = tx.gates().list_live(MINUTE).await.unwrap();
    let row = rows.iter().find(|row| row.id == one.id).unwrap();
    assert_eq!((row.rulebook_version, row.applied_after_ms, row.boot_id), (4, 12, one.boot_id));
    assert!(row.age_ms < 60_000);
    assert_eq!(tx.gates().forget(MINUTE).await.unwrap(), 0);
    assert_eq!(tx.gates().forget(Duration::ZERO).await.unwrap(), 2);
    assert_eq!(tx.gates().count_live(MINUTE).await.unwrap(), 0);
}

#[tokio::test]
async fn gate_cannot_write_the_heartbeat_of_another() {
    let database = database().await;
    let (own, other) = (beat(), beat());
    database.gate.beat(&other, MINUTE).await.unwrap();
    let mut tx = database.gate.begin("tests", Scope::Gate(own.id)).await.unwrap();
    let refused = tx.gates().beat(&other).await.unwrap_err();
    assert!(refused.to_string().contains("row-level security"), "{refused}");
    let mut tx = database.gate.begin("tests", Scope::Gate(own.id)).await.unwrap();
    assert_eq!(raw(&mut tx, "UPDATE gates SET rulebook_version = 0").await.unwrap(), 0);
}
