//! The statistics of each region, compared with checks that were counted from outside.

use reqwest::Method;
use serde_json::{Value, json};

use super::{YEAR_MS, admitted, shared};
use crate::harness::{Tenant, seconds, until};

/// The gates of `us` ask the home about the rule, and the checks are those of the region that was asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_region_has_the_checks_that_its_callers_counted_and_they_add_up() {
    let regions = shared().await;
    let tenant = Tenant::sign_up(&regions.stack).await;
    let rule = json!({ "namespace": "api", "name": "all", "count_by": ["user"], "reach": "world",
        "limits": [{ "algorithm": "fixed_window", "limit": 100, "window_ms": YEAR_MS }] });
    let rule = tenant.rule(&rule).await;
    regions.settled(&tenant, rule.version, "api").await;
    let read = async |path: &str| tenant.admin(Method::GET, path, &Value::Null).await;
    until(seconds(10), "the control plane knows the regions", async || {
        read("/replicas").await.expect(200).body["regions"] == json!(["eu", "us"])
    })
    .await;
    let sent = 70;
    let [eu, us] = admitted([&regions.eu, &regions.us], &tenant.key, "api", sent).await;
    assert_eq!(eu + us, 100);
    let counts = async |filter: &str| {
        let summary = read(&format!("/stats/summary?{filter}")).await.expect(200).body;
        let of = |name: &str| summary["counts"][name].as_u64().expect("a count");
        (of("allowed"), of("denied"))
    };
    for filter in [String::new(), format!("&rule_id={}", rule.id)] {
        until(seconds(20), "the gates write their counts", async || {
            counts(&filter).await == (100, 2 * sent - 100)
        })
        .await;
        assert_eq!(counts(&format!("region=eu{filter}")).await, (eu, sent - eu));
        assert_eq!(counts(&format!("region=us{filter}")).await, (us, sent - us));
        assert_eq!(
            counts(&format!("region={filter}")).await,
            (0, 0),
            "no gate is without a region"
        );
    }
    for name in ["eu", "us"] {
        let gates = read(&format!("/replicas?region={name}")).await.expect(200).body;
        assert_eq!(gates["regions"], json!(["eu", "us"]));
        let gates = gates["data"].as_array().expect("gates").iter();
        let of: Vec<_> = gates.map(|gate| gate["region"].as_str()).collect();
        assert_eq!(of, [Some(name)]);
    }
    read("/stats/summary?region=mars").await.expect(422);
    read("/replicas?region=mars").await.expect(422);
}
