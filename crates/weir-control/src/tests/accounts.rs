//! A person's own sessions, the normal form of addresses, and the bounds of an account.

use serde_json::{Value, json};
use weir_domain::id::{SessionId, UserId};
use weir_store::Scope;

use super::support::{Answer, Member, PASSWORD, Plane};
use crate::{ControlSettings, Signup};

async fn log_in(plane: &Plane, email: &str) -> Answer {
    let body = json!({ "email": email, "password": PASSWORD });
    let ask = plane.ask("POST", "/v1/auth/login").header("user-agent", "other browser");
    ask.json(&body).send().await.expect(200)
}

async fn me(plane: &Plane, token: &str) -> u16 {
    plane.ask("GET", "/v1/me").bearer(token).send().await.status.as_u16()
}

async fn sessions(plane: &Plane, ada: &Member) -> Vec<Value> {
    let answer = plane.ask("GET", "/v1/me/sessions").bearer(&ada.token).send().await.expect(200);
    answer.body["data"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn people_see_their_sessions_and_end_one_of_them() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let other = log_in(&plane, "ada@example.com").await;
    let listed = sessions(&plane, &ada).await;
    assert_eq!(listed.len(), 2, "{listed:#?}");
    assert_eq!(
        (&listed[0]["user_agent"], &listed[0]["current"]),
        (&json!("other browser"), &json!(false))
    );
    assert_eq!((&listed[0]["network"], &listed[1]["current"]), (&json!("127.0.0.1"), &json!(true)));

    let path = format!("/v1/me/sessions/{}", listed[0]["id"].as_str().expect("an id"));
    plane.ask("DELETE", &path).bearer(&eve.token).send().await.problem(404, "not_found");
    plane.ask("DELETE", &path).bearer(&ada.token).send().await.expect(204);
    plane.ask("DELETE", &path).bearer(&ada.token).send().await.problem(404, "not_found");
    assert_eq!(me(&plane, &other.text("/access_token")).await, 401);
    assert_eq!(me(&plane, &ada.token).await, 200);
    let refresh = plane.ask("POST", "/v1/auth/refresh").header("cookie", &other.cookie());
    refresh.send().await.expect(401);
    let unknown = format!("/v1/me/sessions/{}", SessionId::from_u128(1));
    plane.ask("DELETE", &unknown).bearer(&ada.token).send().await.problem(404, "not_found");
}

#[tokio::test]
async fn signing_out_everywhere_ends_every_session() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let other = log_in(&plane, "ada@example.com").await.text("/access_token");
    plane.ask("DELETE", "/v1/me/sessions").bearer(&ada.token).send().await.expect(204);
    assert_eq!((me(&plane, &ada.token).await, me(&plane, &other).await), (401, 401));
}

#[tokio::test]
async fn signing_out_with_an_access_token_alone_ends_its_session() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let other = log_in(&plane, "ada@example.com").await;
    let token = other.text("/access_token");
    plane.ask("POST", "/v1/auth/logout").bearer(&token).send().await.expect(204);
    assert_eq!((me(&plane, &token).await, me(&plane, &ada.token).await), (401, 200));
    let refresh = plane.ask("POST", "/v1/auth/refresh").header("cookie", &other.cookie());
    refresh.send().await.expect(401);
    plane.ask("POST", "/v1/auth/logout").bearer("garbage").send().await.expect(204);
}

#[tokio::test]
async fn a_disabled_account_is_shut_out_until_it_is_enabled() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let disable = async |at| {
        let user: UserId = ada.user.parse().expect("an id");
        let scope = Scope::User(user);
        let mut tx = plane.database.owner.begin("tests.disable", scope).await.expect("begin");
        assert!(tx.users().set_disabled(user, at).await.expect("update"));
        tx.commit().await.expect("commit");
    };
    disable(Some(weir_domain::time::Timestamp::from_millis(plane.now_ms()))).await;
    assert_eq!(me(&plane, &ada.token).await, 401);
    let refresh = plane.ask("POST", "/v1/auth/refresh").header("cookie", &ada.cookie);
    refresh.send().await.expect(401);
    let body = json!({ "email": "ada@example.com", "password": PASSWORD });
    let refused = plane.ask("POST", "/v1/auth/login").json(&body).send().await;
    let refused = refused.problem(401, "unauthenticated");
    let nobody = json!({ "email": "nobody@example.com", "password": PASSWORD });
    let nobody = plane.ask("POST", "/v1/auth/login").json(&nobody).send().await;
    assert_eq!(refused.body["detail"], nobody.body["detail"]);
    disable(None).await;
    log_in(&plane, "ada@example.com").await;
}

#[tokio::test]
async fn addresses_that_look_alike_are_one_account() {
    let plane = Plane::start().await;
    let kate = plane.member("kate@example.com").await;
    for alike in ["KATE@example.com", "\u{212a}ate@example.com", "\u{ff4b}ate@example.com"] {
        let body = json!({ "email": alike, "password": PASSWORD, "tenant_name": "T" });
        let answer = plane.ask("POST", "/v1/auth/signup").json(&body).send().await;
        answer.problem(409, "name_taken");
        assert_eq!(log_in(&plane, alike).await.text("/user/id"), kate.user);
    }
    for hidden in ["kate\u{200b}@example.com", "\u{202e}kate@example.com", "<script>@example.com"] {
        let body = json!({ "email": hidden, "password": PASSWORD, "tenant_name": "T" });
        let answer = plane.ask("POST", "/v1/auth/signup").json(&body).send().await;
        assert_eq!(answer.refused_field(), "email", "{hidden:?}");
    }
    let body = json!({ "email": "a@example.com", "password": PASSWORD, "tenant_name": "\u{200b}" });
    let answer = plane.ask("POST", "/v1/auth/signup").json(&body).send().await;
    assert_eq!(answer.refused_field(), "tenant_name");
}

#[tokio::test]
async fn a_person_belongs_to_a_bounded_number_of_tenants() {
    let settings = ControlSettings {
        signup: Signup::Open,
        tenants_per_person_max: 2,
        ..ControlSettings::default()
    };
    let plane = Plane::with(settings).await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let create = |token: &str| {
        let body = json!({ "name": "Another" });
        plane.ask("POST", "/v1/tenants").bearer(token).json(&body).send()
    };
    create(&ada.token).await.expect(201);
    let answer = create(&ada.token).await.problem(409, "conflict");
    assert!(answer.text("/detail").contains("at most 2 tenants"));
    let body = json!({ "email": "ada@example.com", "role": "viewer" });
    let token = plane.by(&eve, "POST", "invitations").json(&body).send().await.text("/token");
    let body = json!({ "token": token });
    let accept = plane.ask("POST", "/v1/invitations/accept").bearer(&ada.token).json(&body);
    accept.send().await.problem(409, "conflict");
    let operator = plane.operator("op@example.com").await;
    for _ in 0..3 {
        create(&operator.token).await.expect(201);
    }
}

/// The members' list shows the last request in this tenant, and the operators' list the last one in any tenant.
#[tokio::test]
async fn people_are_seen_at_most_every_five_minutes_and_in_the_tenant_that_they_used() {
    const INTERVAL_MS: i64 = 5 * 60_000;
    let plane = Plane::start().await;
    let (ada, eve) = (plane.member("ada@example.com").await, plane.member("eve@example.com").await);
    let root = plane.operator("root@example.com").await;
    let (tenant, user) = (ada.tenant.parse().expect("an id"), ada.user.parse().expect("an id"));
    let recorded = async || {
        plane.background_idle().await;
        let scope = Scope::Tenant(tenant);
        let mut tx = plane.database.owner.begin("tests.seen", scope).await.expect("begin");
        let member = tx.members().find(tenant, user).await.expect("read").expect("a member");
        member.last_seen_at
    };
    let shown = async || {
        let members = plane.by(&ada, "GET", "members").send().await.expect(200);
        members.body["data"][0]["last_seen_at"].clone()
    };
    let account = async |search: &str| {
        let path = format!("/v1/operator/accounts?search={search}");
        let accounts = plane.ask("GET", &path).bearer(&root.token).send().await.expect(200);
        assert_eq!(accounts.body["data"].as_array().map(Vec::len), Some(1), "{:#}", accounts.body);
        accounts.body["data"][0].clone()
    };
    assert_eq!(account("eve@example.com").await["last_seen_at"], Value::Null);
    assert_eq!(recorded().await, None, "no request in the tenant");
    shown().await;
    let first = recorded().await;
    assert!(first.is_some());
    let text = shown().await;
    assert!(text.is_string());
    assert_eq!(account("ADA@").await["last_seen_at"], text);
    plane.advance(INTERVAL_MS - 10_000);
    shown().await;
    assert_eq!(recorded().await, first, "recorded a short time ago");
    plane.advance(20_000);
    assert_eq!(me(&plane, &ada.token).await, 200);
    assert_eq!(recorded().await, first, "the request was about no tenant");
    assert_ne!(account("ada@example.com").await["last_seen_at"], text);
    shown().await;
    assert_ne!(recorded().await, first);

    let ada_row = account("ada@example.com").await;
    assert_eq!(
        (&ada_row["tenants"], &ada_row["operator"], &ada_row["second_factor"]),
        (&json!(1), &json!(false), &json!(false))
    );
    plane.ask("GET", "/v1/operator/accounts").bearer(&eve.token).send().await.expect(404);
    let listed = plane.ask("GET", "/v1/operator/accounts?limit=2").bearer(&root.token);
    let listed = listed.send().await.expect(200);
    let path = format!("/v1/operator/accounts?limit=2&cursor={}", listed.text("/next_cursor"));
    let rest = plane.ask("GET", &path).bearer(&root.token).send().await.expect(200);
    assert_eq!(rest.text("/data/0/email"), "root@example.com");
    assert!(!rest.body.to_string().contains("argon2"));
}
