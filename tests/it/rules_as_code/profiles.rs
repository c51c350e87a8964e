//! Profiles as files: checked, planned, applied, exported and pruned.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};

use super::{Automation, manifest};
use crate::harness::shared;

/// Files with a profile of a proxy and one of a domain.
const PROFILES: &str = "apiVersion: weir/v1
kind: Gateway
metadata: { name: edge }
spec:
  reads: auth_request
  namespace: api
  attributes:
    user: { from: header, name: x-user }
---
apiVersion: weir/v1
kind: EnvoyDomains
spec:
  - { name: http, domain: eg/default/http, namespace: api, rename: { remote_address: ip } }
";

#[tokio::test]
async fn profiles_are_files_too() {
    let here = Automation::start(shared().await, "profiles").await;
    here.write("rules.yaml", &manifest("login", 2));
    here.write("profiles.yaml", PROFILES);
    assert!(here.run(&["check"]).await.expect(0).out.contains("1 rule and 2 profiles are valid"));
    let diff = here.run(&["diff", "--set", "shop"]).await.expect(1);
    assert!(diff.out.contains("+ profile edge") && diff.out.contains("3 to create"), "{diff:?}");
    here.run(&["apply", "--set", "shop"]).await.expect(0);
    let again = here.run(&["apply", "--set", "shop"]).await.expect(0);
    assert!(again.out.contains("3 unchanged"), "{again:?}");

    // A proxy asks by the profile of the files: the limit of the rule is 2.
    let url = format!("{}/authorize/edge", here.tenant.stack.gates[0].url);
    let ask = async || {
        let request = here.tenant.http.request(Method::GET, &url);
        let request = request.header("x-weir-key", &here.key).header("x-user", "u-1");
        crate::harness::send(request).await.status
    };
    assert_eq!([ask().await, ask().await, ask().await], [204, 204, 429]);

    // An edit by a person is drift, with its author, until the next apply.
    let list = here.tenant.admin(Method::GET, "/profiles", &Value::Null).await.expect(200);
    let edge = &list.body["data"][0];
    assert_eq!((&edge["name"], &edge["managed_by"]), (&json!("edge"), &json!("shop")));
    assert_eq!(edge["edited"], false);
    let edited = json!({ "name": "edge", "reads": "auth_request", "namespace": "api",
        "deny_status": 403, "attributes": { "user": { "from": "header", "name": "x-user" } } });
    let path = format!("/profiles/{}", edge["id"].as_str().expect("an id"));
    let put = here.tenant.admin_if_match(Method::PUT, &path, Some("\"1\""), &edited).await;
    assert_eq!(put.expect(200).body["edited"], true);
    let drift = here.run(&["diff", "--set", "shop"]).await.expect(1);
    assert!(drift.out.contains("~ profile edge") && drift.out.contains("deny_status: 403 -> 429"));
    assert!(drift.out.contains("last changed by person-"), "{drift:?}");

    // The export describes the stored objects, byte for byte.
    let exported = here.run(&["export"]).await.expect(0);
    fs::remove_file(here.folder.join("rules.yaml")).expect("a file of the test");
    here.write("profiles.yaml", &exported.out);
    here.run(&["diff", "--set", "shop"]).await.expect(0);
    here.run(&["apply", "--set", "shop"]).await.expect(0);
    assert_eq!(here.run(&["export"]).await.expect(0).out, exported.out);

    // One profile in two files, a profile of another set, and a removal.
    here.write("twice.yaml", PROFILES);
    let twice = here.run(&["check"]).await.expect(2);
    assert!(twice.err.contains("twice.yaml:3:13: the profile `edge` is also in "), "{twice:?}");
    fs::remove_file(here.folder.join("twice.yaml")).expect("a file of the test");
    here.write("profiles.yaml", &PROFILES.replace("x-user", "x-person"));
    let foreign = here.run(&["apply", "--set", "other"]).await.expect(2);
    assert!(
        foreign.err.contains("profiles.yaml:3:13: `name` is a profile of the set `shop`"),
        "{foreign:?}"
    );
    here.write("profiles.yaml", &manifest("login", 2));
    here.run(&["diff", "--set", "shop"]).await.expect(0);
    let pruned = here.run(&["apply", "--set", "shop", "--prune", "-o", "json"]).await.expect(0);
    let deleted = pruned.json()["deleted"].as_array().cloned().unwrap_or_default();
    let names: Vec<_> = deleted.iter().map(|object| (&object["kind"], &object["name"])).collect();
    let profile = json!("profile");
    assert_eq!(names, [(&profile, &json!("edge")), (&profile, &json!("http"))]);
}
