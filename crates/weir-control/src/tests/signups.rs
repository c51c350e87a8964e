//! Sign-ups that are confirmed: one answer for every address, and a token that makes one account.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_domain::time::Timestamp;
use weir_store::Scope;

use super::support::{Answer, PASSWORD, Plane};
use crate::{ControlSettings, Signup, signup_digest};

const KNOWN: &str = "ada@example.com";
const TOKEN: &str = "signup_of-the-test";

/// A plane that confirms sign-ups, with an account for [`KNOWN`].
async fn confirming() -> Plane {
    let open = Plane::start().await;
    open.member(KNOWN).await;
    open.also(ControlSettings { signup: Signup::Confirmed, ..ControlSettings::default() })
}

async fn sign_up(plane: &Plane, email: &str) -> Answer {
    let body = json!({ "email": email, "tenant_name": "Acme" });
    plane.ask("POST", "/v1/auth/signup").json(&body).send().await
}

/// Issues [`TOKEN`] for the address, as `weir user confirm` does. Returns whether a sign-up was pending.
async fn issue(plane: &Plane, email: &str) -> bool {
    let now = Timestamp::from_millis(plane.now_ms());
    let mut tx = plane.database.owner.begin("tests", Scope::Service).await.expect("begin");
    let digest = signup_digest(TOKEN);
    let row = tx.signups().issue(email, &digest, now, now.plus_ms(60_000)).await.expect("issue");
    tx.commit().await.expect("commit");
    row.is_some()
}

async fn confirm(plane: &Plane, token: &str, password: &str) -> Answer {
    let body = json!({ "token": token, "password": password });
    plane.ask("POST", "/v1/auth/signup/confirm").json(&body).send().await
}

#[tokio::test]
async fn a_confirmed_sign_up_answers_known_and_unknown_addresses_alike() {
    let plane = confirming().await;
    let mut seen: Vec<(Value, Vec<String>)> = Vec::new();
    for email in [KNOWN, "eve@example.com"] {
        let mut answer = sign_up(&plane, email).await.expect(202);
        assert_eq!(answer.text("/email"), email);
        answer.body["email"].take();
        let names = answer.headers.keys().map(ToString::to_string).collect();
        seen.push((answer.body, names));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0].0["expires_in_s"], 86_400);
    let options = plane.ask("GET", "/v1/auth/options").send().await.expect(200);
    assert_eq!(
        options.body,
        json!({ "signup_open": true, "signup_confirmed": true, "password_reset": false, "openid_connect": null })
    );
}

#[tokio::test]
async fn a_confirmed_sign_up_takes_as_long_for_known_and_unknown_addresses() {
    const PAIRS: usize = 150;
    let plane = confirming().await;
    let mut took = [Vec::with_capacity(PAIRS), Vec::with_capacity(PAIRS)];
    for pair in 0..PAIRS {
        // Both requests write a new row, so earlier requests affect neither.
        let unknown = format!("eve-{pair}@example.com");
        let mut order = [(0, KNOWN), (1, unknown.as_str())];
        if pair % 2 == 1 {
            order.reverse();
        }
        for (of, email) in order {
            plane.advance(60_000);
            let started = Instant::now();
            sign_up(&plane, email).await.expect(202);
            took[of].push(started.elapsed());
        }
    }
    let [known, unknown] = took.map(|mut times| {
        times.sort_unstable();
        times[PAIRS / 2]
    });
    let bound = Duration::from_millis(2).max(known.max(unknown) / 20);
    assert!(known.abs_diff(unknown) <= bound, "{known:?} known, {unknown:?} unknown");
}

#[tokio::test]
async fn the_token_of_a_sign_up_makes_one_account_with_its_tenant() {
    let plane = confirming().await;
    sign_up(&plane, "Eve@Example.com").await.expect(202);
    confirm(&plane, TOKEN, PASSWORD).await.problem(404, "not_found");
    assert!(issue(&plane, "eve@example.com").await);
    assert_eq!(confirm(&plane, TOKEN, "short").await.refused_field(), "password");
    let made = confirm(&plane, TOKEN, PASSWORD).await.expect(201);
    assert_eq!(made.text("/user/email"), "eve@example.com");
    assert_eq!(made.text("/tenant/name"), "Acme");
    let me = plane.ask("GET", "/v1/me").bearer(&made.text("/access_token")).send().await;
    assert_eq!(me.expect(200).text("/memberships/0/role"), "owner");
    confirm(&plane, TOKEN, PASSWORD).await.problem(404, "not_found");
    let login = json!({ "email": "eve@example.com", "password": PASSWORD });
    plane.ask("POST", "/v1/auth/login").json(&login).send().await.expect(200);
}

#[tokio::test]
async fn a_token_presented_twice_at_once_makes_one_account() {
    let plane = confirming().await;
    sign_up(&plane, "eve@example.com").await.expect(202);
    assert!(issue(&plane, "eve@example.com").await);
    let both = tokio::join!(confirm(&plane, TOKEN, PASSWORD), confirm(&plane, TOKEN, PASSWORD));
    let mut statuses = [both.0.status.as_u16(), both.1.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses[0], 201);
    assert!([404, 409].contains(&statuses[1]), "{statuses:?}");
}

#[tokio::test]
async fn a_sign_up_and_its_token_expire() {
    let plane = confirming().await;
    sign_up(&plane, "eve@example.com").await.expect(202);
    plane.advance(86_400_000);
    assert!(!issue(&plane, "eve@example.com").await);
    sign_up(&plane, "eve@example.com").await.expect(202);
    assert!(issue(&plane, "eve@example.com").await);
    plane.advance(60_000);
    confirm(&plane, TOKEN, PASSWORD).await.problem(404, "not_found");
}

#[tokio::test]
async fn strangers_cannot_replace_a_sign_up_after_its_token_was_issued() {
    let plane = confirming().await;
    sign_up(&plane, "eve@example.com").await.expect(202);
    assert!(issue(&plane, "eve@example.com").await);
    let body = json!({ "email": "eve@example.com", "tenant_name": "Mallory" });
    plane.ask("POST", "/v1/auth/signup").json(&body).send().await.expect(202);
    assert_eq!(confirm(&plane, TOKEN, PASSWORD).await.expect(201).text("/tenant/name"), "Acme");
}

#[tokio::test]
async fn only_the_holder_of_a_token_learns_that_the_address_has_an_account() {
    let plane = confirming().await;
    sign_up(&plane, KNOWN).await.expect(202);
    assert!(issue(&plane, KNOWN).await);
    confirm(&plane, TOKEN, PASSWORD).await.problem(409, "name_taken");
}

#[tokio::test]
async fn requests_for_sign_ups_are_bounded_by_network() {
    let plane = confirming().await;
    for number in 0..10 {
        sign_up(&plane, &format!("eve-{number}@example.com")).await.expect(202);
    }
    sign_up(&plane, "eve@example.com").await.problem(429, "too_many_requests");
    sign_up(&plane, KNOWN).await.problem(429, "too_many_requests");
    let login = json!({ "email": KNOWN, "password": PASSWORD });
    plane.ask("POST", "/v1/auth/login").json(&login).send().await.expect(200);
}
