//! Identities of people at the OpenID Connect provider.

use super::*;
use crate::NewIdentity;

#[tokio::test]
async fn an_identity_is_seen_once_it_is_confirmed_and_linked_once() {
    let database = database().await;
    let (ada, eve) =
        (user(&database.app, "a@example.com").await, user(&database.app, "e@example.com").await);
    let identity = |user_id, digest| NewIdentity {
        digest,
        user_id,
        issuer: "https://id.example.com".to_owned(),
        subject: "7".to_owned(),
        now: NOW,
    };
    let own = digest();
    let mut tx = database.app.begin("tests", Scope::User(ada)).await.unwrap();
    assert!(tx.identities().insert(&identity(ada, own)).await.unwrap());
    tx.commit().await.unwrap();
    let mut tx = database.app.begin("tests", Scope::User(eve)).await.unwrap();
    assert!(!tx.identities().insert(&identity(eve, own)).await.unwrap(), "linked already");
    assert!(tx.identities().insert(&identity(ada, digest())).await.is_err(), "another person");

    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert_eq!(tx.identities().presented(&own).await.unwrap(), None, "not in the scope");
    tx.enter_identity(&digest()).await.unwrap();
    assert_eq!(tx.identities().presented(&own).await.unwrap(), None, "another one");
    tx.enter_identity(&own).await.unwrap();
    assert_eq!(tx.identities().presented(&own).await.unwrap(), Some(ada));
}

#[tokio::test]
async fn an_invitation_of_any_tenant_is_known_until_it_expires() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let invitation = accounts::invitation(tenant_id);
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    tx.invitations().replace(&invitation).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    for (email, at, expected) in [
        ("new@example.com", NOW, true),
        ("new@example.com", invitation.expires_at, false),
        ("a@example.com", NOW, false),
    ] {
        assert_eq!(tx.identities().is_invited(email, at).await.unwrap(), expected, "{email}");
    }
}
