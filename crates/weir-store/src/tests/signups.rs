//! Sign-ups that wait for confirmation: bounded, invisible without their token, and swept.

use super::*;
use crate::NewSignup;

fn signup(email: &str) -> NewSignup {
    NewSignup {
        email: email.to_owned(),
        tenant_name: "Acme".to_owned(),
        now: NOW,
        expires_at: NOW.plus_ms(1_000),
    }
}

async fn request(database: &TestDatabase, new: &NewSignup, most: u32) -> bool {
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    let noted = tx.signups().request(new, most).await.unwrap();
    tx.commit().await.unwrap();
    noted
}

#[tokio::test]
async fn waiting_sign_ups_are_bounded() {
    let database = database().await;
    assert!(request(&database, &signup("a@example.com"), 2).await);
    assert!(request(&database, &signup("b@example.com"), 2).await);
    assert!(!request(&database, &signup("c@example.com"), 2).await);
    assert!(
        !request(&database, &signup("a@example.com"), 2).await,
        "a waiting address is refused as well"
    );
    let later = NewSignup { now: NOW.plus_ms(1_000), ..signup("c@example.com") };
    assert!(request(&database, &later, 2).await, "the others have expired");
}

#[tokio::test]
async fn a_sign_up_is_seen_by_the_holder_of_its_token_and_by_the_owner() {
    let database = database().await;
    request(&database, &signup("a@example.com"), 10).await;
    let token = digest();
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    let issued = tx.signups().issue("a@example.com", &token, NOW, NOW.plus_ms(9_000)).await;
    assert!(issued.unwrap().unwrap().issued);
    assert!(tx.signups().issue("b@example.com", &digest(), NOW, NOW).await.unwrap().is_none());
    assert_eq!(tx.signups().list(NOW).await.unwrap().len(), 1);
    tx.commit().await.unwrap();

    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert!(tx.signups().list(NOW).await.unwrap().is_empty());
    assert!(
        tx.signups().presented(&token, NOW).await.unwrap().is_none(),
        "the scope does not contain the sign-up"
    );
    tx.enter_signup(&token).await.unwrap();
    let found = tx.signups().presented(&token, NOW).await.unwrap().unwrap();
    assert_eq!((found.email.as_str(), found.tenant_name.as_str()), ("a@example.com", "Acme"));
    assert!(tx.signups().presented(&token, NOW.plus_ms(9_000)).await.unwrap().is_none());
    assert!(tx.signups().spend(&token, NOW).await.unwrap().is_some());
    assert!(tx.signups().spend(&token, NOW).await.unwrap().is_none());
}

#[tokio::test]
async fn expired_sign_ups_are_swept() {
    let database = database().await;
    request(&database, &signup("a@example.com"), 10).await;
    let lasting = Timestamp::from_millis(7_000_000_000_000);
    let lasting = NewSignup { expires_at: lasting, ..signup("b@example.com") };
    request(&database, &lasting, 10).await;
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert_eq!(tx.sweep().expired(NOW, 10).await.unwrap(), 0);
    assert_eq!(tx.sweep().expired(Timestamp::from_millis(8_000_000_000_000), 10).await.unwrap(), 1);
}

#[tokio::test]
async fn a_mailed_token_replaces_the_earlier_one_and_its_tenant() {
    let database = database().await;
    let first = signup("a@example.com");
    let second = NewSignup { tenant_name: "Other".to_owned(), ..first.clone() };
    request(&database, &first, 10).await;
    let (old, new) = (digest(), digest());
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert!(tx.signups().issue_mailed(&first, &old).await.unwrap());
    assert!(tx.signups().issue_mailed(&second, &new).await.unwrap());
    assert!(!tx.signups().issue_mailed(&signup("b@example.com"), &digest()).await.unwrap());
    let late = NewSignup { now: first.expires_at, ..first.clone() };
    assert!(!tx.signups().issue_mailed(&late, &digest()).await.unwrap(), "it has expired");
    tx.enter_signup(&old).await.unwrap();
    assert!(tx.signups().presented(&old, NOW).await.unwrap().is_none());
    tx.enter_signup(&new).await.unwrap();
    let found = tx.signups().presented(&new, NOW).await.unwrap().unwrap();
    assert_eq!(found.tenant_name, "Other");
}
