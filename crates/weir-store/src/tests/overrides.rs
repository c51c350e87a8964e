//! Overrides, one by one and thousands at once.

use super::*;
use crate::{COUNTED_OVERRIDES_MAX, Constraint, OverrideBulk, OverrideFilter};

async fn with_rule() -> (TestDatabase, RuleWrite) {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let rule = write_rule(&database.app, rule(tenant_id, "login")).await;
    (database, rule)
}

#[tokio::test]
async fn override_is_written_read_changed_and_deleted() {
    let (database, RuleWrite { tenant_id, id: rule_id, .. }) = with_rule().await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let mut write = override_of(tenant_id, rule_id);
    let row = tx.overrides().insert(&write, &Actor::System).await.unwrap();
    assert_eq!((row.revision, row.expires_at), (1, write.body.expires_at));
    write.body.spec = json!({ "action": "deny" });
    write.body.expires_at = None;
    let row = tx.overrides().update(&write, 1, &Actor::System).await.unwrap().unwrap();
    assert_eq!((row.revision, row.expires_at, &row.spec), (2, None, &write.body.spec));
    let stale = tx.overrides().update(&write, 1, &Actor::System).await.unwrap_err();
    assert!(matches!(stale, StoreError::Stale), "{stale}");
    assert_eq!(tx.overrides().find(tenant_id, write.id).await.unwrap(), Some(row.clone()));
    assert_eq!(tx.overrides().delete(tenant_id, write.id, Some(2)).await.unwrap(), Some(row));
    assert_eq!(tx.overrides().find(tenant_id, write.id).await.unwrap(), None);
}

#[tokio::test]
async fn overrides_that_ended_are_found_and_deleted_unless_a_set_owns_them() {
    let (database, RuleWrite { tenant_id, id: rule_id, .. }) = with_rule().await;
    let at = |ms| Some(Timestamp::from_millis(ms));
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    for (expires_at, set) in
        [(at(1_000), None), (at(2_000), None), (at(1_000), Some("repo")), (None, None)]
    {
        let mut write = override_of(tenant_id, rule_id);
        (write.body.expires_at, write.managed_by) = (expires_at, set.map(str::to_owned));
        tx.overrides().insert(&write, &Actor::System).await.unwrap();
    }
    tx.commit().await.unwrap();
    let found = async |until: i64| {
        let until = Timestamp::from_millis(until);
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        let found = tx.sweep().tenants_with_ended_overrides(until, 10).await.unwrap();
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        let deleted = tx.overrides().delete_ended(tenant_id, until, 10).await.unwrap();
        tx.commit().await.unwrap();
        (found, deleted)
    };
    assert_eq!(found(1_000).await, (vec![], 0));
    assert_eq!(found(1_001).await, (vec![tenant_id], 1));
    assert_eq!(found(3_000).await, (vec![tenant_id], 1));
    assert_eq!(found(3_000).await, (vec![], 0));
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    assert_eq!(tx.overrides().count(tenant_id).await.unwrap(), 2);
}

#[tokio::test]
async fn subject_has_one_override_per_rule() {
    let (database, RuleWrite { tenant_id, id: rule_id, .. }) = with_rule().await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let write = override_of(tenant_id, rule_id);
    tx.overrides().insert(&write, &Actor::System).await.unwrap();
    let mut twin = override_of(tenant_id, rule_id);
    twin.body.subject_digest = write.body.subject_digest;
    let error = tx.overrides().insert(&twin, &Actor::System).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict(Constraint::OverrideSubject)), "{error}");
}

#[tokio::test]
async fn thousands_of_overrides_are_written_at_once_and_replace_existing_ones() {
    let (database, RuleWrite { tenant_id, id: rule_id, .. }) = with_rule().await;
    let one = || {
        let write = override_of(tenant_id, rule_id);
        (write.id, write.body)
    };
    let mut bulk = OverrideBulk { tenant_id, rows: (0..3_000).map(|_| one()).collect(), now: NOW };
    bulk.rows[0].1.expires_at = None;
    let first = bulk.rows[0].0;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    assert_eq!(tx.overrides().upsert_many(&bulk).await.unwrap(), 3_000);
    bulk.rows[0].0 = OverrideId::new(NOW, next());
    bulk.rows[0].1.reason = "again".to_owned();
    assert_eq!(tx.overrides().upsert_many(&bulk).await.unwrap(), 3_000);
    assert_eq!(tx.overrides().count(tenant_id).await.unwrap(), 3_000);
    let row = tx.overrides().find(tenant_id, first).await.unwrap().unwrap();
    assert_eq!((row.revision, row.reason.as_str(), row.expires_at), (2, "again", None));

    let of_rule = OverrideFilter::of_rule(rule_id);
    let page = tx.overrides().list(tenant_id, &of_rule, &first_page()).await.unwrap();
    assert!(page.more && page.items.len() == 50);
    let activity = tx.rules().activity(tenant_id, &[rule_id, RuleId::new(NOW, next())]).await;
    let activity = activity.unwrap();
    assert_eq!((activity.len(), activity[&rule_id].overrides), (1, COUNTED_OVERRIDES_MAX));
    let with_text =
        |text: &str| OverrideFilter { subject: Some(text.to_owned()), ..OverrideFilter::default() };
    let count = async |filter: &OverrideFilter, most| {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        tx.overrides().count_listed(tenant_id, filter, most).await.unwrap()
    };
    tx.commit().await.unwrap();
    assert_eq!(count(&of_rule, 3_000).await, Some(3_000));
    assert_eq!(count(&of_rule, 2_999).await, None, "more are not counted");
    let value = bulk.rows[7].1.subject["user"].as_str().unwrap().to_uppercase();
    let user = |row: &(OverrideId, OverrideBody)| row.1.subject["user"].to_string().to_uppercase();
    let with_value = bulk.rows.iter().filter(|row| user(row).contains(&value)).count();
    let listed = count(&with_text(&value), 3_000).await;
    assert_eq!(listed, Some(u64::try_from(with_value).unwrap()), "{value}");
    assert_eq!(count(&with_text(&value), 2_999).await, None, "more are not searched");
    let elsewhere = OverrideFilter { namespaces: Some(vec![]), ..OverrideFilter::default() };
    assert_eq!(count(&elsewhere, 10).await, Some(0));
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let found = tx.overrides().list(tenant_id, &with_text(&value), &first_page()).await.unwrap();
    assert!(found.items.iter().any(|row| row.id == bulk.rows[7].0), "{value}");
    let none = tx.overrides().list(tenant_id, &with_text("user\""), &first_page()).await.unwrap();
    assert!(none.items.is_empty(), "names and signs of the stored form are not searched");
    bulk.rows.truncate(1);
    bulk.rows[0].0 = OverrideId::new(NOW, next());
    bulk.rows[0].1.rule_id = RuleId::new(NOW, next());
    let error = tx.overrides().upsert_many(&bulk).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict(Constraint::OverrideRule)), "{error}");
}
