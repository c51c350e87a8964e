//! Namespaces and their settings.

use super::*;
use crate::NamespaceWrite;

pub(super) fn spread(tenant_id: TenantId, name: &str) -> NamespaceWrite {
    let spread_by = vec!["user".to_owned()];
    NamespaceWrite { tenant_id, name: name.to_owned(), spread_by, now: NOW }
}

#[tokio::test]
async fn settings_are_written_by_revision_and_listed_with_the_namespaces_of_rules() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let (other, _) = tenant(&database.app, owner).await;
    let ruled = write_rule(&database.app, rule(tenant_id, "login")).await.body.namespace;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    assert_eq!(tx.namespaces().find(tenant_id, "zeta").await.unwrap().revision, 0);
    let mut write = spread(tenant_id, "zeta");
    let row = tx.namespaces().set(&write, 0).await.unwrap();
    assert_eq!((row.revision, row.rules, &row.spread_by), (1, 0, &write.spread_by));
    let stale = tx.namespaces().set(&write, 0).await.unwrap_err();
    assert!(matches!(stale, StoreError::Stale), "{stale}");
    assert_eq!(tx.namespaces().count_spread(tenant_id).await.unwrap(), 1);
    let others = tx.rules().others(tenant_id, "zeta", RuleId::new(NOW, next())).await.unwrap();
    assert_eq!(others.spread_by, ["user"]);
    let list = tx.namespaces().list(tenant_id, None, &first_page()).await.unwrap().items;
    let listed: Vec<_> =
        list.iter().map(|row| (row.name.as_str(), row.rules, row.revision)).collect();
    assert_eq!(listed, [(ruled.as_str(), 1, 0), ("zeta", 0, 1)]);
    let page = Page { limit: 1, after: Some(ruled) };
    assert_eq!(tx.namespaces().list(tenant_id, None, &page).await.unwrap().items, [row]);
    write.spread_by.clear();
    assert_eq!(tx.namespaces().set(&write, 1).await.unwrap().revision, 2);
    assert_eq!(tx.namespaces().count_spread(tenant_id).await.unwrap(), 0);
    tx.commit().await.unwrap();
    let mut tx = tenant_tx(&database.app, other).await;
    assert_eq!(tx.namespaces().list(other, None, &first_page()).await.unwrap().items, []);
    assert_eq!(tx.namespaces().find(tenant_id, "zeta").await.unwrap().revision, 0);
}

#[tokio::test]
async fn settings_of_a_namespace_reach_the_gates_with_all_others_of_the_tenant() {
    let database = database().await;
    let (tenant_id, rule) = full_tenant(&database, "a@example.com").await;
    let held = database.gate.load_rulebook(None).await.unwrap();
    let user = || vec!["user".to_owned()];
    assert_eq!(held.tenants[0].spread, [("api".to_owned(), user())]);
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let row = tx.rules().find(tenant_id, rule.id).await.unwrap().unwrap();
    assert_eq!((row.columns.namespace.as_str(), row.columns.spread_by), ("api", user()));

    tx.namespaces().set(&spread(tenant_id, "zeta"), 0).await.unwrap();
    let version = tx.publish(tenant_id, None).await.unwrap().unwrap();
    let changes = database.gate.load_rulebook(Some(held.version)).await.unwrap();
    let changed = &changes.tenants[0];
    assert_eq!((changes.version.number, changed.rules.len()), (version, 0));
    let names: Vec<_> = changed.spread.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, &changed.remaining), (vec!["api", "zeta"], &None));

    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let row = tx.namespaces().find(tenant_id, "zeta").await.unwrap();
    assert_eq!(row.rulebook_version, version);
    let none = NamespaceWrite { spread_by: Vec::new(), ..spread(tenant_id, "zeta") };
    tx.namespaces().set(&none, 1).await.unwrap();
    tx.publish(tenant_id, None).await.unwrap().unwrap();
    let changes = database.gate.load_rulebook(Some(changes.version)).await.unwrap();
    assert_eq!(changes.tenants[0].spread, [("api".to_owned(), user())]);
}

#[tokio::test]
async fn change_to_which_a_namespace_refers_is_not_deleted() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.namespaces().set(&spread(tenant_id, "api"), 0).await.unwrap();
    let version = tx.publish(tenant_id, None).await.unwrap().unwrap();
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    raw(&mut tx, "UPDATE rulebook_versions SET version = version + 20000").await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert_eq!(tx.housekeeping().delete_old_changes().await.unwrap(), 1, "the tenant's creation");
    tx.commit().await.unwrap();
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    assert_eq!(tx.namespaces().find(tenant_id, "api").await.unwrap().rulebook_version, version);
}
