//! `weir audit verify`: an audit log that was changed in the database is reported.

mod tail;

use std::process::Output;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Http, Tenant, shared, try_send, weir};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Verifies the log of one tenant. Each tenant has a log of its own, so other tests do not affect the result.
fn verify(url: &str, tenant: &str, more: &[&str]) -> Output {
    let args = [&["audit", "verify", "--tenant", tenant], more].concat();
    weir(&args, &[("WEIR_DATABASE_URL", url)], "")
}

#[tokio::test]
async fn audit_verify_says_where_a_log_was_changed() {
    let stack = shared().await;
    let tenant = Tenant::sign_up(stack).await;
    for name in ["Renamed", "Renamed again"] {
        tenant.admin(Method::PATCH, "", &json!({ "name": name })).await.expect(200);
    }
    let url = stack.postgres.url("weir");
    let sound = verify(&url, &tenant.id, &[]);
    assert_eq!(sound.status.code(), Some(0), "{}", text(&sound.stderr));
    let head = text(&sound.stdout);
    assert!(head.starts_with(&format!("{} 4 ", tenant.id)), "{head}");

    let heads = stack.scratch.path().join("audit-heads");
    std::fs::write(&heads, &head).expect("a file of the test");
    let heads = heads.display().to_string();
    tenant.admin(Method::PATCH, "", &json!({ "name": "Renamed once more" })).await.expect(200);
    let later = verify(&url, &tenant.id, &["--against", &heads]);
    assert_eq!(later.status.code(), Some(0), "{}", text(&later.stderr));

    let change = "UPDATE audit_entries SET actor_label = 'mallory@example.com'
        WHERE action = 'tenant.rename' AND seq = 3 AND chain IN (
            SELECT chain FROM audit_entries WHERE object_id = '";
    let change = format!("{change}{}')", tenant.id);
    stack.postgres.psql("weir", &["-c", &change]).expect("the owner may");
    let changed = verify(&url, &tenant.id, &[]);
    assert_eq!(changed.status.code(), Some(1));
    let said = text(&changed.stderr);
    assert!(said.contains(&format!("{}: entry 3 ", tenant.id)), "{said}");
    assert_eq!(text(&changed.stdout), "");
}

#[tokio::test]
async fn audit_verify_refuses_a_log_that_does_not_exist() {
    let stack = shared().await;
    let url = stack.postgres.url("weir");
    let nobody = "tenant_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let output = verify(&url, nobody, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("there is no such log"), "{}", text(&output.stderr));
}

#[tokio::test]
async fn account_made_on_the_command_line_sees_that_in_its_own_log() {
    let stack = shared().await;
    let url = stack.postgres.url("weir");
    let (email, password) = ("logged-account@example.com", "a password of mine");
    let env = [("WEIR_DATABASE_URL", url.as_str())];
    let made = weir(&["user", "create", "--email", email], &env, &format!("{password}\n"));
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let http = Http::new();
    let api = |path: &str| format!("{}/api/v1{path}", stack.control.url);
    let body = json!({ "email": email, "password": password });
    let login = try_send(http.request(Method::POST, &api("/auth/login")).json(&body)).await;
    let token = login.expect("answered").expect(200).text("/access_token");
    let log = http.request(Method::GET, &api("/me/audit")).bearer_auth(&token);
    let log = try_send(log).await.expect("answered").expect(200);
    assert_eq!(log.text("/data/0/action"), "user.login");
    assert_eq!(log.text("/data/1/action"), "user.create");
    assert_eq!(log.text("/data/1/actor/kind"), "system");
}

#[tokio::test]
async fn committed_entries_are_lines_of_the_log_if_it_is_asked_to_have_them() {
    let stack = shared().await;
    let logged = [("WEIR_LOG", "info,weir::audit=debug".to_owned())];
    let control = stack.control_that_has(&logged).await;
    let tenant = Tenant::sign_up(stack).await;
    let url = format!("{}/api/v1/tenants/{}", control.url, tenant.id);
    let change = tenant.http.request(Method::PATCH, &url).bearer_auth(&tenant.token);
    let change = change.json(&json!({ "name": "Logged" }));
    let changed = try_send(change).await.expect("answered").expect(200);
    let log = control.log();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let entries: Vec<_> = lines.filter(|line| line["target"] == "weir::audit").collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    let entry = &entries[0];
    assert_eq!(
        (&entry["action"], &entry["tenant.id"]),
        (&json!("tenant.rename"), &json!(tenant.id))
    );
    assert_eq!(entry["actor.kind"], "person");
    assert_eq!(entry["request.id"].as_str(), changed.header("x-request-id"));
    assert!(entry["after"].as_str().is_some_and(|after| after.contains("Logged")), "{entry}");
    assert!(!stack.control.log().contains("weir::audit"), "off by default");
}
