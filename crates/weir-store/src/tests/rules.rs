//! Revisions, names and pages of rules.

use super::*;
use crate::{Constraint, RuleAfter, RuleFilter, RuleRow};

async fn with_tenant() -> (TestDatabase, TenantId) {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    (database, tenant_id)
}

#[tokio::test]
async fn update_counts_revisions_and_stores_each() {
    let (database, tenant_id) = with_tenant().await;
    let first = write_rule(&database.app, rule(tenant_id, "login")).await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let mut write = first.clone();
    write.body.spec = json!({ "name": "login", "limits": [1] });
    write.body.slots = vec![3];
    write.now = NOW.plus_ms(5);
    let id = KeyId::new(NOW, next());
    let actor = Actor::Key { id, name: "deploy".to_owned() };
    let row = tx.rules().update(&write, 1, &actor).await.unwrap().unwrap();
    assert_eq!((row.revision, row.rulebook_version), (2, 0));
    let version = tx.publish(tenant_id, None).await.unwrap().unwrap();
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let row = RuleRow { rulebook_version: version, ..row };
    assert_eq!((row.created_at, row.updated_at), (NOW, write.now));
    assert_eq!(tx.rules().find(tenant_id, row.id).await.unwrap().as_ref(), Some(&row));

    let history = tx.rules().revisions(tenant_id, row.id, &first_page()).await.unwrap().items;
    assert_eq!(history.len(), 2);
    assert_eq!((history[0].revision, &history[0].actor), (2, &actor));
    assert_eq!(history[0].before.as_ref(), Some(&first.body.spec));
    assert_eq!(history[0].after, write.body.spec);
    assert_eq!(history[1].before, None);
    let one = tx.rules().revision(tenant_id, row.id, 1).await.unwrap().unwrap();
    assert_eq!(one.after, first.body.spec);
}

#[tokio::test]
async fn stale_revision_is_refused() {
    let (database, tenant_id) = with_tenant().await;
    let write = write_rule(&database.app, rule(tenant_id, "login")).await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let error = tx.rules().update(&write, 2, &Actor::System).await.unwrap_err();
    assert!(matches!(error, StoreError::Stale), "{error}");
    let error = tx.rules().delete(tenant_id, write.id, Some(2)).await.unwrap_err();
    assert!(matches!(error, StoreError::Stale), "{error}");
    let missing = rule(tenant_id, "missing");
    assert_eq!(tx.rules().update(&missing, 1, &Actor::System).await.unwrap(), None);
}

#[tokio::test]
async fn one_of_two_writers_of_the_same_revision_is_stale() {
    let (database, tenant_id) = with_tenant().await;
    let write = write_rule(&database.app, rule(tenant_id, "login")).await;
    let attempt = async || {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        tx.tenants().begin_change(tenant_id).await?;
        tx.rules().update(&write, 1, &Actor::System).await?;
        tx.commit().await
    };
    let (one, other) = tokio::join!(attempt(), attempt());
    let stale = [one, other].into_iter().filter_map(Result::err).collect::<Vec<_>>();
    assert!(matches!(stale[..], [StoreError::Stale]), "{stale:?}");
}

#[tokio::test]
async fn name_is_unique_in_its_namespace_of_its_tenant() {
    let (database, tenant_id) = with_tenant().await;
    write_rule(&database.app, rule(tenant_id, "login")).await;
    let mut elsewhere = rule(tenant_id, "login");
    elsewhere.body.namespace = "web".to_owned();
    write_rule(&database.app, elsewhere).await;
    let stranger = user(&database.app, "b@example.com").await;
    let (other, _) = tenant(&database.app, stranger).await;
    write_rule(&database.app, rule(other, "login")).await;

    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let twin = rule(tenant_id, "login");
    let error = tx.rules().insert(&twin, &Actor::System).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict(Constraint::RuleName)), "{error}");
}

/// More rules than are named.
#[tokio::test]
async fn enforced_rules_are_counted_by_their_answer_without_redis() {
    let (database, tenant_id) = with_tenant().await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    for (at, more) in [
        json!({ "on_store_failure": "deny" }),
        json!({ "on_store_failure": "deny", "mode": "shadow" }),
        json!({ "on_store_failure": "deny", "action": "allow" }),
    ]
    .into_iter()
    .chain((0..250).map(|_| json!({})))
    .enumerate()
    {
        let mut write = rule(tenant_id, &format!("r-{at:03}"));
        let serde_json::Value::Object(more) = more else { panic!("fields") };
        write.body.spec.as_object_mut().unwrap().extend(more);
        tx.rules().insert(&write, &Actor::System).await.unwrap();
    }
    let mut found = tx.rules().by_outage_answer(tenant_id, None, 3).await.unwrap();
    found.sort_by_key(|rules| rules.count);
    let shown: Vec<_> = found
        .iter()
        .map(|rules| {
            let names: Vec<_> = rules.first.iter().map(|(_, name)| name.as_str()).collect();
            (rules.answer.as_str(), rules.count, names)
        })
        .collect();
    let expected = [("deny", 1, vec!["r-000"]), ("allow", 250, vec!["r-003", "r-004", "r-005"])];
    assert_eq!(shown, expected);
    let elsewhere = ["elsewhere".to_owned()];
    assert_eq!(tx.rules().by_outage_answer(tenant_id, Some(&elsewhere), 3).await.unwrap(), []);
}

#[tokio::test]
async fn list_is_sorted_filtered_and_paged_without_gaps() {
    let (database, tenant_id) = with_tenant().await;
    for name in ["b-2", "a", "b", "b-1", "c"] {
        write_rule(&database.app, rule(tenant_id, name)).await;
    }
    let mut web = rule(tenant_id, "a");
    web.body.namespace = "web".to_owned();
    write_rule(&database.app, web).await;

    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let mut page = Page { limit: 2, after: None };
    let mut names = Vec::new();
    loop {
        let filter = RuleFilter::default();
        let listing = tx.rules().list(tenant_id, &filter, &page).await.unwrap();
        let last = listing.items.last().unwrap();
        page.after = Some(RuleAfter { namespace: last.namespace.clone(), name: last.name.clone() });
        names.extend(listing.items.into_iter().map(|row| row.columns.name));
        if !listing.more {
            break;
        }
    }
    assert_eq!(names, ["a", "b", "b-1", "b-2", "c", "a"]);

    let filter = RuleFilter {
        namespaces: Some(vec!["api".to_owned()]),
        search: Some("B-".to_owned()),
        ..RuleFilter::default()
    };
    let found = tx.rules().list(tenant_id, &filter, &first_page()).await.unwrap().items;
    assert_eq!(found.len(), 2);
    let others = tx.rules().others(tenant_id, "api", RuleId::new(NOW, next())).await.unwrap();
    assert_eq!((others.in_tenant, others.in_namespace), (6, 5));
}

#[tokio::test]
async fn deleted_rule_deletes_its_overrides_and_revisions() {
    let (database, tenant_id) = with_tenant().await;
    let write = write_rule(&database.app, rule(tenant_id, "login")).await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.overrides().insert(&override_of(tenant_id, write.id), &Actor::System).await.unwrap();
    let gone = tx.rules().delete(tenant_id, write.id, Some(1)).await.unwrap().unwrap();
    assert_eq!(gone.name, "login");
    assert_eq!(tx.overrides().count(tenant_id).await.unwrap(), 0);
    let history = tx.rules().revisions(tenant_id, write.id, &first_page()).await.unwrap();
    assert!(history.items.is_empty());
    assert_eq!(tx.rules().delete(tenant_id, write.id, None).await.unwrap(), None);
}
