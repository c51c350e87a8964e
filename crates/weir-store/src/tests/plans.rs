//! Plans, and the assignments of customers to them.

use weir_domain::customers::{PlanRef, customer_key};
use weir_domain::id::{AssignmentId, PlanId};

use super::*;
use crate::{AssignmentFilter, Constraint, NewAssignment, PlanBody, PlanWrite};

pub(super) fn plan(tenant_id: TenantId, name: &str) -> PlanWrite {
    let spec = json!({ "name": name, "rules": [{ "namespace": "api", "rule": "login" }] });
    PlanWrite {
        tenant_id,
        id: PlanId::new(NOW, next()),
        body: PlanBody { name: name.to_owned(), spec, pinned: json!([]) },
        managed_by: None,
        now: NOW,
    }
}

pub(super) fn assignment(customer: &str, plan_id: PlanId, starts_at: Timestamp) -> NewAssignment {
    NewAssignment {
        id: AssignmentId::new(NOW, next()),
        customer: customer.to_owned(),
        customer_key: customer_key("org", customer),
        plan_id,
        starts_at,
        ends_at: None,
        note: String::new(),
        email: None,
        managed_by: None,
    }
}

#[tokio::test]
async fn plan_is_written_found_by_its_rules_and_counts_its_customers_by_revision() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let (other, _) = tenant(&database.app, owner).await;
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let mut write = plan(tenant_id, "pro");
    let row = tx.plans().insert(&write, &Actor::System).await.unwrap();
    assert_eq!((row.revision, row.customers.len()), (1, 0));
    let naming = tx.plans().naming(tenant_id, "api", "login").await.unwrap();
    assert_eq!(naming, [row]);
    assert_eq!(tx.plans().naming(tenant_id, "api", "other").await.unwrap(), []);
    assert_eq!(tx.plans().naming(other, "api", "login").await.unwrap(), []);

    let future = NOW.plus_ms(400 * 24 * 60 * 60 * 1_000);
    let customers = ["a", "b", "c"].map(|customer| assignment(customer, write.id, future));
    tx.assignments().insert_many(tenant_id, &customers[..2], NOW).await.unwrap();
    assert_eq!(tx.assignments().pin_revision(tenant_id, write.id, 1).await.unwrap(), 2);
    tx.assignments().insert_many(tenant_id, &customers[2..], NOW).await.unwrap();
    let rules = json!([{ "namespace": "api", "rule": "pinned" }]);
    write.body.pinned = json!([{ "revision": 1, "rules": rules }]);
    let row = tx.plans().update(&write, 1, &Actor::System).await.unwrap().unwrap();
    assert_eq!(row.customers, [(0, 1), (1, 2)].into());
    assert_eq!(tx.plans().naming(tenant_id, "api", "pinned").await.unwrap().len(), 1);
    assert_eq!(tx.assignments().count(tenant_id, NOW).await.unwrap(), 3);
    let filter = AssignmentFilter { plan_id: Some(write.id), ..AssignmentFilter::default() };
    let page = Page { limit: 2, after: None };
    let listed = tx.assignments().list(tenant_id, &filter, &page).await.unwrap();
    assert_eq!((listed.items.len(), listed.more), (2, true));
    assert_eq!(tx.assignments().count(other, NOW).await.unwrap(), 0);
    let twin = tx.plans().insert(&plan(tenant_id, "pro"), &Actor::System).await.unwrap_err();
    assert!(matches!(twin, StoreError::Conflict(Constraint::PlanName)), "{twin}");
}

#[tokio::test]
async fn plans_and_assignments_reach_the_gates() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    let held = database.gate.load_rulebook(None).await.unwrap();
    let [served] = &held.tenants[..] else { panic!("one tenant") };
    assert_eq!((served.plans.len(), served.assignments.len()), (1, 1));
    assert_eq!(served.customer_attribute, None);
    let unchanged = served.plans[0].id;
    let acme = customer_key("org", "acme");

    let mut write = plan(tenant_id, "free");
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let attribute = Some(Some("org"));
    tx.tenants().change(tenant_id, None, None, None, attribute).await.unwrap().unwrap();
    tx.plans().insert(&write, &Actor::System).await.unwrap();
    let before = tx.assignments().of_customers(tenant_id, &[acme], NOW).await.unwrap();
    let end = NOW.plus_ms(5);
    tx.assignments().end_many(tenant_id, &[(before[0].id, end)]).await.unwrap();
    let new = assignment("acme", write.id, end);
    tx.assignments().insert_many(tenant_id, &[new], NOW).await.unwrap();
    tx.publish(tenant_id, None).await.unwrap().unwrap();
    let changes = database.gate.load_rulebook(Some(held.version)).await.unwrap();
    let changed = &changes.tenants[0];
    assert_eq!(changed.customer_attribute.as_deref(), Some("org"));
    assert_eq!(changed.plans.iter().map(|plan| plan.id).collect::<Vec<_>>(), [write.id]);
    let mut loaded: Vec<_> =
        changed.assignments.iter().map(|one| (one.from(), one.until(), one.plan())).collect();
    loaded.sort_by_key(|(from, ..)| *from);
    let on = |plan| PlanRef { plan, pinned_revision: 0 };
    assert_eq!(loaded, [(NOW, Some(end), on(unchanged)), (end, None, on(write.id))]);

    let mut tx = tenant_tx(&database.app, tenant_id).await;
    for revision in 1..4 {
        write.now = write.now.plus_ms(1);
        tx.plans().update(&write, revision, &Actor::System).await.unwrap().unwrap();
    }
    let specs = tx.specs::<crate::PlanSpec>();
    assert_eq!(specs.keep_revisions(write.id, 1).await.unwrap(), 3);
    tx.plans().delete(tenant_id, write.id, None).await.unwrap().unwrap();
    tx.publish(tenant_id, None).await.unwrap().unwrap();
    let changes = database.gate.load_rulebook(Some(changes.version)).await.unwrap();
    let remaining = changes.tenants[0].remaining.clone().unwrap();
    assert_eq!(remaining.plans, [unchanged]);
}

#[tokio::test]
async fn assignments_are_swept_a_year_after_their_end() {
    let database = database().await;
    let (tenant_id, _) = full_tenant(&database, "a@example.com").await;
    for (sql, remaining) in [
        (
            "UPDATE assignments SET starts_at = now() - interval '400 days', ends_at = now() - interval '364 days'",
            1,
        ),
        ("UPDATE assignments SET ends_at = now() - interval '366 days'", 0),
    ] {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        raw(&mut tx, sql).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        tx.sweep().expired(NOW.plus_ms(i64::from(u32::MAX) * 1_000), 100).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        let (filter, page) = (AssignmentFilter::default(), Page { limit: 9, after: None });
        let listed = tx.assignments().list(tenant_id, &filter, &page).await.unwrap();
        assert_eq!(listed.items.len(), remaining, "{sql}");
    }
}
