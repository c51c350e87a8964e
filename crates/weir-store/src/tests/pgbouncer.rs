//! `PgBouncer` in transaction mode between a plane and Postgres.

use futures_util::future::join_all;
use weir_local::{PgBouncer, ScratchDir};

use super::*;
use crate::Role;
use crate::test_support::{connect, login_url};

const PASSWORD: &str = "the-logins-of-a-test";

#[tokio::test(flavor = "multi_thread")]
async fn transactions_through_a_pooler_have_their_own_role_scope_and_deadlines() {
    let database = database().await;
    let scratch = ScratchDir::create().unwrap();
    let server = weir_local::shared::postgres();
    let logins = [Role::App, Role::Gate].map(|role| (role.login().unwrap(), PASSWORD));
    let pooler = PgBouncer::start(&scratch.path().join("pgbouncer"), server, &logins).unwrap();
    let store = |role| {
        let url = login_url(&database.name, role);
        let url = url.replace(&server.port().to_string(), &pooler.port().to_string());
        connect(&format!("{url}?statement-cache-capacity=0"), role)
    };
    // All transactions of a login share one connection to the server.
    let (app, gate) = (store(Role::App), store(Role::Gate));
    app.assert_confined().await.unwrap();
    gate.assert_confined().await.unwrap();
    let people = ["a@example.com", "b@example.com", "c@example.com", "d@example.com"];
    let tenants = join_all(people.map(async |email| {
        let owner = user(&app, email).await;
        tenant(&app, owner).await.0
    }))
    .await;
    let rules = join_all(tenants.iter().map(|id| write_rule(&app, rule(*id, "login")))).await;
    for (tenant_id, rule) in tenants.iter().zip(&rules) {
        let mut tx = tenant_tx(&app, *tenant_id).await;
        let of_role = "SELECT current_user::text || ' ' || current_setting('lock_timeout')";
        assert_eq!(texts(&mut tx, of_role).await, ["weir_app 2s"]);
        let seen = texts(&mut tx, "SELECT id::text FROM rules").await;
        assert_eq!(seen.len(), 1, "row-level security holds");
        assert!(tx.rules().find(*tenant_id, rule.id).await.unwrap().is_some());
    }
    let loaded = gate.load_rulebook(None).await.unwrap();
    assert_eq!(loaded.tenants.len(), 4);
}

/// This `PgBouncer` does not track prepared statements, so two connections disagree about those of the server.
#[tokio::test(flavor = "multi_thread")]
async fn pooler_that_loses_prepared_statements_is_reported_with_the_remedy() {
    let database = database().await;
    let scratch = ScratchDir::create().unwrap();
    let server = weir_local::shared::postgres();
    let login = (Role::App.login().unwrap(), PASSWORD);
    let pooler = PgBouncer::start(&scratch.path().join("pgbouncer"), server, &[login]).unwrap();
    let url = login_url(&database.name, Role::App);
    let url = url.replace(&server.port().to_string(), &pooler.port().to_string());
    let stores = [connect(&url, Role::App), connect(&url, Role::App)];
    let mut reasons = String::new();
    for store in &stores {
        if let Err(error) = store.assert_confined().await {
            reasons += &error.reason();
        }
    }
    assert!(reasons.contains("statement-cache-capacity=0"), "{reasons}");
}
