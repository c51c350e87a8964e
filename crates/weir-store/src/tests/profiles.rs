//! Profiles, by which proxies ask.

use super::*;
use crate::{Constraint, ProfileBody, ProfileWrite};

pub(super) fn profile(tenant_id: TenantId, name: &str) -> ProfileWrite {
    ProfileWrite {
        tenant_id,
        id: ProfileId::new(NOW, next()),
        body: ProfileBody { name: name.to_owned(), spec: json!({ "name": name }) },
        managed_by: None,
        now: NOW,
    }
}

#[tokio::test]
async fn profile_is_written_read_changed_and_deleted() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let (other, _) = tenant(&database.app, owner).await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let mut write = profile(tenant_id, "edge");
    assert_eq!(tx.profiles().insert(&write, &Actor::System).await.unwrap().revision, 1);
    tx.profiles().insert(&profile(tenant_id, "a"), &Actor::System).await.unwrap();
    write.body.name = "nginx".to_owned();
    let row = tx.profiles().update(&write, 1, &Actor::System).await.unwrap().unwrap();
    assert_eq!((row.revision, row.name.as_str()), (2, "nginx"));
    let stale = tx.profiles().update(&write, 1, &Actor::System).await.unwrap_err();
    assert!(matches!(stale, StoreError::Stale), "{stale}");
    assert_eq!(tx.profiles().find(tenant_id, write.id).await.unwrap(), Some(row.clone()));
    assert_eq!(tx.profiles().find(other, write.id).await.unwrap(), None);
    let list = tx.profiles().list(tenant_id, None, &first_page()).await.unwrap();
    let names: Vec<_> = list.items.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["a", "nginx"]);
    let page = Page { limit: 1, after: Some("a".to_owned()) };
    assert_eq!(
        tx.profiles().list(tenant_id, None, &page).await.unwrap().items,
        std::slice::from_ref(&row)
    );
    assert_eq!(tx.profiles().count(tenant_id).await.unwrap(), 2);
    assert_eq!(tx.profiles().delete(tenant_id, write.id, Some(2)).await.unwrap(), Some(row));
    assert_eq!(tx.profiles().find(tenant_id, write.id).await.unwrap(), None);
    let twin = tx.profiles().insert(&profile(tenant_id, "a"), &Actor::System).await.unwrap_err();
    assert!(matches!(twin, StoreError::Conflict(Constraint::ProfileName)), "{twin}");
    let mut tx = tenant_tx(&database.app, other).await;
    tx.profiles().insert(&profile(other, "a"), &Actor::System).await.unwrap();
}

#[tokio::test]
async fn written_and_removed_profiles_reach_the_gates() {
    let database = database().await;
    let (tenant_id, rule) = full_tenant(&database, "a@example.com").await;
    let held = database.gate.load_rulebook(None).await.unwrap();
    assert_eq!(held.tenants[0].profiles.len(), 1);
    let unchanged = held.tenants[0].profiles[0].id;

    let write = profile(tenant_id, "nginx");
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.profiles().insert(&write, &Actor::System).await.unwrap();
    let version = tx.publish(tenant_id, None).await.unwrap().unwrap();
    let changes = database.gate.load_rulebook(Some(held.version)).await.unwrap();
    let changed = &changes.tenants[0];
    assert_eq!((changes.version.number, changed.rules.len()), (version, 0));
    let ids: Vec<_> = changed.profiles.iter().map(|served| served.id).collect();
    assert_eq!((ids, &changed.remaining), (vec![write.id], &None));

    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.profiles().delete(tenant_id, write.id, None).await.unwrap().unwrap();
    tx.publish(tenant_id, None).await.unwrap().unwrap();
    let changes = database.gate.load_rulebook(Some(changes.version)).await.unwrap();
    let remaining = changes.tenants[0].remaining.clone().unwrap();
    assert_eq!((remaining.profiles, remaining.rules), (vec![unchanged], vec![rule.id]));
}

#[tokio::test]
async fn change_to_which_a_profile_refers_is_not_deleted() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let write = profile(tenant_id, "edge");
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.profiles().insert(&write, &Actor::System).await.unwrap();
    let version = tx.publish(tenant_id, None).await.unwrap().unwrap();
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    raw(&mut tx, "UPDATE rulebook_versions SET version = version + 20000").await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert_eq!(tx.housekeeping().delete_old_changes().await.unwrap(), 1, "the tenant's creation");
    tx.commit().await.unwrap();
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let row = tx.profiles().find(tenant_id, write.id).await.unwrap().unwrap();
    assert_eq!(row.rulebook_version, version);
}
