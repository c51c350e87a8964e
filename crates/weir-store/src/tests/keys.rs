//! API keys: found by digest, rotated with an overlap, revoked once.

use super::*;
use crate::{Constraint, KeyRotation, KeyRow};

async fn found(database: &TestDatabase, digest: [u8; 32], now: Timestamp) -> Option<KeyId> {
    let mut tx = database.app.begin("tests", Scope::Key(digest)).await.unwrap();
    tx.keys().by_digest(&digest, now).await.unwrap().map(|row| row.id)
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
    tx.rulebook().publish(tenant_id, None).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.keys().revoke(tenant_id, revoked.id, NOW).await.unwrap().unwrap();
    tx.rulebook().publish(tenant_id, None).await.unwrap().unwrap();
    tx.commit().await.unwrap();

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
