//! A repeated request gets the first response.

use super::*;
use crate::{Claim, Claimed, Owner};

pub(super) fn claim(tenant_id: TenantId) -> Claim {
    Claim {
        owner: Owner::Tenant(tenant_id),
        key: "once".to_owned(),
        request_digest: [1; 32],
        now: NOW,
        expires_at: NOW.plus_ms(86_400_000),
    }
}

async fn some_tenant(database: &TestDatabase) -> TenantId {
    let owner = user(&database.app, "a@example.com").await;
    tenant(&database.app, owner).await.0
}

#[tokio::test]
async fn second_claim_replays_and_another_request_is_a_mismatch() {
    let database = database().await;
    let claim = claim(some_tenant(&database).await);
    let mut tx = database.app.begin("tests", scope(&claim)).await.unwrap();
    assert_eq!(tx.idempotency().claim(&claim).await.unwrap(), Claimed::Fresh);
    let body = json!({ "id": 1 });
    tx.idempotency().finish(&claim, 201, &body);
    tx.commit().await.unwrap();

    let mut tx = database.app.begin("tests", scope(&claim)).await.unwrap();
    let again = tx.idempotency().claim(&claim).await.unwrap();
    assert_eq!(again, Claimed::Replay { status: 201, body });
    let other = Claim { request_digest: [2; 32], ..claim.clone() };
    assert_eq!(tx.idempotency().claim(&other).await.unwrap(), Claimed::Mismatch);
    let later = Claim { now: claim.expires_at, ..other };
    assert_eq!(tx.idempotency().claim(&later).await.unwrap(), Claimed::Fresh);
}

#[tokio::test]
async fn concurrent_claim_waits_for_the_first_and_gets_its_response() {
    let database = database().await;
    let claim = claim(some_tenant(&database).await);
    let mut first = database.app.begin("tests", scope(&claim)).await.unwrap();
    assert_eq!(first.idempotency().claim(&claim).await.unwrap(), Claimed::Fresh);
    let twin = tokio::spawn({
        let (app, claim) = (database.app.clone(), claim.clone());
        async move {
            let mut tx = app.begin("tests", scope(&claim)).await.unwrap();
            tx.idempotency().claim(&claim).await.unwrap()
        }
    });
    first.idempotency().finish(&claim, 200, &json!("done"));
    first.commit().await.unwrap();
    let replay = Claimed::Replay { status: 200, body: json!("done") };
    assert_eq!(twin.await.unwrap(), replay);
}

fn scope(claim: &Claim) -> Scope {
    match claim.owner {
        Owner::Tenant(id) => Scope::Tenant(id),
        Owner::User(id) => Scope::User(id),
    }
}
