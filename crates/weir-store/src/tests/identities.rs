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

#[tokio::test]
async fn a_person_has_one_identity_at_a_provider_until_it_is_unlinked() {
    let database = database().await;
    let ada = user(&database.app, "a@example.com").await;
    let identity = |issuer: &str, subject: &str| NewIdentity {
        digest: digest(),
        user_id: ada,
        issuer: issuer.to_owned(),
        subject: subject.to_owned(),
        now: NOW,
    };
    let mut tx = database.app.begin("tests", Scope::User(ada)).await.unwrap();
    assert!(!tx.identities().is_linked(ada, "https://one.example").await.unwrap());
    assert!(tx.identities().insert(&identity("https://one.example", "1")).await.unwrap());
    assert!(tx.identities().is_linked(ada, "https://one.example").await.unwrap());
    assert!(!tx.identities().insert(&identity("https://one.example", "2")).await.unwrap());
    assert!(tx.identities().insert(&identity("https://two.example", "2")).await.unwrap());
    tx.commit().await.unwrap();
    let mut tx = database.owner.begin("tests", Scope::User(ada)).await.unwrap();
    assert_eq!(tx.identities().unlink(ada).await.unwrap(), 2);
    assert!(tx.identities().insert(&identity("https://one.example", "2")).await.unwrap());
}

#[tokio::test]
async fn a_person_revokes_own_invitations_of_all_tenants() {
    let database = database().await;
    let (ada, eve) =
        (user(&database.app, "a@example.com").await, user(&database.app, "e@example.com").await);
    let mut tenants = Vec::new();
    for owner in [ada, eve] {
        let (tenant_id, _) = tenant(&database.app, owner).await;
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        for (to, by) in [("1@example.com", "A@Example.com"), ("2@example.com", "e@example.com")] {
            let mut invitation = accounts::invitation(tenant_id);
            (invitation.email, invitation.invited_by) = (to.to_owned(), by.to_owned());
            tx.invitations().replace(&invitation).await.unwrap();
        }
        tx.commit().await.unwrap();
        tenants.push(tenant_id);
    }
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert!(tx.invitations().revoke_own().await.unwrap().is_empty(), "nobody is in the scope");
    tx.enter_user(ada).await.unwrap();
    let revoked = tx.invitations().revoke_own().await.unwrap();
    let found: Vec<_> = revoked.iter().map(|row| (row.tenant_id, row.email.as_str())).collect();
    tenants.sort_unstable();
    assert_eq!(found, [(tenants[0], "1@example.com"), (tenants[1], "1@example.com")]);
    tx.enter_tenant(tenants[0]).await.unwrap();
    assert_eq!(tx.invitations().count_open(tenants[0], NOW).await.unwrap(), 1);
}
