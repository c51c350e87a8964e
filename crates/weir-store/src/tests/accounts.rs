//! Accounts, sessions, refresh tokens and memberships.

use weir_domain::id::{InvitationId, SessionId};

use super::*;
use crate::{Constraint, Membership, NewInvitation, NewSession, Rotated, Rotation, SESSIONS_MAX};

pub(super) fn session(user_id: UserId) -> NewSession {
    NewSession {
        id: SessionId::new(NOW, next()),
        user_id,
        refresh_digest: digest(),
        user_agent: "curl".to_owned(),
        network: Some("127.0.0.1".to_owned()),
        now: NOW,
        expires_at: NOW.plus_ms(1_000_000),
    }
}

pub(super) fn invitation(tenant_id: TenantId) -> NewInvitation {
    NewInvitation {
        id: InvitationId::new(NOW, next()),
        tenant_id,
        email: "new@example.com".to_owned(),
        role: MemberRole::Viewer,
        digest: digest(),
        invited_by: "a@example.com".to_owned(),
        now: NOW,
        expires_at: NOW.plus_ms(1_000_000),
    }
}

fn rotation(id: SessionId, presented: [u8; 32], now: Timestamp) -> Rotation {
    let expires_at = now.plus_ms(1_000_000);
    Rotation { id, presented, next: digest(), now, grace_ms: 10_000, expires_at }
}

/// Presents a refresh token in a transaction of its own.
async fn present(database: &TestDatabase, rotation: &Rotation) -> Rotated {
    let mut tx = database.app.begin("tests", Scope::Session(rotation.id)).await.unwrap();
    let rotated = tx.sessions().rotate(rotation).await.unwrap();
    tx.commit().await.unwrap();
    rotated
}

async fn signed_in(database: &TestDatabase) -> NewSession {
    let user_id = user(&database.app, "a@example.com").await;
    let session = session(user_id);
    let mut tx = database.app.begin("tests", Scope::User(user_id)).await.unwrap();
    tx.sessions().insert(&session).await.unwrap();
    tx.commit().await.unwrap();
    session
}

#[tokio::test]
async fn address_is_unique_and_finds_the_account() {
    let database = database().await;
    let id = user(&database.app, "ada@example.com").await;
    let scope = Scope::Login("ada@example.com".to_owned());
    let mut tx = database.app.begin("tests", scope).await.unwrap();
    let row = tx.users().by_email("ada@example.com").await.unwrap().unwrap();
    assert_eq!((row.id, row.email.as_str(), row.operator), (id, "ada@example.com", false));

    let twin = UserId::new(NOW, next());
    let mut tx = database.app.begin("tests", Scope::User(twin)).await.unwrap();
    let error = tx.users().insert(&new_user(twin, "ada@example.com")).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict(Constraint::UserEmail)), "{error}");
}

#[tokio::test]
async fn password_and_name_change_for_oneself_only() {
    let database = database().await;
    let own = user(&database.app, "a@example.com").await;
    let other = user(&database.app, "b@example.com").await;
    let mut tx = database.app.begin("tests", Scope::User(own)).await.unwrap();
    assert!(tx.users().rename(own, "Ada").await.unwrap());
    assert!(tx.users().set_password(own, "new").await.unwrap());
    assert!(!tx.users().set_password(other, "new").await.unwrap());
    let row = tx.users().find(own).await.unwrap().unwrap();
    assert_eq!((row.name.as_str(), row.password_hash.as_str()), ("Ada", "new"));
}

#[tokio::test]
async fn refresh_token_rotates_and_its_predecessor_has_a_grace_period() {
    let database = database().await;
    let session = signed_in(&database).await;
    let user_id = session.user_id;
    let first = rotation(session.id, session.refresh_digest, NOW);
    assert_eq!(present(&database, &first).await, Rotated::Rotated { user_id });

    let race = rotation(session.id, session.refresh_digest, NOW.plus_ms(10_000));
    assert_eq!(present(&database, &race).await, Rotated::Grace { user_id });
    let newer = rotation(session.id, first.next, NOW.plus_ms(10_000));
    assert_eq!(present(&database, &newer).await, Rotated::Rotated { user_id });
}

#[tokio::test]
async fn spent_refresh_token_ends_the_session() {
    let database = database().await;
    let session = signed_in(&database).await;
    let user_id = session.user_id;
    let first = rotation(session.id, session.refresh_digest, NOW);
    present(&database, &first).await;

    let late = rotation(session.id, session.refresh_digest, NOW.plus_ms(10_001));
    assert_eq!(present(&database, &late).await, Rotated::Reused { user_id });
    let newest = rotation(session.id, first.next, NOW.plus_ms(10_002));
    assert_eq!(present(&database, &newest).await, Rotated::Unknown);
    let found = database.app.authenticate(session.id, user_id, None, NOW).await;
    assert_eq!(found.unwrap(), None);
}

#[tokio::test]
async fn one_of_two_concurrent_refreshes_rotates_the_token() {
    let database = database().await;
    let session = signed_in(&database).await;
    let user_id = session.user_id;
    let one = rotation(session.id, session.refresh_digest, NOW);
    let other = rotation(session.id, session.refresh_digest, NOW);
    let mut both =
        <[Rotated; 2]>::from(tokio::join!(present(&database, &one), present(&database, &other)));
    both.sort_by_key(|rotated| matches!(rotated, Rotated::Grace { .. }));
    assert_eq!(both, [Rotated::Rotated { user_id }, Rotated::Grace { user_id }]);
}

#[tokio::test]
async fn live_session_returns_the_person_and_the_role() {
    let database = database().await;
    let session = signed_in(&database).await;
    let user_id = session.user_id;
    let (tenant_id, _) = tenant(&database.app, user_id).await;
    let stranger = user(&database.app, "b@example.com").await;
    let (elsewhere, _) = tenant(&database.app, stranger).await;

    let ask = async |tenant, now| {
        database.app.authenticate(session.id, user_id, tenant, now).await.unwrap()
    };
    let person = ask(Some(tenant_id), NOW).await.unwrap();
    let role = MemberRole::Owner;
    let membership = Membership { tenant_id, role, suspended: false, last_seen_at: None };
    assert_eq!(person.membership, Some(membership));
    assert_eq!(person.email, "a@example.com");
    assert_eq!(ask(Some(elsewhere), NOW).await.unwrap().membership, None);
    assert_eq!(ask(None, NOW.plus_ms(1_000_000)).await, None);
}

#[tokio::test]
async fn ending_all_sessions_spares_the_one_in_use() {
    let database = database().await;
    let current = signed_in(&database).await;
    let ended = session(current.user_id);
    let mut tx = database.app.begin("tests", Scope::User(current.user_id)).await.unwrap();
    tx.sessions().insert(&ended).await.unwrap();
    assert_eq!(tx.sessions().revoke_all(current.user_id, Some(current.id), NOW).await.unwrap(), 1);
    assert!(!tx.sessions().revoke(ended.id, NOW).await.unwrap());
    assert!(tx.sessions().revoke(current.id, NOW).await.unwrap());
}

#[tokio::test]
async fn person_joins_a_tenant_once_and_must_exist() {
    let database = database().await;
    let owner = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, owner).await;
    let ghost = UserId::new(NOW, next());
    for (user_id, wanted) in [(owner, Constraint::MemberTwice), (ghost, Constraint::MemberUser)] {
        let mut tx = tenant_tx(&database.app, tenant_id).await;
        let error =
            tx.members().insert(tenant_id, user_id, MemberRole::Viewer, NOW).await.unwrap_err();
        assert!(matches!(error, StoreError::Conflict(found) if found == wanted), "{error}");
    }
    let mut tx = tenant_tx(&database.app, tenant_id).await;
    assert_eq!(tx.members().role(tenant_id, owner).await.unwrap(), Some(MemberRole::Owner));
    assert!(MemberRole::Owner > MemberRole::Admin && MemberRole::Editor > MemberRole::Viewer);
}

#[tokio::test]
async fn an_account_keeps_its_latest_sessions_within_the_bound() {
    let database = database().await;
    let user_id = user(&database.app, "a@example.com").await;
    let mut ids = Vec::new();
    for begun in 0..i64::from(SESSIONS_MAX) + 5 {
        let now = NOW.plus_ms(begun);
        let new = NewSession { now, expires_at: now.plus_ms(1_000_000), ..session(user_id) };
        let mut tx = database.app.begin("tests", Scope::User(user_id)).await.unwrap();
        tx.sessions().insert(&new).await.unwrap();
        tx.commit().await.unwrap();
        ids.push(new.id);
    }
    let mut tx = database.app.begin("tests", Scope::User(user_id)).await.unwrap();
    let listed = tx.sessions().list(user_id, NOW).await.unwrap();
    let listed: Vec<_> = listed.iter().rev().map(|row| row.id).collect();
    assert_eq!(listed, ids[5..], "the oldest five were deleted");
}
