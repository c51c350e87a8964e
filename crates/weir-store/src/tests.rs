//! Tests of the store against a real Postgres.

mod accounts;
mod audit;
mod customer_days;
mod deliveries;
mod functions;
mod gates;
mod hosts;
mod idempotency;
mod identities;
mod isolation;
mod keys;
mod namespaces;
mod overrides;
mod pgbouncer;
mod plans;
mod profiles;
mod quota_periods;
mod round_trips;
mod rulebook;
mod rules;
mod samples;
mod schema;
mod second_factors;
mod signups;
mod silence;
mod sweep;
mod tallies;
mod usage;

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{Postgres, Row, SqlSafeStr};
use weir_domain::id::{KeyId, OverrideId, ProfileId, RuleId, TenantId, UserId};
use weir_domain::time::Timestamp;

use crate::test_support::{TestDatabase, database};
use crate::{
    Actor, MemberRole, NewKey, NewUser, OverrideBody, OverrideWrite, Page, RuleBody, RuleWrite,
    Scope, Store, StoreError, Tx,
};

const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

/// A number that differs at each call, for ids and digests.
fn next() -> u128 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    u128::from(NEXT.fetch_add(1, Ordering::Relaxed))
}

fn digest() -> [u8; 32] {
    let mut digest = [7; 32];
    digest[..16].copy_from_slice(&next().to_be_bytes());
    digest
}

fn first_page<A>() -> Page<A> {
    Page { limit: 50, after: None }
}

async fn tenant_tx(store: &Store, tenant_id: TenantId) -> Tx {
    store.begin("tests", Scope::Tenant(tenant_id)).await.unwrap()
}

/// A statement that the checked macros would reject.
#[expect(
    clippy::disallowed_methods,
    reason = "queries the catalog, or attempts forbidden operations"
)]
fn unchecked(sql: impl SqlSafeStr) -> Query<'static, Postgres, PgArguments> {
    sqlx::query(sql)
}

async fn raw(tx: &mut Tx, sql: &'static str) -> Result<u64, StoreError> {
    Ok(unchecked(sql).execute(tx.connection()).await?.rows_affected())
}

/// The first column of every row.
async fn texts(tx: &mut Tx, sql: &'static str) -> Vec<String> {
    let rows = unchecked(sql).fetch_all(tx.connection()).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

async fn user(store: &Store, email: &str) -> UserId {
    let id = UserId::new(NOW, next());
    let mut tx = store.begin("tests", Scope::User(id)).await.unwrap();
    tx.users().insert(&new_user(id, email)).await.unwrap();
    tx.commit().await.unwrap();
    id
}

fn new_user(id: UserId, email: &str) -> NewUser {
    NewUser {
        id,
        email: email.to_owned(),
        name: String::new(),
        password_hash: "$argon2id$".to_owned(),
        now: NOW,
    }
}

/// A tenant with an owner, and the version at which it appeared.
async fn tenant(store: &Store, owner: UserId) -> (TenantId, u64) {
    let id = TenantId::new(NOW, next());
    let mut tx = store.begin("tests", Scope::User(owner)).await.unwrap();
    tx.enter_tenant(id).await.unwrap();
    tx.tenants().insert(id, "Shop", NOW).await.unwrap();
    tx.members().insert(id, owner, MemberRole::Owner, NOW).await.unwrap();
    let version = tx.publish(id, None).await.unwrap().unwrap();
    (id, version)
}

fn rule(tenant_id: TenantId, name: &str) -> RuleWrite {
    RuleWrite {
        tenant_id,
        id: RuleId::new(NOW, next()),
        body: RuleBody {
            namespace: "api".to_owned(),
            name: name.to_owned(),
            spec: json!({ "name": name, "limits": [] }),
            slots: vec![0, 2],
            next_slot: 3,
            patterns: weir_domain::pattern_budget::PatternCost::default(),
        },
        managed_by: None,
        now: NOW,
    }
}

/// Inserts a rule, publishes the change and commits.
async fn write_rule(store: &Store, write: RuleWrite) -> RuleWrite {
    let mut tx = tenant_tx(store, write.tenant_id).await;
    tx.rules().insert(&write, &Actor::System).await.unwrap();
    tx.publish(write.tenant_id, None).await.unwrap().unwrap();
    write
}

fn key(tenant_id: TenantId) -> NewKey {
    NewKey {
        id: KeyId::new(NOW, next()),
        tenant_id,
        name: "server".to_owned(),
        scopes: vec!["check".to_owned()],
        namespaces: None,
        hint: "weir_abc".to_owned(),
        digest: digest(),
        expires_at: None,
        created_by: "a@example.com".to_owned(),
        now: NOW,
    }
}

fn override_of(tenant_id: TenantId, rule_id: RuleId) -> OverrideWrite {
    OverrideWrite {
        tenant_id,
        id: OverrideId::new(NOW, next()),
        body: OverrideBody {
            rule_id,
            subject: json!({ "user": "u-17" }),
            subject_digest: digest(),
            spec: json!({ "action": "allow" }),
            reason: "partner".to_owned(),
            expires_at: Some(NOW.plus_ms(60_000)),
        },
        managed_by: None,
        now: NOW,
    }
}

/// A tenant that has one row in every table.
async fn full_tenant(database: &TestDatabase, email: &str) -> (TenantId, RuleWrite) {
    let owner = user(&database.app, email).await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let rule = write_rule(&database.app, rule(tenant_id, "login")).await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let key = key(tenant_id);
    tx.keys().insert(&key).await.unwrap();
    tx.overrides().insert(&override_of(tenant_id, rule.id), &Actor::System).await.unwrap();
    tx.profiles().insert(&profiles::profile(tenant_id, "edge"), &Actor::System).await.unwrap();
    let plan = plans::plan(tenant_id, "pro");
    tx.plans().insert(&plan, &Actor::System).await.unwrap();
    let assigned = [plans::assignment("acme", plan.id, NOW)];
    tx.assignments().insert_many(tenant_id, &assigned, NOW).await.unwrap();
    tx.namespaces().set(&namespaces::spread(tenant_id, "api"), 0).await.unwrap();
    tx.invitations().replace(&accounts::invitation(tenant_id)).await.unwrap();
    tx.audit().append(&audit::entry(Some(tenant_id), Actor::System));
    let claim = idempotency::claim(tenant_id);
    tx.idempotency().claim(&claim).await.unwrap();
    tx.idempotency().finish(&claim, 201, &json!({}));
    tx.commit().await.unwrap();
    customer_days::count_one(database, tenant_id).await;
    tallies::write_one_of_each(&database.gate, tenant_id, rule.id).await;
    keys::count(&database.gate, &keys::flush(), &[keys::hour(&key, NOW, 1)]).await;
    let mut tx = database.app.begin("tests", Scope::User(owner)).await.unwrap();
    tx.sessions().insert(&accounts::session(owner)).await.unwrap();
    tx.commit().await.unwrap();
    (tenant_id, rule)
}
