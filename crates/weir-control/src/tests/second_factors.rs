//! The second factor at sign-in, and password resets.

use serde_json::{Value, json};
use totp_rs::{Builder, Secret};
use weir_domain::id::UserId;
use weir_store::Scope;

use super::support::{Answer, Member, PASSWORD, Plane};

const STEP_MS: i64 = 30_000;

async fn log_in(plane: &Plane, code: Option<&str>) -> Answer {
    let mut body = json!({ "email": "ada@example.com", "password": PASSWORD });
    if let Some(code) = code {
        body["code"] = code.into();
    }
    plane.ask("POST", "/v1/auth/login").json(&body).send().await
}

async fn me(plane: &Plane, method: &str, path: &str, token: &str, body: Value) -> Answer {
    let path = format!("/v1/me/second-factor{path}");
    plane.ask(method, &path).bearer(token).json(&body).send().await
}

/// The present code of a secret.
fn code(plane: &Plane, secret: &str) -> String {
    let secret = Secret::try_from_base32(secret).expect("Base32");
    let totp = Builder::new().with_secret(secret).build().expect("160 bits");
    totp.generate(plane.now_ms().unsigned_abs() / 1000).to_string()
}

/// Enables the second factor of a person. Returns the secret and the recovery codes.
async fn enable(plane: &Plane, ada: &Member) -> (String, Vec<String>) {
    let password = json!({ "current_password": PASSWORD });
    let begun = me(plane, "POST", "", &ada.token, password).await.expect(201);
    let secret = begun.text("/secret");
    assert!(
        begun.text("/url").contains(&format!("secret={secret}&issuer=Weir")),
        "{:#}",
        begun.body
    );
    let present = json!({ "code": code(plane, &secret) });
    let confirmed = me(plane, "POST", "/confirm", &ada.token, present).await.expect(200);
    let codes = confirmed.body["recovery_codes"].as_array().expect("a list").iter();
    (secret, codes.map(|code| code.as_str().expect("a text").to_owned()).collect())
}

/// Otherwise a sign-in that has not seen the factor could begin a session after the others were ended.
#[tokio::test]
async fn confirmation_waits_for_a_sign_in_that_begins_a_session() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let user: UserId = ada.user.parse().expect("an id");
    let begun = plane.database.app.begin("tests.sign_in", Scope::User(user)).await;
    let mut sign_in = begun.expect("a transaction");
    sign_in.users().lock(user).await.expect("the account is there");
    let ending = async {
        plane.until_a_lock_is_awaited().await;
        sign_in.commit().await.expect("it is committed");
    };
    let ((_, codes), ()) = tokio::join!(enable(&plane, &ada), ending);
    assert!(!codes.is_empty());
}

#[tokio::test]
async fn sign_in_requires_a_code_once_the_second_factor_is_confirmed() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let other = log_in(&plane, None).await.expect(200).text("/access_token");
    let wrong = json!({ "current_password": "wrong horse" });
    let refused = me(&plane, "POST", "", &ada.token, wrong).await;
    assert_eq!(refused.refused_field(), "current_password");
    let password = json!({ "current_password": PASSWORD });
    me(&plane, "POST", "", &ada.token, password.clone()).await.expect(201);
    log_in(&plane, None).await.expect(200);
    let refused = me(&plane, "POST", "/confirm", &ada.token, json!({ "code": "000000" })).await;
    assert_eq!(refused.refused_field(), "code");

    let (secret, codes) = enable(&plane, &ada).await;
    assert_eq!(codes.len(), 10);
    plane.ask("GET", "/v1/me").bearer(&other).send().await.expect(401);
    plane.ask("GET", "/v1/me").bearer(&ada.token).send().await.expect(200);
    me(&plane, "POST", "", &ada.token, password).await.problem(409, "conflict");
    let shown =
        plane.ask("GET", "/v1/me/second-factor").bearer(&ada.token).send().await.expect(200);
    assert_eq!((&shown.body["enabled"], &shown.body["recovery_codes"]), (&json!(true), &json!(10)));

    log_in(&plane, None).await.problem(401, "second_factor");
    log_in(&plane, Some("000000")).await.problem(401, "second_factor");
    // The code that confirmed the secret was used.
    log_in(&plane, Some(&code(&plane, &secret))).await.problem(401, "second_factor");
    plane.advance(STEP_MS);
    let present = code(&plane, &secret);
    log_in(&plane, Some(&present)).await.expect(200);
    log_in(&plane, Some(&present)).await.problem(401, "second_factor");
    plane.advance(-STEP_MS);
    log_in(&plane, Some(&code(&plane, &secret))).await.problem(401, "second_factor");
    let body = json!({ "email": "ada@example.com", "password": "wrong horse", "code": present });
    let answer = plane.ask("POST", "/v1/auth/login").json(&body).send().await;
    answer.problem(401, "unauthenticated");
}

#[tokio::test]
async fn one_code_signs_in_one_of_two_requests_at_once() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let (secret, _) = enable(&plane, &ada).await;
    plane.advance(STEP_MS);
    let present = code(&plane, &secret);
    let both =
        futures_util::future::join(log_in(&plane, Some(&present)), log_in(&plane, Some(&present)));
    let (one, other) = both.await;
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401]);
}

#[tokio::test]
async fn a_recovery_code_works_once_and_new_ones_replace_the_rest() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let (secret, codes) = enable(&plane, &ada).await;
    log_in(&plane, Some(&codes[0].to_uppercase().replace('-', " "))).await.expect(200);
    log_in(&plane, Some(&codes[0])).await.problem(401, "second_factor");
    let mut tx = plane.database.owner.begin("tests", Scope::Service).await.expect("begin");
    let user_id = ada.user.parse().expect("an id");
    let stored = tx.second_factors().find(user_id).await.expect("read").expect("there");
    assert_eq!(stored.recovery_codes, 9);
    assert!(!stored.secret.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()));
    drop(tx);
    plane.advance(STEP_MS);
    let present = json!({ "code": code(&plane, &secret) });
    let renewed = me(&plane, "POST", "/recovery-codes", &ada.token, present).await.expect(200);
    log_in(&plane, Some(&codes[1])).await.problem(401, "second_factor");
    log_in(&plane, Some(&renewed.text("/recovery_codes/0"))).await.expect(200);

    plane.advance(STEP_MS);
    let remove = |code: &str| json!({ "current_password": PASSWORD, "code": code });
    me(&plane, "DELETE", "", &ada.token, remove("000000")).await.problem(401, "second_factor");
    me(&plane, "DELETE", "", &ada.token, remove(&code(&plane, &secret))).await.expect(204);
    log_in(&plane, None).await.expect(200);
    let log = plane.ask("GET", "/v1/me/audit").bearer(&ada.token).send().await.expect(200);
    let actions = log.body["data"].as_array().expect("a list").iter();
    let actions: Vec<_> = actions.filter_map(|entry| entry["action"].as_str()).collect();
    for action in ["begin", "enable", "remove"] {
        assert!(actions.contains(&format!("user.second_factor_{action}").as_str()), "{actions:?}");
    }
    assert!(actions.contains(&"user.recovery_codes") && actions.contains(&"user.login_refused"));
}

#[tokio::test]
async fn guessing_of_codes_is_bounded_for_an_hour() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let (secret, codes) = enable(&plane, &ada).await;
    for _ in 0..10 {
        log_in(&plane, Some("000000")).await.problem(401, "second_factor");
        plane.advance(1_000);
    }
    plane.advance(120_000);
    log_in(&plane, Some(&code(&plane, &secret))).await.problem(429, "too_many_requests");
    log_in(&plane, Some(&codes[0])).await.problem(429, "too_many_requests");
    log_in(&plane, None).await.problem(401, "second_factor");
    plane.advance(3_600_000);
    log_in(&plane, Some(&code(&plane, &secret))).await.expect(200);
}

#[tokio::test]
async fn an_operator_issues_a_password_reset_that_works_once() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let (secret, _) = enable(&plane, &ada).await;
    let root = plane.operator("root@example.com").await;
    let issue = async |email: &str| {
        let body = json!({ "email": email });
        plane
            .ask("POST", "/v1/operator/password-resets")
            .bearer(&root.token)
            .json(&body)
            .send()
            .await
    };
    issue("nobody@example.com").await.problem(404, "not_found");
    issue("root@example.com").await.problem(404, "not_found");
    let replaced = issue("ada@example.com").await.expect(201).text("/token");
    let token = issue("Ada@Example.com").await.expect(201).text("/token");
    let reset = async |token: &str, password: &str| {
        let body = json!({ "token": token, "new_password": password });
        plane.ask("POST", "/v1/auth/password-reset/confirm").json(&body).send().await
    };
    reset(&replaced, "new horse staple").await.problem(404, "not_found");
    assert_eq!(reset(&token, "password").await.refused_field(), "new_password");
    reset(&token, "new horse staple").await.expect(204);
    reset(&token, "new horse staple").await.problem(404, "not_found");
    plane.ask("GET", "/v1/me").bearer(&ada.token).send().await.expect(401);
    log_in(&plane, None).await.problem(401, "unauthenticated");
    let body = json!({ "email": "ada@example.com", "password": "new horse staple" });
    let answer = plane.ask("POST", "/v1/auth/login").json(&body).send().await;
    answer.problem(401, "second_factor");
    plane.advance(STEP_MS);
    let mut body = body;
    body["code"] = code(&plane, &secret).into();
    let signed_in = plane.ask("POST", "/v1/auth/login").json(&body).send().await.expect(200);
    let token = signed_in.text("/access_token");
    let log = plane.ask("GET", "/v1/me/audit").bearer(&token).send().await.expect(200);
    let actions = log.body["data"].as_array().expect("a list").iter();
    let actions: Vec<_> = actions.filter_map(|entry| entry["action"].as_str()).collect();
    assert!(
        actions.contains(&"user.password_reset_issue") && actions.contains(&"user.password_reset")
    );

    let late = issue("ada@example.com").await.expect(201).text("/token");
    plane.advance(3_600_000);
    reset(&late, "other horse staple").await.problem(404, "not_found");
}
