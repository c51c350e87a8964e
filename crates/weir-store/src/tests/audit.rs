//! The audit log is only ever added to.

use weir_domain::id::AuditId;

use super::*;
use crate::{AuditFilter, NewAudit};

pub(super) fn entry(tenant_id: Option<TenantId>, actor: Actor) -> NewAudit {
    NewAudit {
        id: AuditId::new(NOW, next()),
        tenant_id,
        actor,
        action: "rule.update".to_owned(),
        object_kind: "rule".to_owned(),
        object_id: "rule_01".to_owned(),
        before: Some(json!({ "limit": 1 })),
        after: None,
        ip: Some("203.0.113.9".to_owned()),
        request_id: "request_01".to_owned(),
        at: NOW,
    }
}

#[tokio::test]
async fn entries_come_newest_first_page_by_page() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let person = Actor::Person { id: UserId::new(NOW, next()), email: "a@example.com".to_owned() };
    let entries = [entry(Some(tenant_id), person), entry(Some(tenant_id), Actor::System)];
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    for entry in &entries {
        tx.audit().append(entry).await.unwrap();
    }
    let all = AuditFilter::default();
    let first = tx.audit().list(tenant_id, &all, &Page { limit: 1, after: None }).await.unwrap();
    assert!(first.more);
    assert_eq!(first.items[0].id, entries[1].id);
    let after = Some(first.items[0].id);
    let second = tx.audit().list(tenant_id, &all, &Page { limit: 2, after }).await.unwrap();
    assert!(!second.more);
    assert_eq!(second.items[0].actor, entries[0].actor);
    assert_eq!(second.items[0].before, entries[0].before);
}

#[tokio::test]
async fn entries_are_found_by_what_was_done_by_whom_to_what_and_when() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let person =
        Actor::Person { id: UserId::new(NOW, next()), email: "Ada@example.com".to_owned() };
    let named = Some(json!({ "name": "Login" }));
    let changed = NewAudit { after: named, ..entry(Some(tenant_id), person) };
    let later = NOW.plus_ms(1000);
    let reset = NewAudit {
        action: "rules.reset".to_owned(),
        at: later,
        ..entry(Some(tenant_id), Actor::System)
    };
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    for entry in [&changed, &reset] {
        tx.audit().append(entry).await.unwrap();
    }
    let text = |text: &str| Some(text.to_owned());
    let cases = [
        (AuditFilter { action: text("rule"), ..AuditFilter::default() }, changed.id),
        (AuditFilter { action: text("rules.reset"), ..AuditFilter::default() }, reset.id),
        (AuditFilter { actor: text("ada@"), ..AuditFilter::default() }, changed.id),
        (AuditFilter { search: text("LOGIN"), ..AuditFilter::default() }, changed.id),
        (AuditFilter { from: Some(later), ..AuditFilter::default() }, reset.id),
        (AuditFilter { to: Some(later), ..AuditFilter::default() }, changed.id),
    ];
    for (filter, id) in cases {
        let page = Page { limit: 5, after: None };
        let found = tx.audit().list(tenant_id, &filter, &page).await.unwrap();
        let mine = [changed.id, reset.id];
        let ids = found.items.iter().map(|it| it.id).filter(|id| mine.contains(id));
        assert_eq!(ids.collect::<Vec<_>>(), [id], "{filter:?}");
    }
}

#[tokio::test]
async fn entries_cannot_be_changed_or_removed() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    for sql in [
        "UPDATE audit_entries SET action = 'x'",
        "DELETE FROM audit_entries",
        "TRUNCATE audit_entries",
        "UPDATE rule_revisions SET actor_label = 'x'",
        "DELETE FROM rule_revisions",
    ] {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        let error = raw(&mut tx, sql).await.unwrap_err();
        assert!(error.to_string().contains("permission denied"), "{sql}: {error}");
    }
}

#[tokio::test]
async fn own_affairs_are_noted_under_oneself_only() {
    let database = database().await;
    let id = user(&database.app, "a@example.com").await;
    let own = Actor::Person { id, email: "a@example.com".to_owned() };
    let mut tx = database.app.begin("tests", Scope::User(id)).await.unwrap();
    tx.audit().append(&entry(None, own)).await.unwrap();
    let other = UserId::new(NOW, next());
    let theirs = Actor::Person { id: other, email: "b@example.com".to_owned() };
    assert!(tx.audit().append(&entry(None, theirs)).await.is_err());
}
