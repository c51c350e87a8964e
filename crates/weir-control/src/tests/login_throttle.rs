//! Guesses are limited, and no guess of other clients refuses a right password of a familiar account.

use serde_json::json;
use weir_domain::time::Timestamp;

use super::support::{Answer, PASSWORD, Plane};
use crate::ControlSettings;

/// A sign-in from the address `10.0.0.{peer}`.
async fn log_in(plane: &Plane, peer: u8, email: &str, password: &str, cookie: &str) -> Answer {
    let body = json!({ "email": email, "password": password });
    let ask = plane.ask("POST", "/v1/auth/login").peer(peer);
    let ask = if cookie.is_empty() { ask } else { ask.header("cookie", cookie) };
    ask.json(&body).send().await
}

/// Ten wrong passwords for accounts that do not exist, from one address.
async fn junk(plane: &Plane, peer: u8) {
    for account in 0..10 {
        let email = format!("nobody-{account}@example.com");
        log_in(plane, peer, &email, "wrong horse", "").await.expect(401);
    }
}

/// The device cookie of an answer, as a browser sends it back.
fn device(answer: &Answer) -> String {
    let cookies =
        answer.headers.get_all("set-cookie").iter().filter_map(|value| value.to_str().ok());
    let device = cookies.into_iter().find(|cookie| cookie.starts_with("__Host-weir_device="));
    let device = device.expect("a device cookie");
    for flag in ["; Secure", "; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(device.contains(flag), "{device}");
    }
    device.split(';').next().expect("never empty").to_owned()
}

#[tokio::test]
async fn guesses_from_one_address_refuse_strangers_and_no_familiar_account() {
    let plane = Plane::start().await;
    plane.member("ada@example.com").await;
    // All clients use one proxy, whose address is the only visible one.
    log_in(&plane, 1, "ada@example.com", PASSWORD, "").await.expect(200);
    junk(&plane, 1).await;
    let stranger = log_in(&plane, 1, "eve@example.com", PASSWORD, "").await;
    assert_eq!(stranger.problem(429, "too_many_requests").headers["retry-after"], "60");
    log_in(&plane, 1, "ada@example.com", PASSWORD, "").await.expect(200);

    let restarted = plane.also(ControlSettings::default());
    log_in(&restarted, 1, "eve@example.com", PASSWORD, "").await.expect(429);
    log_in(&restarted, 1, "ada@example.com", PASSWORD, "").await.expect(200);
}

#[tokio::test]
async fn attempts_of_others_never_refuse_a_familiar_device() {
    let plane = Plane::start().await;
    plane.member("ada@example.com").await;
    let signed_in = log_in(&plane, 1, "ada@example.com", PASSWORD, "").await.expect(200);
    let cookie = device(&signed_in);
    for peer in 10..20 {
        log_in(&plane, peer, "ada@example.com", "wrong horse", "").await.expect(401);
    }
    junk(&plane, 30).await;
    log_in(&plane, 30, "ada@example.com", PASSWORD, "").await.expect(429);
    log_in(&plane, 30, "ada@example.com", PASSWORD, &cookie).await.expect(200);
    let replica = plane.also(ControlSettings::default());
    log_in(&replica, 30, "ada@example.com", PASSWORD, &cookie).await.expect(200);

    // The device has a budget too, and is familiar only to its own account.
    for _ in 0..10 {
        log_in(&plane, 30, "ada@example.com", "wrong horse", &cookie).await.expect(401);
    }
    log_in(&replica, 30, "ada@example.com", PASSWORD, &cookie).await.expect(429);
    log_in(&plane, 30, "eve@example.com", "wrong horse", &cookie).await.expect(429);
}

#[tokio::test]
async fn replicas_share_one_budget() {
    let plane = Plane::start().await;
    plane.member("ada@example.com").await;
    let replica = plane.also(ControlSettings::default());
    for peer in 0..5 {
        log_in(&plane, peer, "ada@example.com", "wrong horse", "").await.expect(401);
        log_in(&replica, 100 + peer, "ada@example.com", "wrong horse", "").await.expect(401);
    }
    for one in [&plane, &replica] {
        log_in(one, 200, "ada@example.com", PASSWORD, "").await.expect(429);
    }
}

#[tokio::test]
async fn others_guesses_do_not_stop_a_signed_in_person_from_changing_the_password() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    for _ in 0..10 {
        log_in(&plane, 9, "ada@example.com", "wrong horse", "").await.expect(401);
    }
    let body = json!({ "current_password": PASSWORD, "new_password": "battery staple" });
    let ask = plane.ask("POST", "/v1/me/password").peer(9).bearer(&ada.token);
    ask.json(&body).send().await.expect(204);
}

#[tokio::test]
async fn unknown_invitation_tokens_are_bounded_by_network() {
    let plane = Plane::start().await;
    let preview = |peer: u8| {
        let body = json!({ "token": "invite_of-nobody" });
        plane.ask("POST", "/v1/invitations/preview").peer(peer).json(&body).send()
    };
    for _ in 0..60 {
        preview(1).await.expect(404);
    }
    preview(1).await.problem(429, "too_many_requests");
    preview(2).await.expect(404);
}

#[tokio::test]
async fn made_up_refresh_tokens_are_refused_without_a_session() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let (body, tag) = ada.cookie.rsplit_once('.').expect("a tag");
    let flipped = if tag.starts_with('A') { "B" } else { "A" };
    for cookie in [body.to_owned(), format!("{body}.{flipped}{}", &tag[1..])] {
        let answer = plane.ask("POST", "/v1/auth/refresh").header("cookie", &cookie).send().await;
        answer.problem(401, "unauthenticated");
    }
    plane.ask("POST", "/v1/auth/refresh").header("cookie", &ada.cookie).send().await.expect(200);
}

#[tokio::test]
async fn refused_sign_ins_of_unknown_accounts_write_at_most_sixty_entries_a_minute() {
    let plane = Plane::start().await;
    plane.member("ada@example.com").await;
    let entries = async || {
        let sql = "SELECT count(*) FROM audit_entries WHERE action = 'user.login_refused'";
        let name = plane.database.url.rsplit_once('/').expect("a name").1.to_owned();
        let name = name.split('?').next().expect("never empty").to_owned();
        tokio::task::spawn_blocking(move || {
            weir_local::shared::postgres().psql(&name, &["-At", "-c", sql]).expect("a count")
        })
        .await
        .expect("it ends")
    };
    let recorded = || {
        let now = Timestamp::from_millis(plane.now_ms());
        plane.state.local.refused_logins.permit(false, now).is_some()
    };
    for _ in 0..60 {
        assert!(recorded());
    }
    assert!(!recorded());
    log_in(&plane, 1, "eve@example.com", "wrong horse", "").await.expect(401);
    log_in(&plane, 1, "\u{200b}", "wrong horse", "").await.expect(401);
    log_in(&plane, 1, "ada@example.com", "wrong horse", "").await.expect(401);
    // The entry of the account that exists is written after the answer.
    let deadline = std::time::Duration::from_secs(20);
    let written = tokio::time::timeout(deadline, async {
        while entries().await.trim() == "0" {}
        entries().await
    });
    assert_eq!(written.await.expect("recorded").trim(), "1");
    plane.advance(60_000);
    assert!(recorded());
}

#[tokio::test]
async fn wrong_passwords_at_two_control_planes_share_one_budget_of_ten_a_minute() {
    let plane = Plane::start().await;
    plane.member("ada@example.com").await;
    let other = plane.also(ControlSettings::default());
    let mut statuses = Vec::new();
    for attempt in 0..20 {
        let plane = if attempt % 2 == 0 { &plane } else { &other };
        let answer = log_in(plane, 1, "ada@example.com", "wrong horse", "").await;
        statuses.push(answer.status.as_u16());
    }
    assert_eq!(statuses[..10], [401; 10]);
    assert_eq!(statuses[10..], [429; 10]);
}
