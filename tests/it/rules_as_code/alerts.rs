//! Alerts as files: checked, planned, applied, exported and pruned.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};

use super::{Automation, manifest};
use crate::harness::shared;

const ALERTS: &str = "apiVersion: weir/v1
kind: Alert
metadata: { name: many denials }
spec:
  webhook: on call
  kind: denial_share
  namespace: api
  rule: login
  share_percent: 20
  window: 10m
---
apiVersion: weir/v1
kind: Alert
metadata: { name: everything }
spec: { webhook: on call, kind: denial_share, share_percent: 90 }
";

async fn webhook(here: &Automation<'_>, name: &str) {
    let body = json!({ "name": name, "url": "https://hooks.example.com/secret-path" });
    here.tenant.admin(Method::POST, "/webhooks", &body).await.expect(201);
}

#[tokio::test]
async fn alerts_are_files_too() {
    let here = Automation::start(shared().await, "alerts").await;
    here.write("rules.yaml", &manifest("login", 2));
    here.write("alerts.yaml", ALERTS);
    let checked = here.run(&["check"]).await.expect(0);
    assert!(checked.out.contains("1 rule and 2 alerts are valid"), "{checked:?}");

    // Only the server knows the webhooks.
    let refused = here.run(&["diff", "--set", "shop"]).await.expect(2);
    let text =
        "alerts.yaml:5:3: `webhooks` names `on call`, which no webhook has as its name or URL";
    assert!(refused.err.contains(text), "{refused:?}");
    webhook(&here, "on call").await;
    let diff = here.run(&["diff", "--set", "shop"]).await.expect(1);
    assert!(diff.out.contains("+ alert many denials"), "{diff:?}");
    assert!(diff.out.contains("3 to create"), "{diff:?}");
    here.run(&["apply", "--set", "shop"]).await.expect(0);
    let again = here.run(&["apply", "--set", "shop"]).await.expect(0);
    assert!(again.out.contains("3 unchanged"), "{again:?}");

    // An edit by a person is drift until the next apply.
    let list = here.tenant.admin(Method::GET, "/alerts", &Value::Null).await.expect(200);
    let last = &list.body["data"][0];
    assert_eq!((&last["name"], &last["managed_by"]), (&json!("everything"), &json!("shop")));
    let edited = json!({ "name": "everything", "webhook_ids": last["webhook_ids"],
        "kind": "denial_share", "share_percent": 95 });
    let path = format!("/alerts/{}", last["id"].as_str().expect("an id"));
    here.tenant.admin(Method::PUT, &path, &edited).await.expect(200);
    let drift = here.run(&["diff", "--set", "shop"]).await.expect(1);
    assert!(drift.out.contains("~ alert everything"), "{drift:?}");
    assert!(drift.out.contains("share_percent: 95 -> 90"), "{drift:?}");
    here.run(&["apply", "--set", "shop"]).await.expect(0);

    // The export describes the stored objects, byte for byte, and has no URL of a webhook.
    let exported = here.run(&["export"]).await.expect(0);
    assert!(!exported.out.contains("secret-path"), "{exported:?}");
    fs::remove_file(here.folder.join("rules.yaml")).expect("a file of the test");
    here.write("alerts.yaml", &exported.out);
    here.run(&["diff", "--set", "shop"]).await.expect(0);
    assert_eq!(here.run(&["export"]).await.expect(0).out, exported.out);
    let folder = here.folder.join("exported").display().to_string();
    let written = here.run(&["export", "--dir", &folder]).await.expect(0);
    assert!(written.out.contains("1 rule and 2 alerts written to"), "{written:?}");
    let file = fs::read_to_string(here.folder.join("exported/tenant.alerts.yaml"));
    assert!(exported.out.ends_with(&file.expect("a file")), "{exported:?}");
    fs::remove_dir_all(here.folder.join("exported")).expect("a folder of the test");
    let without = here.run(&["export", "--without-alerts"]).await.expect(0);
    assert!(!without.out.contains("kind: Alert"), "{without:?}");
    let elsewhere = here.run(&["export", "--namespace", "web"]).await.expect(0);
    assert_eq!(elsewhere.out.trim(), "");

    // Two webhooks of one name are no reference.
    webhook(&here, "on call").await;
    let ambiguous = here.run(&["diff", "--set", "shop"]).await.expect(2);
    assert!(
        ambiguous.err.contains("`webhooks` names `on call`, which 2 webhooks have"),
        "{ambiguous:?}"
    );
    let refused = here.run(&["export"]).await.expect(2);
    assert!(refused.err.contains("several webhooks with the name `on call`"), "{refused:?}");

    here.write("alerts.yaml", &manifest("login", 2));
    let pruned = here.run(&["apply", "--set", "shop", "--prune", "-o", "json"]).await.expect(0);
    let deleted = pruned.json()["deleted"].as_array().cloned().unwrap_or_default();
    let mut names: Vec<_> = deleted.iter().map(|object| object["name"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, [Some("everything"), Some("many denials")]);
}

#[tokio::test]
async fn restricted_key_exports_what_is_in_its_namespaces() {
    let mut here = Automation::start(shared().await, "restricted").await;
    webhook(&here, "on call").await;
    here.write("rules.yaml", &manifest("login", 2));
    here.write("alerts.yaml", ALERTS);
    here.run(&["apply"]).await.expect(0);
    let key = json!({ "name": "k", "scopes": ["write"], "namespaces": ["api"] });
    let key = here.tenant.admin(Method::POST, "/keys", &key).await.expect(201);
    here.key = key.text("/secret");
    let exported = here.run(&["export"]).await.expect(0);
    assert!(exported.out.contains("kind: Rule") && !exported.out.contains("Alert"), "{exported:?}");
    assert!(exported.err.contains("alerts are left out"), "{exported:?}");
    let refused = here.run(&["apply"]).await.expect(2);
    assert!(refused.err.contains("apply `alerts` with another key"), "{refused:?}");
}
