//! Row-level security: the rows that each role sees without a scope, and the separation of scopes.

use sqlx::AssertSqlSafe;

use super::*;

/// The number of rows of each table that a scope sees. Tables that the role cannot read are left out.
async fn visible(store: &Store, scope: Scope) -> Vec<(String, i64)> {
    let mut tx = store.begin("tests", scope.clone()).await.unwrap();
    let tables = texts(
        &mut tx,
        "SELECT relname::text FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
        ORDER BY relname",
    )
    .await;
    assert!(tables.len() >= 13, "{tables:?}");
    let mut counts = Vec::new();
    for table in tables {
        let mut tx = store.begin("tests", scope.clone()).await.unwrap();
        let count = unchecked(AssertSqlSafe(format!("SELECT count(*) FROM {table}")))
            .fetch_one(tx.connection())
            .await;
        match count {
            Ok(row) => counts.push((table, row.get(0))),
            Err(error) => assert!(error.to_string().contains("permission denied"), "{error}"),
        }
    }
    counts.retain(|(_, count)| *count > 0);
    counts
}

/// The rows that every scope sees: the version, and whether rules are enforced.
const FOR_ALL: [(&str, i64); 2] = [("installation", 1), ("rulebook_versions", 1)];

fn named(rows: &[(&str, i64)]) -> Vec<(String, i64)> {
    rows.iter().map(|(table, count)| ((*table).to_owned(), *count)).collect()
}

#[tokio::test]
async fn app_without_a_scope_sees_only_the_version() {
    let database = database().await;
    full_tenant(&database, "a@example.com").await;
    assert_eq!(visible(&database.app, Scope::Service).await, named(&FOR_ALL));
}

#[tokio::test]
async fn tenant_sees_its_own_rows_only() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    full_tenant(&database, "b@example.com").await;
    let expected = named(&[
        ("api_key_hours", 1),
        ("api_keys", 1),
        ("assignments", 1),
        ("audit_entries", 1),
        ("customer_days", 1),
        ("denials", 1),
        ("idempotency_keys", 1),
        ("installation", 1),
        ("invitations", 1),
        ("memberships", 1),
        ("namespaces", 1),
        ("overrides", 1),
        ("plan_revisions", 1),
        ("plans", 1),
        ("profile_revisions", 1),
        ("profiles", 1),
        ("rule_revisions", 1),
        ("rulebook_versions", 1),
        ("rules", 1),
        ("samples", 1),
        ("tallies_minutes", 1),
        ("tenant_changes", 3),
        ("tenants", 1),
        ("top_subjects", 1),
        ("users", 1),
    ]);
    assert_eq!(visible(&database.app, Scope::Tenant(tenant_id)).await, expected);
}

#[tokio::test]
async fn credential_sees_exactly_the_rows_it_opens() {
    let database = database().await;
    full_tenant(&database, "a@example.com").await;
    full_tenant(&database, "b@example.com").await;
    let login = visible(&database.app, Scope::Login("a@example.com".to_owned())).await;
    assert_eq!(login, named(&[FOR_ALL[0], FOR_ALL[1], ("users", 1)]));
    let missing = visible(&database.app, Scope::Login("c@example.com".to_owned())).await;
    assert_eq!(missing, named(&FOR_ALL));
    let invited = visible(&database.app, Scope::Invitation([9; 32])).await;
    assert_eq!(invited, named(&FOR_ALL), "a digest without an invitation");
    let unknown = visible(&database.app, Scope::Key(digest())).await;
    assert_eq!(unknown, named(&FOR_ALL));
}

#[tokio::test]
async fn person_sees_own_tenants_and_an_operator_all() {
    let database = database().await;
    let person = user(&database.app, "p@example.com").await;
    tenant(&database.app, person).await;
    full_tenant(&database, "a@example.com").await;
    let expected = named(&[
        ("installation", 1),
        ("memberships", 1),
        ("rulebook_versions", 1),
        ("tenants", 1),
        ("users", 1),
    ]);
    assert_eq!(visible(&database.app, Scope::User(person)).await, expected);

    let mut tx = database.app.begin("tests", Scope::User(person)).await.unwrap();
    let refused = tx.users().set_operator(person, true).await.unwrap_err();
    assert!(refused.to_string().contains("permission denied"), "{refused}");
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    assert!(tx.users().set_operator(person, true).await.unwrap());
    tx.commit().await.unwrap();

    let mut tx = database.app.begin("tests", Scope::User(person)).await.unwrap();
    assert_eq!(tx.tenants().all(&first_page()).await.unwrap().items.len(), 2);
    assert_eq!(tx.tenants().mine(person, &first_page()).await.unwrap().items.len(), 1);
    assert_eq!(raw(&mut tx, "SELECT 1 FROM tenant_changes").await.unwrap(), 4);
    assert_eq!(raw(&mut tx, "SELECT 1 FROM rules").await.unwrap(), 0);
}

#[tokio::test]
async fn tenant_cannot_read_or_write_another() {
    let database = database().await;
    let (own, _) = full_tenant(&database, "a@example.com").await;
    let (other, theirs) = full_tenant(&database, "b@example.com").await;

    let mut tx = tenant_tx(&database.app, own).await;
    assert_eq!(tx.rules().find(other, theirs.id).await.unwrap(), None);
    assert_eq!(tx.rules().update(&theirs, 1, &Actor::System).await.unwrap(), None);
    assert_eq!(tx.rules().delete(other, theirs.id, None).await.unwrap(), None);
    assert!(!tx.tenants().delete(other).await.unwrap());
    assert_eq!(raw(&mut tx, "UPDATE rules SET name = 'x'").await.unwrap(), 1);
    assert_eq!(raw(&mut tx, "DELETE FROM overrides").await.unwrap(), 1);
    drop(tx);

    let mut tx = tenant_tx(&database.app, own).await;
    let refused = tx.rules().insert(&rule(other, "mine"), &Actor::System).await.unwrap_err();
    assert!(refused.to_string().contains("row-level security"), "{refused}");
    let mut tx = tenant_tx(&database.app, own).await;
    let crossing =
        tx.overrides().insert(&override_of(own, theirs.id), &Actor::System).await.unwrap_err();
    assert!(matches!(crossing, StoreError::Conflict(crate::Constraint::OverrideRule)));
    let mut tx = tenant_tx(&database.app, own).await;
    let taken = tx.tenants().begin_change(other).await.unwrap_err();
    assert!(matches!(taken, StoreError::Conflict(crate::Constraint::TenantMissing)));
}

#[tokio::test]
async fn scope_ends_with_its_transaction() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    for _ in 0..20 {
        tenant_tx(&database.app, tenant_id).await.commit().await.unwrap();
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        assert_eq!(raw(&mut tx, "SELECT 1 FROM rules").await.unwrap(), 0);
    }
}

#[tokio::test]
async fn gate_reads_the_rulebook_and_writes_nothing_else() {
    let database = database().await;
    full_tenant(&database, "a@example.com").await;
    let expected = named(&[
        ("api_keys", 1),
        ("assignments", 1),
        ("installation", 1),
        ("namespaces", 1),
        ("overrides", 1),
        ("plans", 1),
        ("profiles", 1),
        ("rulebook_stamps", 4),
        ("rulebook_versions", 1),
        ("rules", 1),
        ("tenant_changes", 3),
        ("tenants", 1),
    ]);
    assert_eq!(visible(&database.gate, Scope::Service).await, expected);
    for sql in [
        "UPDATE rules SET name = 'x'",
        "INSERT INTO rules SELECT * FROM rules",
        "DELETE FROM overrides",
        "UPDATE profiles SET name = 'x'",
        "UPDATE plans SET name = 'x'",
        "UPDATE assignments SET note = 'x'",
        "UPDATE namespaces SET spread_by = '{}'",
        "UPDATE api_keys SET revoked_at = NULL",
        "UPDATE tenants SET suspended = false",
        "UPDATE rulebook_versions SET version = 0",
        "DELETE FROM rulebook_stamps",
        "DELETE FROM tenant_changes",
        "UPDATE installation SET enforced = false",
        "DELETE FROM tenant_ceilings",
        "INSERT INTO default_ceilings VALUES ('rules', 1)",
        "SELECT * FROM usage_days",
        "DELETE FROM gates",
        "SELECT * FROM users",
        "SELECT * FROM audit_entries",
        "DELETE FROM tallies_minutes",
        "DELETE FROM api_key_hours",
        "SELECT * FROM customer_days",
        "SELECT weir_fold_customer_days(1)",
        "SELECT * FROM tallies_hours",
        "SELECT weir_roll_up(7, 90)",
        "SET ROLE weir_owner",
    ] {
        let mut tx = database.gate.begin("tests", Scope::Service).await.unwrap();
        assert!(raw(&mut tx, sql).await.is_err(), "{sql}");
    }
}
