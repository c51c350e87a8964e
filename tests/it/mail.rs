//! E-mail over a real SMTP server: password resets, invitations and sign-ups, encryption, and servers that fail.

use std::net::TcpListener;

use reqwest::Method;
use serde_json::{Value, json};
use weir_local::free_port;

use crate::harness::{
    Http, MailServer, MailServerOptions, Reply, Server, metrics, seconds, send, shared, until, weir,
};

const DASHBOARD: &str = "https://limits.example.com";
const PASSWORD: &str = "a password of mine";

/// The settings of a control plane that sends over this server.
fn settings(smtp_url: &str) -> Vec<(&'static str, String)> {
    vec![
        ("WEIR_SMTP_URL", smtp_url.to_owned()),
        ("WEIR_SMTP_FROM", "Weir <weir@example.com>".to_owned()),
        ("WEIR_DASHBOARD_URL", format!("{DASHBOARD}/")),
    ]
}

async fn post(control: &Server, path: &str, body: &Value) -> Reply {
    let url = format!("{}/api/v1{path}", control.url);
    send(Http::new().request(Method::POST, &url).json(body)).await
}

async fn sign_up(control: &Server, email: &str) -> Reply {
    let body = json!({ "email": email, "password": PASSWORD, "tenant_name": "Größe & Söhne" });
    post(control, "/auth/signup", &body).await.expect(201)
}

async fn request_reset(control: &Server, email: &str) -> Reply {
    post(control, "/auth/password-reset", &json!({ "email": email })).await
}

/// The value of a counter of messages.
async fn mails(control: &Server, result: &str) -> u64 {
    let text = metrics(&control.url).await;
    let name = format!("weir_mails_total{{result=\"{result}\"}} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&name)).expect("the counter");
    line.parse().expect("a number")
}

#[tokio::test]
async fn a_forgotten_password_is_reset_with_a_link_that_is_sent_to_the_address_of_the_account() {
    let stack = shared().await;
    let server = MailServer::start(MailServerOptions::default()).await;
    let url = format!("smtp://127.0.0.1:{}", server.port);
    let control = stack.control_that_has(&settings(&url)).await;
    let options = |url: &str| format!("{url}/api/v1/auth/options");
    let offered = Http::new().get(&options(&control.url)).await.expect(200);
    assert_eq!(offered.body["password_reset"], true);
    let offered = Http::new().get(&options(&stack.control.url)).await.expect(200);
    assert_eq!(offered.body["password_reset"], false);

    let session = sign_up(&control, "forgetful@example.com").await.text("/access_token");
    sign_up(&control, "disabled@example.com").await;
    let disable = ["user", "disable", "--email", "disabled@example.com"];
    let disabled = weir(&disable, &[("WEIR_DATABASE_URL", &stack.postgres.url("weir"))], "");
    assert!(disabled.status.success(), "{disabled:?}");
    let mut answers = Vec::new();
    for email in ["nobody@example.com", "disabled@example.com", "Forgetful@Example.com"] {
        let answer = request_reset(&control, email).await.expect(202);
        answers.push((answer.body.clone(), answer.headers.len()));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");

    let letter = server.letter_to("forgetful@example.com").await;
    assert_eq!(letter.at("/sender"), "weir@example.com");
    assert_eq!(letter.at("/headers/from"), "Weir <weir@example.com>");
    assert_eq!(letter.at("/headers/subject"), "Set a new password for Weir");
    assert_eq!(letter.at("/headers/auto-submitted"), "auto-generated");
    assert_eq!(letter.at("/headers/content-type"), "text/plain; charset=\"utf-8\"");
    assert!(letter.text().contains("within one hour"), "{}", letter.text());
    let (page, token) = letter.link();
    assert_eq!(page, format!("{DASHBOARD}/reset"));
    assert!(!control.log().contains(token), "the token is in the log");

    let body = json!({ "token": token, "new_password": "another password of mine" });
    post(&control, "/auth/password-reset/confirm", &body).await.expect(204);
    post(&control, "/auth/password-reset/confirm", &body).await.expect(404);
    let me = format!("{}/api/v1/me", control.url);
    let request = |token: &str, url: &str| Http::new().request(Method::GET, url).bearer_auth(token);
    send(request(&session, &me)).await.expect(401);
    let log_in = |password: &str| json!({ "email": "forgetful@example.com", "password": password });
    post(&control, "/auth/login", &log_in(PASSWORD)).await.expect(401);
    let signed_in = post(&control, "/auth/login", &log_in("another password of mine")).await;
    let session = signed_in.expect(200).text("/access_token");
    let audit = send(request(&session, &format!("{me}/audit"))).await.expect(200).body.to_string();
    assert!(audit.contains("user.password_reset_request"), "{audit}");

    for nobody in ["nobody@example.com", "disabled@example.com"] {
        assert!(server.letters_to(nobody).is_empty(), "{nobody}");
    }
    assert_eq!(mails(&control, "sent").await, 1);
}

#[tokio::test]
async fn an_invitation_is_also_sent_to_its_address() {
    let stack = shared().await;
    let server = MailServer::start(MailServerOptions::default()).await;
    let url = format!("smtp://127.0.0.1:{}", server.port);
    let control = stack.control_that_has(&settings(&url)).await;
    let inviter = sign_up(&control, "inviter@example.com").await;
    let (tenant, token) = (inviter.text("/tenant/id"), inviter.text("/access_token"));
    let invite = async |email: &str| {
        let url = format!("{}/api/v1/tenants/{tenant}/invitations", control.url);
        let body = json!({ "email": email, "role": "editor" });
        Http::new().post(&url, &token, &body).await.expect(201)
    };
    let invited = invite("guest@example.com").await;
    assert_eq!(invited.body["mailed"], true);
    let letter = server.letter_to("guest@example.com").await;
    assert_eq!(letter.at("/headers/subject"), "Invitation to \"Größe & Söhne\" on Weir");
    assert!(letter.text().contains("inviter@example.com invited guest@example.com to join"));
    assert!(letter.text().contains("\"Größe & Söhne\" as an editor."));
    let (page, token) = letter.link();
    assert_eq!((page, token), (&*format!("{DASHBOARD}/accept"), &*invited.text("/token")));
    post(&control, "/invitations/preview", &json!({ "token": token })).await.expect(200);

    // A recipient that the server refuses is given up at once, and the inviter still has the link.
    let refused = invite("refused@example.com").await;
    assert!(refused.text("/token").starts_with("invite_"));
    until(seconds(30), "the refused message is given up", async || {
        mails(&control, "failed").await == 1
    })
    .await;
    let log = control.log();
    assert!(log.contains("the server refused it with 550"), "{log}");
    assert!(!log.contains("refused@example.com") && !log.contains(&refused.text("/token")));
}

#[tokio::test]
async fn a_confirmed_sign_up_sends_its_link_or_says_that_the_address_has_an_account() {
    let stack = shared().await;
    let server = MailServer::start(MailServerOptions::default()).await;
    let mut confirmed = settings(&format!("smtp://127.0.0.1:{}", server.port));
    confirmed.push(("WEIR_SIGNUP", "confirmed".to_owned()));
    let control = stack.control_that_has(&confirmed).await;
    sign_up(&stack.control, "has-account@example.com").await;
    let request = async |email: &str, tenant: &str| {
        let body = json!({ "email": email, "tenant_name": tenant });
        let mut answer = post(&control, "/auth/signup", &body).await.expect(202);
        assert_eq!(answer.body["email"].take(), email);
        (answer.body, answer.headers.len())
    };
    let new = request("newcomer@example.com", "First").await;
    let known = request("has-account@example.com", "First").await;
    assert_eq!(new, known);

    let letter = server.letter_to("has-account@example.com").await;
    assert_eq!(letter.at("/headers/subject"), "You already have a Weir account");
    assert!(letter.text().contains(&format!("{DASHBOARD}/forgot")), "{}", letter.text());
    assert!(!letter.text().contains('#'), "{}", letter.text());
    let first = server.letter_to("newcomer@example.com").await;
    assert_eq!(first.at("/headers/subject"), "Confirm your sign-up for Weir");
    assert!(first.text().contains("for the tenant \"First\""), "{}", first.text());
    let (page, replaced) = first.link();
    assert_eq!(page, format!("{DASHBOARD}/confirm"));

    request("newcomer@example.com", "Second").await;
    until(seconds(30), "the second message arrives", async || {
        server.letters_to("newcomer@example.com").len() == 2
    })
    .await;
    let second = server.letter_to("newcomer@example.com").await;
    let (_, token) = second.link();
    let confirm = |token: &str| json!({ "token": token, "password": PASSWORD });
    post(&control, "/auth/signup/confirm", &confirm(replaced)).await.expect(404);
    let made = post(&control, "/auth/signup/confirm", &confirm(token)).await.expect(201);
    assert_eq!(made.text("/user/email"), "newcomer@example.com");
    assert_eq!(made.text("/tenant/name"), "Second");
    assert!(!control.log().contains(token) && !control.log().contains(replaced));
}

#[tokio::test]
async fn a_server_with_starttls_gets_the_password_over_tls_alone() {
    let stack = shared().await;
    let certificate_of = vec!["localhost".to_owned()];
    let options = MailServerOptions { certificate_of, login: "weir:pa@ss" };
    let server = MailServer::start(options).await;
    let mut trusting = settings(&format!("smtp://weir:pa%40ss@localhost:{}", server.port));
    let distrusting = stack.control_that_has(&trusting).await;
    trusting.push(("SSL_CERT_FILE", server.certificate_file().display().to_string()));
    let trusting = stack.control_that_has(&trusting).await;
    sign_up(&trusting, "private@example.com").await;

    request_reset(&distrusting, "private@example.com").await.expect(202);
    until(seconds(30), "the certificate is refused", async || {
        mails(&distrusting, "retried").await > 0
    })
    .await;
    assert!(server.letters_to("private@example.com").is_empty());
    assert!(distrusting.log().contains("UnknownIssuer"), "{}", distrusting.log());

    request_reset(&trusting, "private@example.com").await.expect(202);
    let letter = server.letter_to("private@example.com").await;
    assert_eq!((letter.at("/encrypted"), letter.at("/user")), (&json!(true), &json!("weir")));
    for log in [distrusting.log(), trusting.log()] {
        assert!(!log.contains("pa@ss") && !log.contains("pa%40ss"), "{log}");
    }
}

#[tokio::test]
async fn a_server_that_is_silent_or_away_delays_no_answer() {
    let stack = shared().await;
    // Connections are accepted by the kernel, and nobody answers.
    let silent = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let silent_port = silent.local_addr().expect("it is bound").port();
    let away_port = free_port().expect("a port is free");
    sign_up(&stack.control, "patient@example.com").await;
    for port in [silent_port, away_port] {
        let url = format!("smtp://127.0.0.1:{port}");
        let control = stack.control_that_has(&settings(&url)).await;
        let answer = request_reset(&control, "patient@example.com").await.expect(202);
        // An attempt has a deadline of twenty seconds.
        assert!(answer.took < seconds(10), "{:?}", answer.took);
        if port == away_port {
            until(seconds(30), "the message is tried again", async || {
                mails(&control, "retried").await > 0
            })
            .await;
        }
        assert_eq!(control.stop(), 0, "{}", control.log());
    }
}
