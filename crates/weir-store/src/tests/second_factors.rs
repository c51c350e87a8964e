//! Second factors and password resets.

use super::*;
use crate::{NewIdentity, NewSignup};

async fn user_tx(store: &Store, user_id: UserId) -> Tx {
    store.begin("tests", Scope::User(user_id)).await.unwrap()
}

#[tokio::test]
async fn a_second_factor_is_required_once_confirmed_and_accepts_each_step_once() {
    let database = database().await;
    let (ada, eve) =
        (user(&database.app, "a@example.com").await, user(&database.app, "e@example.com").await);
    let mut tx = user_tx(&database.app, ada).await;
    assert!(tx.second_factors().begin(ada, b"one", NOW).await.unwrap());
    assert!(tx.second_factors().begin(ada, b"two", NOW).await.unwrap(), "not confirmed yet");
    assert!(!tx.second_factors().use_step(ada, 5, b"two").await.unwrap(), "not confirmed yet");
    assert!(tx.second_factors().confirm(ada, 5, NOW).await.unwrap());
    assert!(!tx.second_factors().confirm(ada, 6, NOW).await.unwrap());
    assert!(!tx.second_factors().begin(ada, b"three", NOW).await.unwrap());
    let found = tx.second_factors().find(ada).await.unwrap().unwrap();
    assert_eq!((found.secret.as_slice(), found.confirmed_at), (b"two".as_slice(), Some(NOW)));
    for (step, accepted) in [(5, false), (7, true), (7, false), (6, false), (8, true)] {
        assert_eq!(
            tx.second_factors().use_step(ada, step, b"two").await.unwrap(),
            accepted,
            "{step}"
        );
    }
    let codes = [digest(), digest()];
    tx.second_factors().replace_recovery_codes(ada, &codes).await.unwrap();
    assert!(tx.second_factors().use_recovery_code(ada, &codes[0]).await.unwrap());
    assert!(!tx.second_factors().use_recovery_code(ada, &codes[0]).await.unwrap());
    tx.commit().await.unwrap();

    let mut tx = user_tx(&database.app, eve).await;
    assert!(tx.second_factors().find(ada).await.unwrap().is_none(), "of another person");
    assert!(!tx.second_factors().use_recovery_code(ada, &codes[1]).await.unwrap());
    assert!(!tx.second_factors().delete(ada).await.unwrap());
    let mut tx = user_tx(&database.app, ada).await;
    assert_eq!(tx.second_factors().find(ada).await.unwrap().unwrap().recovery_codes, 1);
    assert!(tx.second_factors().delete(ada).await.unwrap());
    assert!(tx.second_factors().find(ada).await.unwrap().is_none());
}

#[tokio::test]
async fn a_password_reset_is_seen_by_the_holder_of_its_token_and_spent_once() {
    let database = database().await;
    let ada = user(&database.app, "a@example.com").await;
    let (first, token) = (digest(), digest());
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    tx.password_resets().replace(ada, &first, NOW.plus_ms(9_000)).await.unwrap();
    tx.password_resets().replace(ada, &token, NOW.plus_ms(9_000)).await.unwrap();
    tx.commit().await.unwrap();

    let mut tx = database.app.begin("tests", Scope::User(ada)).await.unwrap();
    assert_eq!(
        tx.password_resets().presented(&token, NOW).await.unwrap(),
        None,
        "not in the scope"
    );
    tx.enter_password_reset(&first).await.unwrap();
    assert_eq!(tx.password_resets().presented(&first, NOW).await.unwrap(), None, "replaced");
    tx.enter_password_reset(&token).await.unwrap();
    assert_eq!(tx.password_resets().presented(&token, NOW).await.unwrap(), Some(ada));
    assert_eq!(
        tx.password_resets().spend(&token, NOW.plus_ms(9_000)).await.unwrap(),
        None,
        "expired"
    );
    assert_eq!(tx.password_resets().spend(&token, NOW).await.unwrap(), Some(ada));
    assert_eq!(tx.password_resets().spend(&token, NOW).await.unwrap(), None);
}

/// Each change of an account that ends its open tokens, as the owner of the database.
async fn change_credentials(tx: &mut Tx, account: UserId, change: &str) {
    match change {
        "password" => assert!(tx.users().set_password(account, "other").await.unwrap()),
        "disable" => assert!(tx.users().set_disabled(account, Some(NOW)).await.unwrap()),
        "enable" => assert!(tx.users().set_disabled(account, None).await.unwrap()),
        "operator" => assert!(tx.users().set_operator(account, true).await.unwrap()),
        "link" => {
            let (issuer, subject) = ("https://id.example.com".to_owned(), "7".to_owned());
            let new = NewIdentity { digest: digest(), user_id: account, issuer, subject, now: NOW };
            assert!(tx.identities().insert(&new).await.unwrap());
        }
        "unlink" => assert_eq!(tx.identities().unlink(account).await.unwrap(), 1),
        "factor" => assert!(tx.second_factors().confirm(account, 5, NOW).await.unwrap()),
        _ => assert!(tx.second_factors().delete(account).await.unwrap()),
    }
}

#[tokio::test]
async fn changed_credentials_end_the_reset_and_the_sign_up_of_an_account() {
    let database = database().await;
    let signup = |email: &str| NewSignup {
        email: email.to_owned(),
        tenant_name: "Acme".to_owned(),
        now: NOW,
        expires_at: NOW.plus_ms(1_000_000),
    };
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    assert!(tx.signups().request(&signup("a@example.com"), 100).await.unwrap());
    tx.commit().await.unwrap();
    let ada = user(&database.app, "a@example.com").await;
    let eve = user(&database.app, "e@example.com").await;
    let mut tx = user_tx(&database.owner, ada).await;
    assert!(tx.signups().list(NOW).await.unwrap().is_empty(), "the account replaces the sign-up");
    assert!(tx.second_factors().begin(ada, b"one", NOW).await.unwrap());
    let of_eve = digest();
    tx.password_resets().replace(eve, &of_eve, NOW.plus_ms(9_000)).await.unwrap();
    for change in
        ["password", "disable", "enable", "operator", "link", "unlink", "factor", "no factor"]
    {
        let token = digest();
        tx.password_resets().replace(ada, &token, NOW.plus_ms(9_000)).await.unwrap();
        assert!(tx.signups().request(&signup("a@example.com"), 100).await.unwrap());
        assert_eq!(tx.password_resets().presented(&token, NOW).await.unwrap(), Some(ada));
        change_credentials(&mut tx, ada, change).await;
        assert_eq!(tx.password_resets().presented(&token, NOW).await.unwrap(), None, "{change}");
        assert!(tx.signups().list(NOW).await.unwrap().is_empty(), "{change}");
    }
    assert_eq!(tx.password_resets().presented(&of_eve, NOW).await.unwrap(), Some(eve));
}

#[tokio::test]
async fn operators_issue_resets_for_people_and_not_for_operators() {
    let database = database().await;
    let (ada, root) =
        (user(&database.app, "a@example.com").await, user(&database.app, "r@example.com").await);
    let mut tx = user_tx(&database.owner, root).await;
    tx.users().set_operator(root, true).await.unwrap();
    tx.commit().await.unwrap();
    let issue = async |by: UserId, email: &str| {
        let mut tx = user_tx(&database.app, by).await;
        let issued = tx.password_resets().issue(email, &digest(), NOW).await;
        tx.commit().await.unwrap();
        issued
    };
    assert_eq!(issue(root, "a@example.com").await.unwrap(), Some(ada));
    assert_eq!(issue(root, "r@example.com").await.unwrap(), None, "an operator");
    assert_eq!(issue(root, "x@example.com").await.unwrap(), None);
    let mut tx = user_tx(&database.app, ada).await;
    let refused = tx.password_resets().issue("a@example.com", &digest(), NOW).await.unwrap_err();
    drop(tx);
    assert!(refused.to_string().contains("only operators"), "{refused}");
    let mut tx = user_tx(&database.owner, ada).await;
    tx.users().set_disabled(ada, Some(NOW)).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(issue(root, "a@example.com").await.unwrap(), None, "disabled");
}

#[tokio::test]
async fn a_requested_reset_is_stored_for_an_account_that_can_sign_in() {
    let database = database().await;
    let ada = user(&database.app, "a@example.com").await;
    let request = async |email: &str, token: &[u8; 32]| {
        let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
        let account = tx.password_resets().request(email, token, NOW.plus_ms(9_000)).await.unwrap();
        tx.commit().await.unwrap();
        account
    };
    let (first, token) = (digest(), digest());
    assert_eq!(request("x@example.com", &digest()).await, None);
    assert_eq!(request("a@example.com", &first).await, Some(ada));
    assert_eq!(request("a@example.com", &token).await, Some(ada));
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    tx.enter_password_reset(&first).await.unwrap();
    assert_eq!(tx.password_resets().presented(&first, NOW).await.unwrap(), None, "replaced");
    tx.enter_password_reset(&token).await.unwrap();
    assert_eq!(tx.password_resets().presented(&token, NOW).await.unwrap(), Some(ada));
    drop(tx);

    let mut tx = user_tx(&database.owner, ada).await;
    tx.users().set_disabled(ada, Some(NOW)).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(request("a@example.com", &digest()).await, None, "disabled");
}

#[tokio::test]
async fn expired_password_resets_are_swept() {
    let database = database().await;
    let (ada, eve) =
        (user(&database.app, "a@example.com").await, user(&database.app, "e@example.com").await);
    let lasting = digest();
    let late = Timestamp::from_millis(7_000_000_000_000);
    let mut tx = database.owner.begin("tests", Scope::Service).await.unwrap();
    tx.password_resets().replace(ada, &digest(), NOW.plus_ms(9_000)).await.unwrap();
    tx.password_resets().replace(eve, &lasting, late).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = database.app.begin("tests", Scope::Service).await.unwrap();
    assert_eq!(tx.sweep().expired(NOW, 10).await.unwrap(), 0);
    assert_eq!(tx.sweep().expired(late.plus_ms(1), 10).await.unwrap(), 1);
    tx.enter_password_reset(&lasting).await.unwrap();
    assert_eq!(tx.password_resets().presented(&lasting, NOW).await.unwrap(), Some(eve));
}

#[tokio::test]
async fn operators_list_accounts_and_other_people_do_not() {
    let database = database().await;
    let (ada, root) =
        (user(&database.app, "a@example.com").await, user(&database.app, "r@example.com").await);
    tenant(&database.app, ada).await;
    let mut tx = user_tx(&database.owner, root).await;
    tx.users().set_operator(root, true).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = user_tx(&database.app, ada).await;
    tx.users().seen(ada, NOW, NOW).await.unwrap();
    tx.users().seen(ada, NOW.plus_ms(5), NOW).await.unwrap();
    assert!(tx.second_factors().begin(ada, b"one", NOW).await.unwrap());
    assert!(tx.second_factors().confirm(ada, 5, NOW).await.unwrap());
    tx.commit().await.unwrap();

    let mut tx = user_tx(&database.app, root).await;
    let all = tx.accounts().list(None, &first_page()).await.unwrap().items;
    let seen: Vec<_> = all
        .iter()
        .map(|row| (row.email.as_str(), row.tenants, row.second_factor, row.operator))
        .collect();
    assert_eq!(seen, [("a@example.com", 1, true, false), ("r@example.com", 0, false, true)]);
    assert_eq!((all[0].last_seen_at, all[1].last_seen_at), (Some(NOW), None));
    let found = tx.accounts().list(Some("R@EX"), &first_page()).await.unwrap().items;
    assert_eq!(found.len(), 1);
    let one = Page { limit: 1, after: Some(ada) };
    let rest = tx.accounts().list(None, &one).await.unwrap();
    assert_eq!((rest.items[0].id, rest.more), (root, false));
    drop(tx);
    let mut tx = user_tx(&database.app, ada).await;
    let refused = tx.accounts().list(None, &first_page()).await.unwrap_err();
    assert!(refused.to_string().contains("only operators"), "{refused}");
}

#[tokio::test]
async fn a_member_is_seen_in_the_tenant_at_most_once_per_interval() {
    let database = database().await;
    let ada = user(&database.app, "a@example.com").await;
    let (tenant_id, _) = tenant(&database.app, ada).await;
    let mut tx = user_tx(&database.app, ada).await;
    tx.enter_tenant(tenant_id).await.unwrap();
    let find =
        async |tx: &mut Tx| tx.members().find(tenant_id, ada).await.unwrap().unwrap().last_seen_at;
    assert_eq!(find(&mut tx).await, None);
    for (at, after, recorded) in [(10, 0, 10), (20, 5, 10), (20, 15, 20)] {
        let at = NOW.plus_ms(at);
        tx.members().seen(tenant_id, ada, at, NOW.plus_ms(after)).await.unwrap();
        assert_eq!(find(&mut tx).await, Some(NOW.plus_ms(recorded)));
    }
}
