//! Overrides as files: checked, planned, applied, exported and pruned.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};

use super::{Automation, manifest};
use crate::harness::shared;

/// A file with two overrides.
const OVERRIDES: &str = "apiVersion: weir/v1
kind: Overrides
metadata: { namespace: api, rule: login }
spec:
  - { subject: { user: u-1 }, limits: [{ algorithm: fixed_window, limit: 4, window: 1m }] }
  - { subject: { user: u-2 }, action: deny, reason: abuse }
";

#[tokio::test]
async fn overrides_are_files_too() {
    let here = Automation::start(shared().await, "overrides").await;
    here.write("rules.yaml", &manifest("login", 2));
    here.write("overrides.yaml", OVERRIDES);
    let checked = here.run(&["check"]).await.expect(0);
    assert!(checked.out.contains("1 rule and 2 overrides are valid"), "{checked:?}");
    let diff = here.run(&["diff", "--set", "shop"]).await.expect(1);
    assert!(diff.out.contains("+ override api/login user=u-1"), "{diff:?}");
    here.run(&["apply", "--set", "shop"]).await.expect(0);
    let again = here.run(&["apply", "--set", "shop"]).await.expect(0);
    assert!(again.out.contains("3 unchanged"), "{again:?}");

    // An edit by a person is drift until the next apply.
    let list = here.tenant.admin(Method::GET, "/overrides", &Value::Null).await.expect(200);
    let first = &list.body["data"][0];
    assert_eq!((&first["managed_by"], &first["edited"]), (&json!("shop"), &json!(false)));
    let edited =
        json!({ "rule_id": first["rule_id"], "subject": { "user": "u-1" }, "action": "allow" });
    let path = format!("/overrides/{}", first["id"].as_str().expect("an id"));
    let put = here.tenant.admin_if_match(Method::PUT, &path, Some("\"1\""), &edited).await;
    assert_eq!(put.expect(200).body["edited"], true);
    let drift = here.run(&["diff", "--set", "shop"]).await.expect(1);
    assert!(drift.out.contains("~ override api/login user=u-1"), "{drift:?}");
    assert!(drift.out.contains("action: \"allow\" -> null"), "{drift:?}");
    here.run(&["apply", "--set", "shop"]).await.expect(0);

    // The export describes the stored objects, byte for byte.
    let exported = here.run(&["export"]).await.expect(0);
    fs::remove_file(here.folder.join("rules.yaml")).expect("a file of the test");
    here.write("overrides.yaml", &exported.out);
    here.run(&["diff", "--set", "shop"]).await.expect(0);
    assert_eq!(here.run(&["export"]).await.expect(0).out, exported.out);

    // A refusal of the server has its place, an override of another set is left alone, and a removal is pruned.
    here.write("overrides.yaml", &OVERRIDES.replace("user: u-2", "person: u-2"));
    let refused = here.run(&["apply", "--set", "shop"]).await.expect(2);
    assert!(refused.err.contains("overrides.yaml:6:18: `subject.person`"), "{refused:?}");
    here.write("overrides.yaml", &OVERRIDES.replace("limit: 4", "limit: 5"));
    let foreign = here.run(&["apply", "--set", "other"]).await.expect(2);
    let text = "overrides.yaml:5:7: `subject` has an override of the set `shop`";
    assert!(foreign.err.contains(text), "{foreign:?}");
    here.write("overrides.yaml", &manifest("login", 2));
    let pruned = here.run(&["apply", "--set", "shop", "--prune", "-o", "json"]).await.expect(0);
    let deleted = pruned.json()["deleted"].as_array().cloned().unwrap_or_default();
    let names: Vec<_> = deleted.iter().map(|object| &object["name"]).collect();
    assert_eq!(names, ["login user=u-1", "login user=u-2"]);

    // The overrides of a deleted rule are in the plan before it.
    here.write("overrides.yaml", OVERRIDES);
    here.run(&["apply", "--set", "shop"]).await.expect(0);
    here.write("overrides.yaml", &manifest("other", 2));
    let plan = here.run(&["diff", "--set", "shop", "--prune"]).await.expect(1);
    let mut lines: Vec<_> = plan.out.lines().filter(|line| line.starts_with('-')).collect();
    assert_eq!(lines.pop(), Some("- api/login"), "{plan:?}");
    lines.sort_unstable();
    assert_eq!(lines, ["- override api/login user=u-1", "- override api/login user=u-2"]);
    assert!(plan.out.contains("1 to create, 0 to change, 3 to delete"), "{plan:?}");
}

#[tokio::test]
async fn one_apply_changes_count_by_with_the_overrides_of_the_files() {
    let here = Automation::start(shared().await, "count-by").await;
    here.write("rules.yaml", &manifest("login", 2));
    here.write("overrides.yaml", OVERRIDES);
    here.run(&["apply"]).await.expect(0);
    here.write("rules.yaml", &manifest("login", 2).replace("[user]", "[team, user]"));
    here.write("overrides.yaml", &OVERRIDES.replace("{ user: ", "{ team: \"*\", user: "));
    let refused = here.run(&["apply"]).await.expect(2);
    let text = "rules.yaml:5:3: `count_by` cannot change while the rule has overrides";
    assert!(refused.err.contains(text), "{refused:?}");
    here.run(&["apply", "--prune"]).await.expect(0);
    here.run(&["diff", "--prune"]).await.expect(0);
    let ask = ["ask", "--namespace", "api", "team=red", "user=u-2"];
    here.run(&ask).await.expect(1);
}
