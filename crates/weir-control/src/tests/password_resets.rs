//! Password resets by e-mail: single use, expiry, budgets and equal answers. Also the messages of invitations.

use std::time::Duration;

use serde_json::json;
use weir_mail::{Mail, Outbox};

use super::support::{Answer, PASSWORD, Plane};

const HOUR_MS: i64 = 3_600_000;

async fn request(plane: &Plane, email: &str, peer: u8) -> Answer {
    let body = json!({ "email": email });
    plane.ask("POST", "/v1/auth/password-reset").peer(peer).json(&body).send().await
}

async fn confirm(plane: &Plane, token: &str, password: &str) -> Answer {
    let body = json!({ "token": token, "new_password": password });
    plane.ask("POST", "/v1/auth/password-reset/confirm").json(&body).send().await
}

async fn next(outbox: &mut Outbox) -> Mail {
    let waited = tokio::time::timeout(Duration::from_secs(20), outbox.next()).await;
    waited.expect("a message is queued").expect("the mailer exists")
}

/// The token of the link in a message.
fn token(mail: &Mail) -> String {
    let link = mail.text.lines().find_map(|line| line.strip_prefix("https://limits.test/reset#"));
    link.expect("a link").to_owned()
}

#[tokio::test]
async fn a_mailed_token_sets_one_password_within_an_hour() {
    let (plane, mut outbox) = Plane::mailing().await;
    let ada = plane.member("ada@example.com").await;
    request(&plane, "Ada@example.com", 1).await.expect(202);
    let first = next(&mut outbox).await;
    assert_eq!(
        (first.to.as_str(), first.at.as_millis() / 60_000),
        ("ada@example.com", plane.now_ms() / 60_000)
    );
    request(&plane, "ada@example.com", 2).await.expect(202);
    let second = next(&mut outbox).await;
    assert_ne!(first.id, second.id);
    confirm(&plane, &token(&first), "new horse staple").await.problem(404, "not_found");
    assert_eq!(confirm(&plane, &token(&second), "password").await.refused_field(), "new_password");
    confirm(&plane, &token(&second), "new horse staple").await.expect(204);
    confirm(&plane, &token(&second), "new horse staple").await.problem(404, "not_found");
    plane.ask("GET", "/v1/me").bearer(&ada.token).send().await.expect(401);

    request(&plane, "ada@example.com", 3).await.expect(202);
    let late = next(&mut outbox).await;
    plane.advance(HOUR_MS);
    confirm(&plane, &token(&late), "other horse staple").await.problem(404, "not_found");
    let body = json!({ "email": "ada@example.com", "password": "new horse staple" });
    plane.ask("POST", "/v1/auth/login").json(&body).send().await.expect(200);
}

#[tokio::test]
async fn a_mailed_token_ends_with_a_change_of_the_password() {
    let (plane, mut outbox) = Plane::mailing().await;
    let ada = plane.member("ada@example.com").await;
    request(&plane, "ada@example.com", 1).await.expect(202);
    let mail = next(&mut outbox).await;
    let body = json!({ "current_password": PASSWORD, "new_password": "new horse staple" });
    plane.ask("POST", "/v1/me/password").bearer(&ada.token).json(&body).send().await.expect(204);
    confirm(&plane, &token(&mail), "other horse staple").await.problem(404, "not_found");
    let body = json!({ "email": "ada@example.com", "password": "new horse staple" });
    plane.ask("POST", "/v1/auth/login").json(&body).send().await.expect(200);
}

#[tokio::test]
async fn every_address_gets_the_same_answer_and_only_accounts_get_mail() {
    let (plane, mut outbox) = Plane::mailing().await;
    plane.member("ada@example.com").await;
    let mut answers = Vec::new();
    for email in ["nobody@example.com", "ada@example.com"] {
        let mut answer = request(&plane, email, 1).await.expect(202);
        answer.headers.remove("x-request-id");
        answers.push((answer.body, answer.headers));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(next(&mut outbox).await.to, "ada@example.com");
    plane.background_idle().await;
    assert_eq!(outbox.waiting(), 0);
    assert_eq!(request(&plane, "not an address", 1).await.refused_field(), "email");

    let silent = Plane::start().await;
    silent.member("ada@example.com").await;
    let answer = request(&silent, "ada@example.com", 1).await.expect(202);
    assert_eq!(answer.body, answers[0].0);
}

#[tokio::test]
async fn requests_are_bounded_by_network_and_messages_by_address() {
    let (plane, mut outbox) = Plane::mailing().await;
    plane.member("ada@example.com").await;
    for peer in 1..=7 {
        request(&plane, "ada@example.com", peer).await.expect(202);
    }
    plane.background_idle().await;
    assert_eq!(outbox.waiting(), 5);
    for _ in 0..5 {
        next(&mut outbox).await;
    }
    for _ in 0..10 {
        request(&plane, "nobody@example.com", 99).await.expect(202);
    }
    let refused = request(&plane, "ada@example.com", 99).await.problem(429, "too_many_requests");
    assert!(refused.headers.contains_key("retry-after"));
    // Requests do not spend the budgets of sign-ins.
    let body = json!({ "email": "ada@example.com", "password": PASSWORD });
    plane.ask("POST", "/v1/auth/login").peer(99).json(&body).send().await.expect(200);
    plane.advance(HOUR_MS);
    request(&plane, "ada@example.com", 99).await.expect(202);
    next(&mut outbox).await;
}

#[tokio::test]
async fn an_invitation_is_mailed_with_the_token_of_the_answer() {
    let (plane, mut outbox) = Plane::mailing().await;
    let ada = plane.member("ada@example.com").await;
    let invite = async || {
        let body = json!({ "email": "Eve@example.com", "role": "admin" });
        plane.by(&ada, "POST", "invitations").json(&body).send().await.expect(201)
    };
    for _ in 0..5 {
        let answer = invite().await;
        assert_eq!(answer.body["mailed"], true);
        let mail = next(&mut outbox).await;
        assert_eq!(mail.to, "eve@example.com");
        assert_eq!(mail.subject, "Invitation to \"Acme\" on Weir");
        let link = format!("https://limits.test/accept#{}", answer.text("/token"));
        assert!(mail.text.lines().any(|line| line == link), "{}", mail.text);
        let begins = "On Weir, ada@example.com invited eve@example.com to join the tenant \"Acme\"";
        assert!(mail.text.starts_with(begins), "{}", mail.text);
        assert!(mail.text.contains("as an admin."), "{}", mail.text);
    }
    assert_eq!(invite().await.body["mailed"], false, "the budget of the address is spent");
    assert_eq!(outbox.waiting(), 0);
}

#[tokio::test]
async fn names_that_strangers_choose_are_no_links_in_messages() {
    let (plane, mut outbox) = Plane::mailing().await;
    let ada = plane.member("ada@example.com").await;
    let name = "Your account is locked: https://evil.example";
    let renamed = plane.by(&ada, "PATCH", "").json(&json!({ "name": name })).send().await;
    renamed.expect(200);
    let key = json!({ "name": "https://evil.example", "scopes": ["admin"] });
    let key = plane.by(&ada, "POST", "keys").json(&key).send().await.expect(201).text("/secret");
    let path = format!("/v1/tenants/{}/invitations", ada.tenant);
    let body = json!({ "email": "eve@example.com", "role": "viewer" });
    plane.ask("POST", &path).bearer(&key).json(&body).send().await.expect(201);
    let mail = next(&mut outbox).await;
    assert!(mail.subject.starts_with("Invitation to \"Your account"), "{}", mail.subject);
    for text in [&mail.subject, &mail.text] {
        assert!(!text.contains("evil.example") && !text.contains("https://evil"), "{text}");
    }
}
