//! Plans and assignments as files: checked, planned, applied, exported and pruned.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};

use super::{Automation, manifest};
use crate::harness::shared;

const PLANS: &str = "apiVersion: weir/v1
kind: Plan
metadata: { name: free }
spec: { rules: [{ namespace: api, rule: login, limits: [{ algorithm: sliding_window_log, limit: 3, window: 1h }] }] }
---
apiVersion: weir/v1
kind: Plan
metadata: { name: pro }
spec: { rules: [{ namespace: api, rule: login, limits: [{ algorithm: sliding_window_log, limit: 5, window: 1h }] }] }
";

const ASSIGNMENTS: &str = "apiVersion: weir/v1
kind: Assignments
spec:
  - { customer: acme, plan: free }
  - { customer: globex, plan: pro, until: 2100-01-01T00:00:00Z, note: signed in May }
";

#[tokio::test]
async fn customers_are_on_the_plans_of_the_files() {
    let here = Automation::start(shared().await, "customers").await;
    let attribute = json!({ "customer_attribute": "user" });
    here.tenant.admin(Method::PATCH, "", &attribute).await.expect(200);
    here.write("rules.yaml", &manifest("login", 2));
    here.write("plans.yaml", PLANS);
    here.write("assignments.yaml", ASSIGNMENTS);
    let checked = here.run(&["check"]).await.expect(0);
    assert!(checked.out.contains("1 rule, 2 plans and 2 assignments are valid"), "{checked:?}");
    let diff = here.run(&["diff"]).await.expect(1);
    assert!(diff.out.contains("+ customer acme") && diff.out.contains("5 to create"), "{diff:?}");
    here.run(&["apply"]).await.expect(0);
    let ask = ["ask", "--namespace", "api", "user=acme", "--cost", "3"];
    here.run(&ask).await.expect(0);
    here.run(&ask).await.expect(1);
    let again = here.run(&["apply"]).await.expect(0);
    assert!(again.out.contains("5 unchanged"), "{again:?}");

    // The export describes the stored objects, byte for byte.
    let exported = here.run(&["export"]).await.expect(0);
    let lines = "kind: Assignments\nspec:\n  - { customer: acme, plan: free }\n  - { customer: globex, plan: pro, until: ";
    assert!(exported.out.contains(lines), "{exported:?}");
    for name in ["rules.yaml", "plans.yaml", "assignments.yaml"] {
        fs::remove_file(here.folder.join(name)).expect("a file of the test");
    }
    here.write("all.yaml", &exported.out);
    here.run(&["diff"]).await.expect(0);
    let without = here.run(&["export", "--without-assignments"]).await.expect(0);
    assert!(!without.out.contains("Assignments"), "{without:?}");

    // An upgrade is shown with both plans, and the used units stay used.
    here.write("all.yaml", &exported.out.replace("acme, plan: free", "acme, plan: pro"));
    let diff = here.run(&["diff"]).await.expect(1);
    assert!(
        diff.out.contains("~ customer acme\n    plans[0].plan: \"free\" -> \"pro\"\n"),
        "{diff:?}"
    );
    here.run(&["apply"]).await.expect(0);
    here.run(&ask).await.expect(1);
    here.run(&["ask", "--namespace", "api", "user=acme", "--cost", "2"]).await.expect(0);

    // A refusal of the server has its place, and a removal is pruned.
    here.write("all.yaml", &exported.out.replace("acme, plan: free", "acme, plan: none"));
    let refused = here.run(&["apply"]).await.expect(2);
    assert!(
        refused.err.contains("`plan` is neither a plan of the request nor a stored one"),
        "{refused:?}"
    );
    here.write("all.yaml", &without.out);
    here.run(&["diff"]).await.expect(0);
    let pruned = here.run(&["apply", "--prune", "-o", "json"]).await.expect(0);
    let deleted = pruned.json()["deleted"].as_array().cloned().unwrap_or_default();
    let names: Vec<_> = deleted.iter().map(|object| &object["name"]).collect();
    assert_eq!(names, ["acme", "globex"]);
    let left = here.tenant.admin(Method::GET, "/assignments", &Value::Null).await.expect(200);
    assert_eq!(left.body["data"], json!([]));
}
