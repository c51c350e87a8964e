//! Accounts on the command line and over HTTP, with processes that restart.

use std::process::Output;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{
    Http, PATIENT_MS, Reply, Stack, seconds, send, send_signal, shared, until, weir,
};

/// Runs `weir user …` or `weir sessions …` with a stack's database. Returns its output.
fn command(stack: &Stack, args: &[&str], stdin: &str) -> String {
    let output = run(stack, args, stdin);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn run(stack: &Stack, args: &[&str], stdin: &str) -> Output {
    weir(args, &[("WEIR_DATABASE_URL", &stack.postgres.url("weir"))], stdin)
}

async fn log_in(stack: &Stack, email: &str, password: &str) -> Reply {
    let url = format!("{}/api/v1/auth/login", stack.control.url);
    let body = json!({ "email": email, "password": password });
    send(Http::new().request(Method::POST, &url).json(&body)).await
}

async fn get(stack: &Stack, path: &str, token: &str) -> u16 {
    let url = format!("{}/api/v1{path}", stack.control.url);
    send(Http::new().request(Method::GET, &url).bearer_auth(token)).await.status
}

const PASSWORD: &str = "a password of mine";

#[tokio::test]
async fn accounts_are_disabled_reset_and_made_operators_on_the_command_line() {
    let stack = shared().await;
    let email = "managed@example.com";
    command(stack, &["user", "create", "--email", "Managed@Example.com"], PASSWORD);
    let token = log_in(stack, email, PASSWORD).await.expect(200).text("/access_token");

    let listed = command(stack, &["user", "sessions", "--email", email], "");
    assert!(listed.contains("127.0.0.1") && listed.contains("  1 session\n"), "{listed}");
    command(stack, &["user", "sessions", "--email", email, "--end"], "");
    assert_eq!(get(stack, "/me", &token).await, 401);

    let token = log_in(stack, email, PASSWORD).await.expect(200).text("/access_token");
    assert_eq!(get(stack, "/operator/tenants", &token).await, 404);
    command(stack, &["user", "operator", "--email", email], "");
    assert_eq!(get(stack, "/operator/tenants", &token).await, 200);
    command(stack, &["user", "operator", "--email", email, "--revoke"], "");
    assert_eq!(get(stack, "/operator/tenants", &token).await, 404);

    command(stack, &["user", "disable", "--email", email], "");
    assert_eq!(get(stack, "/me", &token).await, 401);
    log_in(stack, email, PASSWORD).await.expect(401);
    command(stack, &["user", "enable", "--email", email], "");
    let printed = command(stack, &["user", "password", "--email", email], "");
    let new = printed.lines().find_map(|line| line.strip_prefix("password: ")).expect("printed");
    log_in(stack, email, PASSWORD).await.expect(401);
    log_in(stack, email, new).await.expect(200);

    let sql = "SELECT string_agg(DISTINCT action, ' ' ORDER BY action) FROM audit_entries
        WHERE actor_kind = 'system' AND after ->> 'email' = 'managed@example.com'";
    let recorded = stack.postgres.psql("weir", &["-c", sql]).expect("a list");
    for action in [
        "create",
        "disable",
        "enable",
        "operator",
        "operator_revoke",
        "password_reset",
        "sessions_end",
    ] {
        assert!(recorded.contains(&format!("user.{action}")), "{action} in {recorded}");
    }
}

#[tokio::test]
async fn addresses_that_are_none_make_no_account() {
    let stack = shared().await;
    for wrong in ["not an email", "a\u{200b}@example.com", "a@", "<script>@example.com"] {
        let output = run(stack, &["user", "create", "--email", wrong], PASSWORD);
        assert_eq!(output.status.code(), Some(1), "{wrong:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("--email must be an e-mail address"), "{said}");
    }
    let output = run(stack, &["user", "disable", "--email", "nobody@example.com"], "");
    assert_eq!(output.status.code(), Some(1));
}

#[tokio::test]
async fn hangup_does_not_end_a_process() {
    let stack = shared().await;
    send_signal(stack.control.pid(), "HUP");
    until(seconds(20), "the signal is logged", async || {
        stack.control.log().contains("ignoring SIGHUP")
    })
    .await;
    assert_eq!(stack.control.exit_code(), None);
    let url = format!("{}/healthz", stack.control.url);
    Http::new().get(&url).await.expect(200);
}

#[tokio::test]
async fn sign_ups_are_confirmed_with_a_token_from_the_command_line() {
    let stack = shared().await;
    let control = stack.confirming_control().await;
    let post = async |path: &str, body: &Value| {
        let url = format!("{}/api/v1/auth/signup{path}", control.url);
        send(Http::new().request(Method::POST, &url).json(body)).await
    };
    command(stack, &["user", "create", "--email", "known@example.com"], PASSWORD);
    for email in ["known@example.com", "new@example.com"] {
        post("", &json!({ "email": email, "tenant_name": "New" })).await.expect(202);
    }
    let pending = command(stack, &["user", "pending"], "");
    assert!(pending.contains("new@example.com  no token yet  \"New\""), "{pending}");
    for (email, reason) in [
        ("known@example.com", "an account with the address known@example.com already exists"),
        ("nobody@example.com", "no pending sign-up of nobody@example.com"),
    ] {
        let output = run(stack, &["user", "confirm", "--email", email], "");
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{output:?}");
    }
    let printed = command(stack, &["user", "confirm", "--email", "new@example.com"], "");
    let token = printed.lines().find_map(|line| line.strip_prefix("token: ")).expect("a token");
    let made = post("/confirm", &json!({ "token": token, "password": PASSWORD })).await;
    assert_eq!(get(stack, "/me", &made.expect(201).text("/access_token")).await, 200);
    log_in(stack, "new@example.com", PASSWORD).await.expect(200);
}

/// All clients share one address, as behind a proxy.
#[tokio::test]
async fn guesses_by_others_keep_nobody_out_also_after_a_restart_and_all_sessions_can_be_ended() {
    let stack = Stack::start(PATIENT_MS).await;
    let email = "honest@example.com";
    command(&stack, &["user", "create", "--email", email], PASSWORD);
    let token = log_in(&stack, email, PASSWORD).await.expect(200).text("/access_token");
    for account in 0..10 {
        log_in(&stack, &format!("junk-{account}@example.com"), "wrong horse").await.expect(401);
    }
    let stranger = log_in(&stack, "junk@example.com", "wrong horse").await.expect(429);
    assert!(stranger.header("retry-after").is_some());
    log_in(&stack, email, PASSWORD).await.expect(200);

    stack.control.stop();
    stack.control.start_again();
    let ready = format!("{}/readyz", stack.control.url);
    until(seconds(30), "the control plane is back", async || {
        Http::new().try_get(&ready).await.is_some_and(|reply| reply.status == 200)
    })
    .await;
    log_in(&stack, email, PASSWORD).await.expect(200);
    assert_eq!(get(&stack, "/me", &token).await, 200, "a restart ends no session");

    let said = command(&stack, &["sessions", "end", "--all"], "");
    assert!(said.contains(" ended"), "{said}");
    assert_eq!(get(&stack, "/me", &token).await, 401);
    assert_eq!(run(&stack, &["sessions", "end"], "").status.code(), Some(1));
}
