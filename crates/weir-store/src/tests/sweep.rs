//! Expired rows of all tenants are deleted, and no others, even if the caller passes a later time.

use super::*;
use crate::NewInvitation;

/// The number of stored responses and invitations that the tenant sees.
async fn left(database: &TestDatabase, tenant_id: TenantId) -> (i64, i64) {
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    let count = unchecked(
        "SELECT (SELECT count(*) FROM idempotency_keys), (SELECT count(*) FROM invitations)",
    );
    let row = count.fetch_one(tx.connection()).await.unwrap();
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn expired_rows_are_swept_in_batches() {
    let database = database().await;
    let (a, _) = full_tenant(&database, "a@example.com").await;
    let (b, _) = full_tenant(&database, "b@example.com").await;
    let lasting = NewInvitation {
        email: "other@example.com".to_owned(),
        expires_at: Timestamp::from_millis(7_000_000_000_000),
        ..accounts::invitation(a)
    };
    let mut tx = tenant_tx(&database.app, a).await;
    tx.invitations().replace(&lasting).await.unwrap();
    tx.commit().await.unwrap();

    let sweep = async |at: Timestamp, most| {
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        let swept = tx.sweep().expired(at, most).await.unwrap();
        tx.commit().await.unwrap();
        swept
    };
    assert_eq!(sweep(NOW, 10).await, 0, "no row had expired");
    assert_eq!(sweep(Timestamp::from_millis(8_000_000_000_000), 1).await, 3, "one of each kind");
    assert_eq!(sweep(Timestamp::from_millis(8_000_000_000_000), 10).await, 3);
    assert_eq!(left(&database, a).await, (0, 1), "the invitation that has not expired remains");
    assert_eq!(left(&database, b).await, (0, 0));
}
