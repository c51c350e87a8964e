//! Deliveries are taken fairly across tenants, and leased by the server's clock.

use weir_domain::id::WebhookId;

use super::*;
use crate::{Attempted, DeliveryState, Due};

const PER_TENANT: u32 = 4;

/// A tenant with `count` due deliveries, one each second from `NOW` on.
async fn due(database: &TestDatabase, email: &str, count: u32) -> TenantId {
    let owner = user(&database.app, email).await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let mut tx = database.owner.begin("tests", Scope::Tenant(tenant_id)).await.unwrap();
    raw(
        &mut tx,
        "INSERT INTO webhooks (
            tenant_id, id, name, kind, url, addresses, enabled, secret, created_by, created_at, updated_at
        ) VALUES (weir_tenant(), gen_random_uuid(), 'a', 'standard', 'https://a', '{}', true, '', 'a', now(), now())",
    )
    .await
    .unwrap();
    let insert = "INSERT INTO webhook_deliveries (
            tenant_id, id, webhook_id, kind, payload, state, attempts, next_at, created_at
        )
        SELECT w.tenant_id, gen_random_uuid(), w.id, 'test', '{}', 'pending', 0,
            to_timestamp(1790000000 + n), now()
        FROM webhooks w, generate_series(1, $1) n
        WHERE w.tenant_id = weir_tenant()";
    let count = i32::try_from(count).unwrap();
    unchecked(insert).bind(count).execute(tx.connection()).await.unwrap();
    tx.commit().await.unwrap();
    tenant_id
}

async fn take(store: &Store, now: Timestamp, most: u32) -> Vec<Due> {
    let mut tx = store.begin("tests", Scope::Service).await.unwrap();
    let taken = tx.deliveries().take(now, 60, most, PER_TENANT).await.unwrap();
    tx.commit().await.unwrap();
    taken
}

fn of(tenant_id: TenantId, taken: &[Due]) -> usize {
    taken.iter().filter(|due| due.tenant_id == tenant_id).count()
}

#[tokio::test]
async fn backlog_of_one_tenant_hides_no_delivery_of_another_and_leases_hold_by_the_servers_clock() {
    let database = database().await;
    let busy = due(&database, "busy@example.com", 1_500).await;
    // This delivery is due later than all of the other tenant.
    let quiet = due(&database, "quiet@example.com", 1).await;
    let now = NOW.plus_ms(3_600_000);
    let taken = take(&database.app, now, 64).await;
    assert_eq!((of(busy, &taken), of(quiet, &taken)), (4, 1));
    // A control plane with a clock an hour ahead cannot take leased deliveries, or exceed the bound of the tenant.
    let ahead = now.plus_ms(3_600_000);
    assert_eq!(take(&database.app, ahead, 64).await, []);
    let one = taken.iter().find(|due| due.tenant_id == busy).copied().unwrap();
    let attempted = Attempted {
        state: DeliveryState::Pending,
        next_at: ahead.plus_ms(1),
        now,
        response_status: None,
        response: None,
        error: None,
        took_ms: 1,
    };
    let mut tx = tenant_tx(&database.app, busy).await;
    tx.deliveries().attempted(one, &attempted).await.unwrap();
    tx.commit().await.unwrap();
    let more = take(&database.app, ahead, 64).await;
    assert_eq!((more.len(), of(busy, &more)), (1, 1));
    assert_ne!(more[0], one);
}

#[tokio::test]
async fn plane_with_a_clock_ahead_takes_nothing_before_its_time() {
    let database = database().await;
    let tenant_id = due(&database, "a@example.com", 1).await;
    let mut tx = database.owner.begin("tests", Scope::Tenant(tenant_id)).await.unwrap();
    for statement in [
        "UPDATE webhook_deliveries SET next_at = now() + interval '1 hour'",
        "INSERT INTO alerts (
            tenant_id, id, name, webhook_id, enabled, kind, thresholds_percent, share_percent, window_s,
            checks_min, checked_at, created_by, created_at, updated_at
        )
        SELECT tenant_id, gen_random_uuid(), 'a', id, true, 'denial_share', '{}', 5, 60, 1, now(), 'a',
            now(), now()
        FROM webhooks",
    ] {
        raw(&mut tx, statement).await.unwrap();
    }
    tx.commit().await.unwrap();
    let ahead = Timestamp::from_millis(8_000_000_000_000);
    assert_eq!(take(&database.app, ahead, 64).await, []);
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert_eq!(tx.alerts().take(ahead, 3_600, 50).await.unwrap(), []);
    assert_eq!(tx.alerts().take(ahead, 0, 50).await.unwrap().len(), 1);
}

#[tokio::test]
async fn every_tenants_first_delivery_comes_before_any_tenants_second() {
    let database = database().await;
    let mut tenants = Vec::new();
    for at in 0..5 {
        tenants.push(due(&database, &format!("t{at}@example.com"), 10).await);
    }
    let taken = take(&database.app, NOW.plus_ms(3_600_000), 5).await;
    for tenant_id in tenants {
        assert_eq!(of(tenant_id, &taken), 1);
    }
}

#[tokio::test]
async fn old_deliveries_and_firings_are_deleted_and_pending_ones_are_not() {
    let database = database().await;
    let tenant_id = due(&database, "a@example.com", 3).await;
    let mut tx = database.owner.begin("tests", Scope::Tenant(tenant_id)).await.unwrap();
    for statement in [
        "UPDATE webhook_deliveries SET state = 'delivered' WHERE next_at < to_timestamp(1790000003)",
        "INSERT INTO alerts (
            tenant_id, id, name, webhook_id, enabled, kind, thresholds_percent, share_percent, window_s,
            checks_min, checked_at, created_by, created_at, updated_at
        )
        SELECT tenant_id, gen_random_uuid(), 'a', id, true, 'denial_share', '{}', 5, 60, 1, now(), 'a',
            now(), now()
        FROM webhooks",
        "INSERT INTO alert_firings
        SELECT tenant_id, id, n::text, now(), now() + n * interval '1 hour'
        FROM alerts, generate_series(-2, 2) n",
    ] {
        raw(&mut tx, statement).await.unwrap();
    }
    tx.commit().await.unwrap();
    let now = texts(
        &mut database.owner.begin("tests", Scope::Service).await.unwrap(),
        "SELECT ((extract(epoch FROM now()) + 60) * 1000)::bigint::text",
    )
    .await;
    let now = Timestamp::from_millis(now[0].parse().unwrap());
    let forget = async |most| {
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        let deliveries = tx.deliveries().forget(now, most).await.unwrap();
        let firings = tx.alerts().forget_firings(now, most).await.unwrap();
        tx.commit().await.unwrap();
        (deliveries, firings)
    };
    assert_eq!(forget(1).await, (1, 1), "a batch");
    assert_eq!(forget(10).await, (1, 2));
    assert_eq!(forget(10).await, (0, 0));
    assert_eq!(of(tenant_id, &take(&database.app, NOW.plus_ms(60_000), 10).await), 1);
}

#[tokio::test]
async fn webhook_fails_by_the_deliveries_after_its_last_success() {
    let database = database().await;
    let tenant_id = due(&database, "a@example.com", 4).await;
    let mut tx = database.owner.begin("tests", Scope::Tenant(tenant_id)).await.unwrap();
    let webhooks: Vec<WebhookId> = texts(&mut tx, "SELECT id::text FROM webhooks")
        .await
        .iter()
        .map(|id| WebhookId::from_u128(id.parse::<uuid::Uuid>().unwrap().as_u128()))
        .collect();
    let untried = tx.webhooks().health(tenant_id, &webhooks).await.unwrap();
    assert_eq!((untried[0].delivered_at, untried[0].failing, &untried[0].error), (None, 0, &None));
    // A failure, a success, a failure, and a delivery that was not attempted yet.
    raw(
        &mut tx,
        "UPDATE webhook_deliveries d
        SET state = (ARRAY['failed', 'delivered', 'pending', 'pending'])[o.n],
            error = CASE WHEN o.n IN (1, 3) THEN 'refused ' || o.n END,
            attempted_at = CASE WHEN o.n < 4 THEN to_timestamp(1790000000 + o.n) END
        FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM webhook_deliveries) o
        WHERE o.id = d.id",
    )
    .await
    .unwrap();
    let health = tx.webhooks().health(tenant_id, &webhooks).await.unwrap();
    assert_eq!(health.len(), 1);
    assert_eq!(health[0].delivered_at, Some(Timestamp::from_millis(1_790_000_002_000)));
    assert_eq!((health[0].failing, health[0].error.as_deref()), (1, Some("refused 3")));
    let fail = "UPDATE webhook_deliveries SET state = 'failed' WHERE state = 'delivered'";
    raw(&mut tx, fail).await.unwrap();
    let health = tx.webhooks().health(tenant_id, &webhooks).await.unwrap();
    assert_eq!((health[0].delivered_at, health[0].failing), (None, 3));
}
