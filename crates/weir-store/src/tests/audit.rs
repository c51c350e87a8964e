//! The permissions of actors to append to audit logs and to read them. `chain` tests the hash chains, `tail` the order of entries.

mod chain;
mod tail;

use weir_domain::id::AuditId;

use super::*;
use crate::{AuditFilter, AuditLog, NewAudit};

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
    }
}

/// A tenant's log, without log-ins.
fn log_of(id: TenantId) -> AuditLog {
    AuditLog::Tenant { id, log_ins: false }
}

/// The owner of a tenant that `full_tenant` made.
async fn owner_of(database: &TestDatabase, tenant_id: TenantId, email: &str) -> Actor {
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let members = tx.members().list(tenant_id, &first_page()).await.unwrap();
    Actor::Person { id: members.items[0].user_id, email: email.to_owned() }
}

#[tokio::test]
async fn entries_come_newest_first_page_by_page() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let person = owner_of(&database, tenant_id, "a@example.com").await;
    let entries = [entry(Some(tenant_id), person), entry(Some(tenant_id), Actor::System)];
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    for entry in &entries {
        tx.audit().append(entry);
    }
    let (log, all) = (log_of(tenant_id), AuditFilter::default());
    let first = tx.audit().list(log, &all, &Page { limit: 1, after: None }).await.unwrap();
    assert!(first.more);
    assert_eq!(first.items[0].id, entries[1].id);
    let after = Some(first.items[0].id);
    let second = tx.audit().list(log, &all, &Page { limit: 1, after }).await.unwrap();
    assert_eq!(second.items[0].actor, entries[0].actor);
    assert_eq!(second.items[0].before, entries[0].before);
    assert_eq!((first.items[0].seq, second.items[0].seq), (3, 2));
}

#[tokio::test]
async fn entries_are_found_by_action_actor_object_and_time() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "Ada@example.com").await;
    let person = owner_of(&database, tenant_id, "Ada@example.com").await;
    let named = Some(json!({ "name": "Login" }));
    let changed = NewAudit { after: named, ..entry(Some(tenant_id), person) };
    let reset =
        NewAudit { action: "rules.reset".to_owned(), ..entry(Some(tenant_id), Actor::System) };
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    for entry in [&changed, &reset] {
        tx.audit().append(entry);
    }
    tx.commit().await.unwrap();
    let text = |text: &str| Some(text.to_owned());
    let mut owner = database.owner.begin("tests", Scope::Service).await.unwrap();
    for (id, at) in [(changed.id, NOW), (reset.id, NOW.plus_ms(1000))] {
        let id = uuid::Uuid::from_u128(id.to_u128());
        unchecked("UPDATE audit_entries SET at = $2 WHERE id = $1")
            .bind(id)
            .bind(crate::convert::stored(at))
            .execute(owner.connection())
            .await
            .unwrap();
    }
    owner.commit().await.unwrap();
    let later = NOW.plus_ms(1000);
    let cases = [
        (AuditFilter { action: text("rule"), ..AuditFilter::default() }, changed.id),
        (AuditFilter { action: text("rules.reset"), ..AuditFilter::default() }, reset.id),
        (AuditFilter { actor: text("ada@"), ..AuditFilter::default() }, changed.id),
        (AuditFilter { search: text("LOGIN"), ..AuditFilter::default() }, changed.id),
        (AuditFilter { from: Some(later), ..AuditFilter::default() }, reset.id),
        (AuditFilter { to: Some(later), ..AuditFilter::default() }, changed.id),
    ];
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    for (filter, id) in cases {
        let found = tx.audit().list(log_of(tenant_id), &filter, &first_page()).await.unwrap();
        let mine = [changed.id, reset.id];
        let ids = found.items.iter().map(|row| row.id).filter(|id| mine.contains(id));
        assert_eq!(ids.collect::<Vec<_>>(), [id], "{filter:?}");
    }
}

#[tokio::test]
async fn database_sets_the_time_of_an_entry() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let inserted = raw(
        &mut tx,
        "INSERT INTO audit_entries (
            id, tenant_id, actor_kind, actor_label, action, object_kind, object_id, request_id, at,
            chain, seq, hash
        )
        SELECT
            gen_random_uuid(), weir_tenant(), 'system', '', 'x', '', '', '', '2001-01-01',
            gen_random_uuid(), 77, ''",
    )
    .await
    .unwrap();
    assert_eq!(inserted, 1);
    let honest = texts(
        &mut tx,
        "SELECT 'honest' FROM audit_entries
        WHERE at > now() - interval '1 hour' AND seq = 2 AND chain = tenant_id
            AND octet_length(hash) = 32 AND action = 'x'",
    )
    .await;
    assert_eq!(honest, ["honest"]);
}

#[tokio::test]
async fn app_appends_for_present_members_and_keys_only() {
    let database = database().await;
    let (own, _) = full_tenant(&database, "a@example.com").await;
    let (other, _) = full_tenant(&database, "b@example.com").await;
    let (mine, theirs) = (
        owner_of(&database, own, "a@example.com").await,
        owner_of(&database, other, "b@example.com").await,
    );
    let renamed = owner_of(&database, own, "boss@example.com").await;
    let key = Actor::Key { id: KeyId::new(NOW, next()), name: "server".to_owned() };
    let refused = [
        entry(Some(own), theirs.clone()),
        entry(Some(own), renamed),
        entry(Some(own), key),
        entry(Some(other), mine.clone()),
        entry(None, theirs),
    ];
    for entry in refused {
        let mut tx = tenant_tx(&database.app, own).await;
        tx.audit().append(&entry);
        let error = tx.commit().await.unwrap_err();
        assert!(error.to_string().contains("row-level security"), "{:?}: {error}", entry.actor);
    }
    let mut tx = tenant_tx(&database.app, own).await;
    tx.audit().append(&entry(Some(own), mine));
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn refused_log_ins_of_members_are_shown_to_their_tenants() {
    let database = database().await;
    let (own, _) = full_tenant(&database, "a@example.com").await;
    let (other, _) = full_tenant(&database, "b@example.com").await;
    let member = owner_of(&database, own, "a@example.com").await;
    let Actor::Person { id, .. } = member else { panic!("a person") };
    let refused =
        NewAudit { action: "user.login_refused".to_owned(), ..entry(None, member.clone()) };
    let password = NewAudit { action: "user.password".to_owned(), ..entry(None, member) };
    let mut tx = database.app.begin("tests", Scope::User(id)).await.unwrap();
    for entry in [&refused, &password] {
        tx.audit().append(entry);
    }
    let filter = AuditFilter { action: Some("user".to_owned()), ..AuditFilter::default() };
    let own_log = tx.audit().list(AuditLog::Person(id), &filter, &first_page()).await.unwrap();
    assert_eq!(own_log.items.len(), 2);
    tx.commit().await.unwrap();
    for (tenant, log_ins, expected) in
        [(own, true, vec![refused.id]), (own, false, vec![]), (other, true, vec![])]
    {
        let mut tx = tenant_tx(&database.app, tenant).await;
        let log = AuditLog::Tenant { id: tenant, log_ins };
        let found = tx.audit().list(log, &filter, &first_page()).await.unwrap();
        let ids: Vec<_> = found.items.iter().map(|row| row.id).collect();
        assert_eq!(ids, expected, "{log:?}");
    }
}

#[tokio::test]
async fn operator_reads_every_log_and_nobody_else_does() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let person = user(&database.app, "p@example.com").await;
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    tx.audit().append(&entry(None, Actor::Anonymous));
    tx.commit().await.unwrap();
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    assert!(tx.tenants().delete(tenant_id).await.unwrap());
    tx.commit().await.unwrap();
    for operator in [false, true] {
        let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
        tx.users().set_operator(person, operator).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = database.app.begin("tests", Scope::User(person)).await.unwrap();
        let all = AuditFilter::default();
        for log in [log_of(tenant_id), AuditLog::Installation] {
            let found = tx.audit().list(log, &all, &first_page()).await.unwrap();
            assert_eq!(found.items.len(), usize::from(operator), "{log:?}");
        }
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
        "SELECT * FROM audit_chains",
        "UPDATE audit_chains SET seq = 0",
        "UPDATE rule_revisions SET actor_label = 'x'",
        "DELETE FROM rule_revisions",
        "UPDATE profile_revisions SET actor_label = 'x'",
        "DELETE FROM profile_revisions",
    ] {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        let error = raw(&mut tx, sql).await.unwrap_err();
        assert!(error.to_string().contains("permission denied"), "{sql}: {error}");
    }
}

#[tokio::test]
async fn personal_entries_are_appended_for_oneself_only() {
    let database = database().await;
    let id = user(&database.app, "a@example.com").await;
    let own = Actor::Person { id, email: "a@example.com".to_owned() };
    let mut tx = database.app.begin("tests", Scope::User(id)).await.unwrap();
    tx.audit().append(&entry(None, own));
    let other = UserId::new(NOW, next());
    let theirs = Actor::Person { id: other, email: "b@example.com".to_owned() };
    tx.audit().append(&entry(None, theirs));
    let error = tx.commit().await.unwrap_err();
    assert!(error.to_string().contains("row-level security"), "{error}");
}
