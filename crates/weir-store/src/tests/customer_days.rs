//! Counts of customers by day.

use std::time::Duration;

use weir_domain::ceilings::{Ceiling, CeilingValues};
use weir_domain::id::{GateId, PlanId};

use super::*;
use crate::{CustomerCounts, CustomerDayRow, Flush};

/// The present day of UTC, as the sweep takes it from Postgres' clock.
fn today() -> i32 {
    i32::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() / 86_400).unwrap()
}

fn row(tenant_id: TenantId, customer: &str, allowed: u64) -> CustomerDayRow {
    CustomerDayRow {
        tenant_id,
        customer: customer.to_owned(),
        day: today(),
        rule_id: None,
        counts: CustomerCounts { allowed, denied: 1, units: -2 },
    }
}

/// A run of a gate that has reported.
async fn run(gate: &Store) -> Flush {
    let gate_id = GateId::new(NOW, next());
    let flush =
        Flush { gate_id, boot_id: next(), region: None, oldest_minute: NOW, age: Duration::ZERO };
    let mut tx = gate.begin("tests", Scope::Gate(gate_id)).await.unwrap();
    tx.tallies().report(&flush).await.unwrap();
    tx.commit().await.unwrap();
    flush
}

/// Writes a count of a customer. No row of the gate remains.
pub(super) async fn count_one(database: &TestDatabase, tenant_id: TenantId) {
    let run = run(&database.gate).await;
    assert!(count(&database.gate, &run, 1, &[row(tenant_id, "acme", 1)]).await);
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    raw(&mut tx, "DELETE FROM gate_flushes").await.unwrap();
    tx.commit().await.unwrap();
}

async fn count(gate: &Store, run: &Flush, batch: u64, rows: &[CustomerDayRow]) -> bool {
    let mut tx = gate.begin("tests", Scope::Gate(run.gate_id)).await.unwrap();
    let added = tx.customer_days().count(run.boot_id, batch, rows).await.unwrap();
    tx.commit().await.unwrap();
    added
}

/// The whole counts of a tenant's customers of today, the others under an empty name.
async fn counted(database: &TestDatabase, tenant_id: TenantId) -> Vec<(String, u64)> {
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let mut names = tx.customer_days().names(tenant_id, "", "", 100).await.unwrap();
    names.push(String::new());
    let rows = tx.customer_days().of_names(tenant_id, &names, NOW, today()).await.unwrap();
    rows.into_iter().map(|row| (row.customer, row.counts.allowed)).collect()
}

fn sums(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|&(name, allowed)| (name.to_owned(), allowed)).collect()
}

#[tokio::test]
async fn batch_is_added_once_and_those_of_all_gates_add_up() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let (one, other) = (run(&database.gate).await, run(&database.gate).await);
    let gone = TenantId::from_u128(next());
    let rows = [row(tenant_id, "acme", 3), row(tenant_id, "bolt", 1), row(gone, "x", 1)];
    assert!(count(&database.gate, &one, 1, &rows).await);
    assert!(!count(&database.gate, &one, 1, &rows).await, "its answer was lost");
    assert!(count(&database.gate, &other, 1, &rows[..1]).await);
    assert!(count(&database.gate, &one, 2, &rows[1..]).await);
    let expected = sums(&[("acme", 6), ("bolt", 2), ("", 0)]);
    assert_eq!(counted(&database, tenant_id).await, expected);
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let days = [today() - 1, today()];
    let of_acme = tx.customer_days().of_customer(tenant_id, "acme", days).await.unwrap();
    let [day] = &of_acme[..] else { panic!("one day") };
    assert_eq!(day.counts, CustomerCounts { allowed: 6, denied: 2, units: -4 });
    assert!(!tx.customer_days().has_others(tenant_id, days).await.unwrap());
}

#[tokio::test]
async fn smallest_customers_beyond_the_ceiling_are_summed_without_their_names() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let (other, _) = tenant(&database.app, owner).await;
    let run = run(&database.gate).await;
    let mut values = CeilingValues::default();
    values.set(Ceiling::CustomersPerDay, Some(2)).unwrap();
    let mut tx = database.owner.begin("tests", Scope::User(owner)).await.unwrap();
    assert!(tx.users().set_operator(owner, true).await.unwrap());
    tx.commit().await.unwrap();
    let mut tx = database.app.begin("tests", Scope::User(owner)).await.unwrap();
    tx.enter_tenant(tenant_id).await.unwrap();
    tx.ceilings().set_of_tenant(tenant_id, &values).await.unwrap();
    tx.commit().await.unwrap();
    let rows: Vec<_> = (1..=6)
        .map(|at| row(tenant_id, &format!("c{at}"), at))
        .chain([row(other, "o", 9)])
        .collect();
    assert!(count(&database.gate, &run, 1, &rows).await);
    let places = counted(&database, tenant_id).await;
    assert_eq!(places.len(), 4 + 1, "twice the ceiling, until the sweep");
    let mut late = row(tenant_id, "late", 50);
    late.day -= 1;
    assert!(count(&database.gate, &run, 2, &[late, row(tenant_id, "c7", 70)]).await);

    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert_eq!(tx.customer_days().fold(730).await.unwrap(), 2);
    tx.commit().await.unwrap();
    let after = counted(&database, tenant_id).await;
    let total: u64 = after.iter().map(|(_, allowed)| allowed).sum();
    assert_eq!((after.len(), total), (2 + 1 + 1, 21 + 70), "late is of the day before");
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    assert!(tx.customer_days().has_others(tenant_id, [today(), today()]).await.unwrap());
    assert!(!tx.customer_days().has_others(tenant_id, [today() - 1; 2]).await.unwrap());
    drop(tx);
    assert_eq!(counted(&database, other).await, sums(&[("o", 9), ("", 0)]));
}

#[tokio::test]
async fn days_beyond_the_retention_are_deleted() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let mut old = row(tenant_id, "acme", 3);
    old.day -= 31;
    let run = run(&database.gate).await;
    assert!(count(&database.gate, &run, 1, &[old.clone(), row(tenant_id, "acme", 1)]).await);
    for (days, deleted) in [(31, 0), (30, 1)] {
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        assert_eq!(tx.customer_days().fold(days).await.unwrap(), deleted, "{days}");
        tx.commit().await.unwrap();
    }
    assert_eq!(counted(&database, tenant_id).await, sums(&[("acme", 1), ("", 0)]));
}

#[tokio::test]
async fn customers_are_listed_by_name_with_their_plans_and_by_denials() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let run = run(&database.gate).await;
    let mut denied = row(tenant_id, "Zoë", 1);
    denied.counts.denied = 9;
    assert!(count(&database.gate, &run, 1, &[denied, row(tenant_id, "acme", 1)]).await);
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let plan = plans::plan(tenant_id, "pro");
    tx.plans().insert(&plan, &Actor::System).await.unwrap();
    let assigned = ["acme", "ad", "b"].map(|customer| plans::assignment(customer, plan.id, NOW));
    tx.assignments().insert_many(tenant_id, &assigned, NOW).await.unwrap();
    let mut pages = Vec::new();
    let mut after = String::new();
    loop {
        let page = tx.customer_days().names(tenant_id, "", &after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after.clone_from(last);
        pages.extend(page);
    }
    assert_eq!(pages, ["Zoë", "acme", "ad", "b"]);
    assert_eq!(tx.customer_days().names(tenant_id, "a", "acme", 9).await.unwrap(), ["ad"]);
    let of_plan = async |tx: &mut Tx, plan: PlanId, prefix: &str| {
        tx.customer_days().names_on_plan(tenant_id, plan, NOW, [prefix, ""], 9).await.unwrap()
    };
    assert_eq!(of_plan(&mut tx, plan.id, "a").await, ["acme", "ad"]);
    assert!(of_plan(&mut tx, PlanId::from_u128(1), "").await.is_empty());
    let most = tx.customer_days().most_denied(tenant_id, today(), "", 9).await.unwrap();
    assert_eq!(most, ["Zoë", "acme"]);
    let rows = tx.customer_days().of_names(tenant_id, &most, NOW, today()).await.unwrap();
    let plans: Vec<_> = rows.iter().map(|row| row.plan.clone()).collect();
    assert_eq!(plans, [None, Some((plan.id, "pro".to_owned()))]);
    assert_eq!(rows[0].counts.denied, 9);
}
