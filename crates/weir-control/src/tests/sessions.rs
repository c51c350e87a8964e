//! Sign-up, sign-in and sign-out.

use serde_json::json;
use weir_domain::id::UserId;
use weir_store::Scope;

use super::support::{PASSWORD, Plane};
use crate::ControlSettings;

#[tokio::test]
async fn owner_created_by_sign_up_can_sign_in_and_out() {
    let plane = Plane::start().await;
    let ada = plane.member("Ada@Example.com").await;
    let me = plane.ask("GET", "/v1/me").bearer(&ada.token).send().await.expect(200);
    assert_eq!(me.text("/user/email"), "ada@example.com");
    assert_eq!(me.text("/memberships/0/tenant_id"), ada.tenant);
    assert_eq!(me.text("/memberships/0/role"), "owner");

    let login = json!({ "email": "ada@EXAMPLE.com", "password": PASSWORD });
    let answer = plane.ask("POST", "/v1/auth/login").json(&login).send().await.expect(200);
    assert_eq!(answer.text("/token_type"), "Bearer");
    assert_eq!(answer.body["expires_in_s"], 600);
    let set = answer.headers["set-cookie"].to_str().expect("printable");
    assert!(set.starts_with("__Host-weir_refresh=session_"), "{set}");
    for flag in ["; Secure", "; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(set.contains(flag), "{set}");
    }
    let (token, cookie) = (answer.text("/access_token"), answer.cookie());
    assert_ne!(cookie, ada.cookie, "a session of its own");

    plane.ask("POST", "/v1/auth/logout").header("cookie", &cookie).send().await.expect(204);
    let after = plane.ask("GET", "/v1/me").bearer(&token).send().await;
    after.problem(401, "unauthenticated");
    let after = plane.ask("POST", "/v1/auth/refresh").header("cookie", &cookie).send().await;
    after.problem(401, "unauthenticated");
    plane.ask("GET", "/v1/me").bearer(&ada.token).send().await.expect(200);
}

#[tokio::test]
async fn unknown_address_and_wrong_password_look_the_same() {
    let plane = Plane::start().await;
    plane.member("ada@example.com").await;
    let mut seen = Vec::new();
    for (email, password) in [("ada@example.com", "wrong horse"), ("eve@example.com", PASSWORD)] {
        let body = json!({ "email": email, "password": password });
        let answer = plane.ask("POST", "/v1/auth/login").json(&body).send().await;
        let mut answer = answer.problem(401, "unauthenticated");
        answer.body["request_id"].take();
        answer.headers.remove("x-request-id");
        seen.push((answer.body, answer.headers));
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn guessing_is_slowed_down_by_account_and_by_address() {
    let plane = Plane::start().await;
    plane.member("ada@example.com").await;
    let wrong = json!({ "email": "ada@example.com", "password": "wrong horse" });
    for peer in 0..10 {
        let ask =
            plane.ask("POST", "/v1/auth/login").peer(peer).header("x-forwarded-for", "1.2.3.4");
        ask.json(&wrong).send().await.expect(401);
    }
    let right = json!({ "email": "ada@example.com", "password": PASSWORD });
    let answer = plane.ask("POST", "/v1/auth/login").peer(77).json(&right).send().await;
    let answer = answer.problem(429, "too_many_requests");
    assert_eq!(answer.headers["retry-after"], "60");
    plane.advance(60_000);
    plane.ask("POST", "/v1/auth/login").peer(77).json(&right).send().await.expect(200);
}

#[tokio::test]
async fn bad_sign_ups_are_refused_by_field() {
    let plane = Plane::start().await;
    plane.member("ada@example.com").await;
    let fine = json!({ "email": "eve@example.com", "password": PASSWORD, "tenant_name": "Eve" });
    let with = |name: &str, value: &str| {
        let mut body = fine.clone();
        body[name] = value.into();
        body
    };
    for (body, field) in [
        (with("email", "eve"), "email"),
        (with("password", "short"), "password"),
        (with("password", "password123"), "password"),
        (with("tenant_name", ""), "tenant_name"),
        (with("operator", "true"), "operator"),
    ] {
        let answer = plane.ask("POST", "/v1/auth/signup").json(&body).send().await;
        assert_eq!(answer.refused_field(), field);
    }
    let taken = with("email", "ADA@example.com");
    let answer = plane.ask("POST", "/v1/auth/signup").json(&taken).send().await;
    answer.problem(409, "name_taken");
}

#[tokio::test]
async fn sign_up_is_closed_unless_opened() {
    let plane = Plane::with(ControlSettings::default()).await;
    let body = json!({ "email": "a@example.com", "password": PASSWORD, "tenant_name": "A" });
    let answer = plane.ask("POST", "/v1/auth/signup").json(&body).send().await;
    answer.problem(403, "forbidden");
}

#[tokio::test]
async fn refresh_token_is_good_once_with_ten_seconds_of_grace() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let refresh =
        |cookie: String| plane.ask("POST", "/v1/auth/refresh").header("cookie", &cookie).send();
    let first = refresh(ada.cookie.clone()).await.expect(200);
    let second_cookie = first.cookie();
    plane.advance(9_000);
    let late_tab = refresh(ada.cookie.clone()).await.expect(200);
    assert!(!late_tab.headers.contains_key("set-cookie"), "the newer cookie stays");
    plane.ask("GET", "/v1/me").bearer(&late_tab.text("/access_token")).send().await.expect(200);
    plane.advance(2_000);
    let reused = refresh(ada.cookie).await.problem(401, "unauthenticated");
    assert!(reused.headers["set-cookie"].to_str().expect("printable").contains("Max-Age=0"));
    refresh(second_cookie).await.problem(401, "unauthenticated");
    let token = first.text("/access_token");
    plane.ask("GET", "/v1/me").bearer(&token).send().await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn refreshing_at_once_logs_nobody_out() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let all =
        (0..20).map(|_| plane.ask("POST", "/v1/auth/refresh").header("cookie", &ada.cookie).send());
    let answers = futures_util::future::join_all(all).await;
    let rotated = answers.iter().filter(|answer| answer.headers.contains_key("set-cookie")).count();
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert_eq!(rotated, 1);
}

#[tokio::test]
async fn access_token_and_idle_session_expire() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    plane.advance(610_000);
    plane.ask("GET", "/v1/me").bearer(&ada.token).send().await.problem(401, "unauthenticated");
    plane.advance(ControlSettings::default().session_idle_ms);
    let answer = plane.ask("POST", "/v1/auth/refresh").header("cookie", &ada.cookie).send().await;
    answer.problem(401, "unauthenticated");
}

#[tokio::test]
async fn new_password_ends_all_other_sessions() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let login = json!({ "email": "ada@example.com", "password": PASSWORD });
    let other = plane.ask("POST", "/v1/auth/login").json(&login).send().await.expect(200);
    let change = |current: &str, new: &str| {
        let body = json!({ "current_password": current, "new_password": new });
        plane.ask("POST", "/v1/me/password").bearer(&ada.token).json(&body).send()
    };
    assert_eq!(change("wrong horse", "battery staple").await.refused_field(), "current_password");
    assert_eq!(change(PASSWORD, "short").await.refused_field(), "new_password");
    change(PASSWORD, "battery staple").await.expect(204);
    let other = plane.ask("GET", "/v1/me").bearer(&other.text("/access_token")).send().await;
    other.problem(401, "unauthenticated");
    plane.ask("GET", "/v1/me").bearer(&ada.token).send().await.expect(200);
    plane.ask("POST", "/v1/auth/login").json(&login).send().await.expect(401);
    let login = json!({ "email": "ada@example.com", "password": "battery staple" });
    plane.ask("POST", "/v1/auth/login").json(&login).send().await.expect(200);
}

/// The password of the account is read before it is verified, which takes a while.
#[tokio::test]
async fn sign_in_during_a_change_of_the_password_begins_no_session() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let user: UserId = ada.user.parse().expect("an id");
    let begun = plane.database.app.begin("tests.change", Scope::User(user)).await;
    let mut change = begun.expect("a transaction");
    change.users().lock(user).await.expect("the account is there");
    assert!(change.users().set_password(user, "another").await.expect("it is written"));
    let login = json!({ "email": "ada@example.com", "password": PASSWORD });
    let signing_in = plane.ask("POST", "/v1/auth/login").json(&login).send();
    let changing = async {
        plane.until_a_lock_is_awaited().await;
        change.commit().await.expect("it is committed");
    };
    let (answer, ()) = tokio::join!(signing_in, changing);
    answer.problem(401, "unauthenticated");
}

#[tokio::test]
async fn people_can_be_renamed() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let rename = |name: &str| {
        let body = json!({ "name": name });
        plane.ask("PATCH", "/v1/me").bearer(&ada.token).json(&body).send()
    };
    assert_eq!(rename("Ada <script>").await.expect(200).text("/name"), "Ada <script>");
    assert_eq!(rename(" ").await.refused_field(), "name");
}

#[tokio::test]
async fn requests_from_other_sites_are_refused() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let cases = [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ];
    for (name, value) in cases {
        let ask = plane.ask("POST", "/v1/auth/refresh").header("host", "weir.example");
        let answer = ask.header("cookie", &ada.cookie).header(name, value).send().await;
        answer.problem(403, "forbidden");
    }
    let ask = plane.ask("POST", "/v1/auth/refresh").header("host", "weir.example");
    let ask = ask.header("cookie", &ada.cookie).header("sec-fetch-site", "same-origin");
    ask.send().await.expect(200);
    let form = plane.ask("POST", "/v1/auth/login").header("content-type", "text/plain");
    form.send().await.problem(415, "unsupported_media_type");
}
