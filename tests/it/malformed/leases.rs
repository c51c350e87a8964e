//! Bad requests to `/renew` and `/release`, and bad concurrency limits.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Case, assert_no_fault, assert_nothing_was_taken, faults, text, watched};

/// A lease of nobody: of rule 0 in `default`, for a second.
const LEASE: &str = "lease_AQcHBwcHBwcHBwcHBwcHBwcAAAAAAAAD6AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAGRlZmF1bHQ";

#[tokio::test]
async fn every_bad_lease_gets_a_reason_and_changes_nothing() {
    let (tenant, rule) = watched().await;
    let cases: Vec<_> = leases().into_iter().chain(surroundings()).collect();
    let mut faults = faults(&tenant, &rule, &cases, &tenant.key).await;
    assert_no_fault(&faults, cases.len(), 40);
    let limits = limits();
    for case in &limits {
        let reply = case.send(&tenant, &rule, &tenant.stack.control.url, &tenant.token).await;
        faults.extend(case.fault(&reply));
    }
    assert_no_fault(&faults, limits.len(), 10);
    assert_nothing_was_taken(&tenant).await;
}

fn leases() -> Vec<Case> {
    let cut = &LEASE[..LEASE.len() - 20];
    let swapped = LEASE.replace("lease_", "LEASE_");
    let unprefixed = LEASE.trim_start_matches("lease_");
    let mut cases = Vec::new();
    for path in ["/renew", "/release"] {
        let body = |name, value: Value| Case::post(name, path, text(&json!({ "lease": value })));
        for (name, value) in [
            ("empty", json!("")),
            ("prefix alone", json!("lease_")),
            ("cut short", json!(cut)),
            ("other prefix", json!(swapped)),
            ("no prefix", json!(unprefixed)),
            ("not base64", json!("lease_****")),
            ("padded", json!(format!("{LEASE}="))),
            ("with a blank", json!(format!("{LEASE} "))),
            ("of another kind", json!("rule_01M7Y73RFB8PD7BJ7QNA0B7ZZ9")),
            ("a reservation", json!("resv_AQAHBwcHBwcHBwcHBwcHBwcH")),
            ("too long", json!(format!("lease_{}", "A".repeat(300)))),
            ("with NUL", json!("lease_\0")),
            ("number", json!(1)),
            ("null", Value::Null),
            ("list", json!([LEASE])),
        ] {
            cases.push(body(name, value).refuses("lease"));
        }
        cases.push(body("of nobody", json!(LEASE)).is(404, "not_found"));
        let more = json!({ "lease": LEASE, "lease_ms": 5 });
        cases.push(Case::post("unknown field", path, text(&more)).refuses("lease_ms"));
        cases.push(Case::post("nothing", path, "{}").refuses("lease"));
    }
    cases
}

fn surroundings() -> Vec<Case> {
    let mut cases = Vec::new();
    for path in ["/renew", "/release"] {
        cases.extend([
            Case::post("empty body", path, "").is(400, "malformed"),
            Case::post("truncated", path, "{\"lease\":").is(400, "malformed"),
            Case::post("array", path, "[]").refuses("body"),
            Case::post("not JSON", path, "{}")
                .header("content-type", "text/plain")
                .is(415, "unsupported_media_type"),
            Case::post("without a key", path, "{}").anonymous().is(401, "unauthenticated"),
            Case::post("GET", path, "").method(Method::GET).is(405, "method_not_allowed"),
        ]);
    }
    cases
}

fn limits() -> Vec<Case> {
    let rule = |name, limit: Value| {
        let mut limit = limit;
        limit["algorithm"] = json!("concurrency");
        let body = json!({ "name": "jobs", "limits": [limit] });
        Case::post(name, "/api/v1/tenants/{tenant}/rules", text(&body))
    };
    let leased = json!({ "name": "jobs", "consistency": "leased",
        "limits": [{ "algorithm": "concurrency", "capacity": 1, "lease_ms": 1_000 }] });
    let bucket = json!({ "algorithm": "token_bucket", "capacity": 500, "refill_tokens": 1,
        "refill_interval_ms": 1_000 });
    let approximate = |name, changes: Value| {
        let mut body = json!({ "name": "jobs", "consistency": "approximate", "limits": [&bucket] });
        for (field, value) in changes.as_object().into_iter().flatten() {
            body[field] = value.clone();
        }
        Case::post(name, "/api/v1/tenants/{tenant}/rules", text(&body)).refuses("consistency")
    };
    let window = json!({ "algorithm": "fixed_window", "limit": 500, "window_ms": 60_000 });
    let log = json!({ "algorithm": "sliding_window_log", "limit": 500, "window_ms": 60_000 });
    let spacing = json!({ "algorithm": "spacing", "interval_ms": 1_000 });
    vec![
        approximate("approximate fixed window", json!({ "limits": [window] })),
        approximate("approximate log", json!({ "limits": [log] })),
        approximate("approximate spacing", json!({ "limits": [spacing] })),
        approximate("two approximate limits", json!({ "limits": [&bucket, &bucket] })),
        approximate("approximate with a block", json!({ "block_ms": 1_000 })),
        approximate("approximate deny", json!({ "action": "deny", "limits": [] })),
        approximate("consistency of another case", json!({ "consistency": "Approximate" })),
        rule("capacity 0", json!({ "capacity": 0, "lease_ms": 1 })).refuses("limits[0].capacity"),
        rule("capacity 1001", json!({ "capacity": 1_001, "lease_ms": 1 }))
            .refuses("limits[0].capacity"),
        rule("lease 0", json!({ "capacity": 1, "lease_ms": 0 })).refuses("limits[0].lease_ms"),
        rule("lease of more than a day", json!({ "capacity": 1, "lease_ms": 86_400_001 }))
            .refuses("limits[0].lease_ms"),
        rule("capacity -1", json!({ "capacity": -1, "lease_ms": 1 })).refuses("limits[0].capacity"),
        rule("capacity 1.5", json!({ "capacity": 1.5, "lease_ms": 1 }))
            .refuses("limits[0].capacity"),
        rule("lease as text", json!({ "capacity": 1, "lease_ms": "1m" }))
            .refuses("limits[0].lease_ms"),
        rule("no capacity", json!({ "lease_ms": 1 })).refuses("limits[0]"),
        rule("no lease", json!({ "capacity": 1 })).refuses("limits[0]"),
        rule("another parameter", json!({ "capacity": 1, "lease_ms": 1, "window_ms": 1 }))
            .refuses("limits[0]"),
        Case::post("leased", "/api/v1/tenants/{tenant}/rules", text(&leased))
            .refuses("consistency"),
    ]
}
