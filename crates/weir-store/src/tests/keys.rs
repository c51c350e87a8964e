//! API keys: found by digest, rotated with an overlap, revoked once.

use std::time::Duration;

use weir_domain::id::GateId;

use super::*;
use crate::{Constraint, Flush, KeyHourRow, KeyRotation, KeyRow};

async fn found(database: &TestDatabase, digest: [u8; 32], now: Timestamp) -> Option<KeyId> {
    let found = database.app.authenticate_key(&digest, now).await.unwrap();
    found.map(|(key, suspended)| {
        assert!(!suspended);
        key.id
    })
}

async fn with_key(database: &TestDatabase) -> NewKey {
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let new = NewKey { expires_at: Some(NOW.plus_ms(1_000)), ..key(tenant_id) };
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let row = tx.keys().insert(&new).await.unwrap();
    assert_eq!((row.digest, &row.scopes, row.revoked_at), (new.digest, &new.scopes, None));
    tx.commit().await.unwrap();
    new
}

#[tokio::test]
async fn key_is_found_until_it_expires() {
    let database = database().await;
    let new = with_key(&database).await;
    assert_eq!(found(&database, new.digest, NOW).await, Some(new.id));
    assert_eq!(found(&database, new.digest, NOW.plus_ms(1_000)).await, None);
    assert_eq!(found(&database, digest(), NOW).await, None);
}

#[tokio::test]
async fn rotated_key_keeps_its_old_secret_until_the_overlap_ends() {
    let database = database().await;
    let new = with_key(&database).await;
    let rotation = KeyRotation {
        id: new.id,
        tenant_id: new.tenant_id,
        digest: digest(),
        hint: "weir_new".to_owned(),
        previous_expires_at: NOW.plus_ms(500),
    };
    let mut tx = tenant_tx(&database.app, new.tenant_id).await;
    let row = tx.keys().rotate(&rotation).await.unwrap().unwrap();
    assert_eq!(row.previous.map(|previous| previous.digest), Some(new.digest));
    tx.commit().await.unwrap();
    assert_eq!(found(&database, new.digest, NOW.plus_ms(499)).await, Some(new.id));
    assert_eq!(found(&database, new.digest, NOW.plus_ms(500)).await, None);
    assert_eq!(found(&database, rotation.digest, NOW.plus_ms(500)).await, Some(new.id));
}

#[tokio::test]
async fn revoked_key_is_gone_and_second_revoke_finds_nothing() {
    let database = database().await;
    let new = with_key(&database).await;
    let mut tx = tenant_tx(&database.app, new.tenant_id).await;
    assert!(tx.keys().revoke(new.tenant_id, new.id, NOW).await.unwrap().is_some());
    assert!(tx.keys().revoke(new.tenant_id, new.id, NOW).await.unwrap().is_none());
    assert!(tx.keys().list(new.tenant_id, &first_page()).await.unwrap().items.is_empty());
    assert!(tx.keys().find(new.tenant_id, new.id).await.unwrap().is_some());
    tx.commit().await.unwrap();
    assert_eq!(found(&database, new.digest, NOW).await, None);
}

#[tokio::test]
async fn digest_in_use_is_a_conflict() {
    let database = database().await;
    let new = with_key(&database).await;
    let twin = NewKey { digest: new.digest, ..key(new.tenant_id) };
    let mut tx = tenant_tx(&database.app, new.tenant_id).await;
    let error = tx.keys().insert(&twin).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict(Constraint::KeyDigest)), "{error}");
}

#[tokio::test]
async fn gate_records_the_last_use_of_a_key_and_changes_nothing_else() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let new = key(tenant_id);
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let before = tx.keys().insert(&new).await.unwrap();
    tx.commit().await.unwrap();
    for (at, last) in [(5, 5), (9, 9), (7, 9)] {
        let mut tx = database.gate.begin("tests", Scope::Service).await.unwrap();
        tx.keys().used(&[(tenant_id, new.id, NOW.plus_ms(at))]).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        let row = tx.keys().find(tenant_id, new.id).await.unwrap().unwrap();
        assert_eq!(row, KeyRow { last_used_at: Some(NOW.plus_ms(last)), ..before.clone() });
    }
}

#[tokio::test]
async fn keys_that_ended_long_ago_are_deleted_once_no_gate_can_hold_them() {
    let database = database().await;
    let expiring = with_key(&database).await;
    let tenant_id = expiring.tenant_id;
    let (revoked, usable) = (key(tenant_id), key(tenant_id));
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    for new in [&revoked, &usable] {
        tx.keys().insert(new).await.unwrap();
    }
    tx.publish(tenant_id, None).await.unwrap().unwrap();
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.keys().revoke(tenant_id, revoked.id, NOW).await.unwrap().unwrap();
    tx.publish(tenant_id, None).await.unwrap().unwrap();

    let delete = async |until: Timestamp| {
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        let deleted = tx.sweep().unusable_keys(until, 10).await.unwrap();
        tx.commit().await.unwrap();
        deleted
    };
    let there = async |id| {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        tx.keys().find(tenant_id, id).await.unwrap().is_some()
    };
    assert_eq!(delete(NOW).await, 0, "no key had ended");
    assert_eq!(delete(NOW.plus_ms(60_000)).await, 1, "the expired key");
    assert!(!there(expiring.id).await);
    assert!(there(revoked.id).await, "a gate with an older rulebook has yet to load it");
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    raw(&mut tx, "UPDATE rulebook_versions SET version = version + 10000").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(delete(NOW.plus_ms(60_000)).await, 1);
    assert!(!there(revoked.id).await);
    // A time that is ahead deletes no key before its end.
    assert_eq!(delete(Timestamp::from_millis(8_000_000_000_000)).await, 0);
    assert!(there(usable.id).await);
}

pub(super) fn flush() -> Flush {
    let gate_id = GateId::new(NOW, next());
    Flush { gate_id, boot_id: next(), region: None, oldest_minute: NOW, age: Duration::ZERO }
}

pub(super) fn hour(key: &NewKey, hour: Timestamp, requests: u64) -> KeyHourRow {
    let used_at = hour.plus_ms(i64::try_from(requests).unwrap());
    KeyHourRow { tenant_id: key.tenant_id, key_id: key.id, hour, requests, used_at }
}

pub(super) async fn count(gate: &Store, flush: &Flush, rows: &[KeyHourRow]) {
    let mut tx = gate.begin("tests", Scope::Gate(flush.gate_id)).await.unwrap();
    tx.keys().count_requests(flush, rows).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn requests_of_keys_are_counted_by_hour_and_deleted_after_48_hours() {
    const HOUR_MS: i64 = 3_600_000;
    let database = database().await;
    let key_of_tenant = with_key(&database).await;
    let tenant_id = key_of_tenant.tenant_id;
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let ms = texts(&mut tx, "SELECT (extract(epoch FROM now())::bigint * 1000)::text").await;
    let ms: i64 = ms[0].parse().unwrap();
    let present = Timestamp::from_millis(ms / HOUR_MS * HOUR_MS);
    let at =
        |back: i64, requests: u64| hour(&key_of_tenant, present.plus_ms(-back * HOUR_MS), requests);
    let deleted = KeyHourRow { key_id: KeyId::new(NOW, next()), ..at(0, 9) };
    let (one, other) = (flush(), flush());
    count(&database.gate, &one, &[at(0, 5), at(1, 7), at(49, 1), deleted]).await;
    // A repeat and an earlier total change nothing; a restarted gate counts anew.
    count(&database.gate, &one, &[at(0, 4), at(1, 8)]).await;
    count(&database.gate, &Flush { boot_id: next(), ..one.clone() }, &[at(1, 2)]).await;
    count(&database.gate, &other, &[at(0, 20)]).await;
    let mut tx = database.gate.begin("tests", Scope::Gate(other.gate_id)).await.unwrap();
    let refused = tx.keys().count_requests(&one, &[at(2, 1)]).await.unwrap_err();
    assert!(refused.to_string().contains("row-level security"), "{refused}");

    let hours = async |tenant_id: TenantId, back: i64| {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        let since = present.plus_ms(-back * HOUR_MS);
        let hours = tx.keys().hours(tenant_id, &[key_of_tenant.id], since).await.unwrap();
        let row = |hour: crate::KeyHour| {
            let back = (present.as_millis() - hour.hour.as_millis()) / HOUR_MS;
            (back, hour.requests, hour.gate_id)
        };
        hours.into_iter().map(row).collect::<Vec<_>>()
    };
    let newest = [(1, 10, one.gate_id), (0, 25, other.gate_id)];
    assert_eq!(hours(tenant_id, 48).await, newest, "each with the gate that used the key last");
    assert_eq!(hours(tenant_id, 49).await.len(), 3);
    let stranger = user(&database.app, "b@example.com").await;
    assert_eq!(hours(tenant(&database.app, stranger).await.0, 48).await, []);

    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert_eq!(tx.housekeeping().delete_old_key_hours(100).await.unwrap(), 1);
    assert_eq!(tx.housekeeping().delete_old_key_hours(100).await.unwrap(), 0);
    tx.commit().await.unwrap();
    assert_eq!(hours(tenant_id, 49).await, newest);
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    raw(&mut tx, "DELETE FROM api_keys").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(hours(tenant_id, 49).await, [], "a key takes its counts along");
}
