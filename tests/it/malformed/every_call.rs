//! Bad requests to every call of a gate: bodies, JSON, credentials and the rest of HTTP. The other files have the rows that belong to one
//! call. Here are those of `/record`, whose fields are those of a check, and of questions about deferred jobs.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Case, assert_no_fault, assert_nothing_was_taken, faults, text, watched};

const CALLS: [&str; 10] = [
    "/check/batch",
    "/record",
    "/refund",
    "/reserve",
    "/commit",
    "/cancel",
    "/renew",
    "/release",
    "/exhaust",
    "/defer",
];

/// The id of a job that no tenant has.
const JOB: &str = "deferred_01M7Y73RFB8PD7BJ7QNA0B7ZZ9";

#[tokio::test]
async fn every_call_refuses_what_is_no_request_and_takes_nothing() {
    let (tenant, rule) = watched().await;
    let (_, key, version) = tenant.make_key(&["check", "exhaust"]).await;
    tenant.settled(version).await;
    let mut wrong = Vec::new();
    for path in CALLS {
        let mut cases = bodies(path);
        cases.extend(json_oddities(path));
        cases.extend(surroundings(path));
        cases.extend(credentials(&Case::post("", path, "{}"), &key));
        let found = faults(&tenant, &rule, &cases, &key).await;
        wrong.extend(found.into_iter().map(|fault| format!("{path} {fault}")));
        assert!(cases.len() >= 40, "{path} has only {}", cases.len());
    }
    assert_no_fault(&wrong, CALLS.len(), 10);
    assert_nothing_was_taken(&tenant).await;
}

#[tokio::test]
async fn every_bad_record_gets_a_reason_and_charges_nothing() {
    let (tenant, rule) = watched().await;
    let cases = records();
    let faults = faults(&tenant, &rule, &cases, &tenant.key).await;
    assert_no_fault(&faults, cases.len(), 40);
    assert_nothing_was_taken(&tenant).await;
}

#[tokio::test]
async fn every_bad_question_about_a_job_gets_a_reason() {
    let (tenant, rule) = watched().await;
    for method in [Method::GET, Method::DELETE] {
        let mut cases: Vec<_> =
            ids().iter().map(|id| about("no such job", id).is(404, "not_found")).collect();
        cases.extend(credentials(&about("", JOB), &tenant.key));
        cases.extend([
            about("key in the address", &format!("{JOB}?api_key={}", tenant.key))
                .is(400, "malformed"),
            about("token in the address", &format!("{JOB}?access_token={}", tenant.key))
                .is(400, "malformed"),
        ]);
        let cases: Vec<_> = cases.into_iter().map(|case| case.method(method.clone())).collect();
        let faults = faults(&tenant, &rule, &cases, &tenant.key).await;
        assert_no_fault(&faults, cases.len(), 40);
    }
    let others = [Method::PUT, Method::PATCH, Method::POST];
    let cases = others
        .map(|method| about("another method", JOB).method(method).is(405, "method_not_allowed"));
    assert_no_fault(&faults(&tenant, &rule, &cases, &tenant.key).await, cases.len(), 3);
    assert_nothing_was_taken(&tenant).await;
}

fn bodies(path: &str) -> Vec<Case> {
    let malformed = |name, body: &str| Case::post(name, path, body).is(400, "malformed");
    vec![
        malformed("empty body", ""),
        malformed("blank body", "  \n "),
        malformed("truncated", "{\"cost\":"),
        malformed("bare word", "cost"),
        malformed("single quotes", "{'cost':1}"),
        malformed("trailing comma", "{\"cost\":1,}"),
        malformed("trailing bytes", "{} x"),
        malformed("two documents", "{}{}"),
        malformed("comment", "{/* */}"),
        malformed("byte order mark", "\u{feff}{}"),
        malformed("form", "cost=1"),
        malformed("raw newline in a text", "{\"namespace\":\"a\nb\"}"),
        malformed("number that is infinite", "{\"cost\":1e400}"),
        malformed("lone surrogate", "{\"namespace\":\"\\ud800\"}"),
        malformed("deep", &("[".repeat(10_000) + &"]".repeat(10_000))),
        Case::post("not UTF-8", path, b"{\"namespace\":\"\xff\xfe\"}".to_vec())
            .is(400, "malformed"),
    ]
}

fn json_oddities(path: &str) -> Vec<Case> {
    let post = |name, body: &str| Case::post(name, path, body);
    vec![
        post("array", "[]").refuses("body"),
        post("array of fields", "[\"default\",{},1]").refuses("body"),
        post("text", "\"check\"").refuses("body"),
        post("number", "1").refuses("body"),
        post("true", "true").refuses("body"),
        post("null", "null").refuses("body"),
        post("unknown field", "{\"costs\":1}").refuses("costs"),
        post("unknown case", "{\"Cost\":1}").refuses("Cost"),
        post("privileged field", "{\"tenant_id\":\"tenant_1\"}").refuses("tenant_id"),
        post("field twice", "{\"cost\":1,\"cost\":2}").is(422, "invalid"),
        post("field twice, escaped", "{\"cost\":1,\"c\\u006fst\":2}").is(422, "invalid"),
    ]
}

fn surroundings(path: &str) -> Vec<Case> {
    let typed = |name, value: &str| {
        let case = Case::post(name, path, "{}").header("content-type", value);
        case.is(415, "unsupported_media_type")
    };
    let by = |name, method: Method| {
        let case = Case::post(name, path, "").method(method).without("content-type");
        case.is(405, "method_not_allowed")
    };
    vec![
        typed("text", "text/plain"),
        typed("form type", "application/x-www-form-urlencoded"),
        typed("other JSON", "application/json5"),
        Case::post("no type", path, "{}").without("content-type").is(415, "unsupported_media_type"),
        Case::post("compressed", path, "{}")
            .header("content-encoding", "gzip")
            .is(415, "unsupported_media_type"),
        by("GET", Method::GET),
        by("PUT", Method::PUT),
        by("PATCH", Method::PATCH),
        by("DELETE", Method::DELETE),
        Case::post("trailing slash", &format!("{path}/"), "{}").is(404, "not_found"),
    ]
}

/// The request with wrong credentials.
fn credentials(request: &Case, key: &str) -> Vec<Case> {
    let again = |name| Case::post(name, &request.path, request.body.clone()).anonymous();
    let with = |name, value: &str| again(name).header("authorization", value);
    [
        again("no credential"),
        with("empty", ""),
        with("scheme alone", "Bearer"),
        with("other scheme", &format!("Basic {key}")),
        with("no scheme", key),
        with("truncated key", &format!("Bearer {}", &key[..key.len() - 1])),
        with("longer key", &format!("Bearer {key}0")),
        with("two blanks", &format!("Bearer  {key}")),
        with("another product's key", "Bearer sk_live_0123456789abcdef"),
        again("unknown key in X-Api-Key").header("x-api-key", "weir_nobody"),
    ]
    .map(|case| case.is(401, "unauthenticated"))
    .into()
}

fn record(name: &'static str, key: &str, value: impl Into<Value>) -> Case {
    Case::post(name, "/record", text(&json!({ key: value.into() })))
}

fn records() -> Vec<Case> {
    let many: serde_json::Map<_, _> = (0..33).map(|at| (format!("a{at}"), json!("x"))).collect();
    let user = |name, value: Value| {
        record(name, "attributes", json!({ "user": value })).refuses("attributes.user")
    };
    let cost = |name, value: Value| record(name, "cost", value).refuses("cost");
    let namespace = |name, value: Value| record(name, "namespace", value).refuses("namespace");
    let key =
        |name, value: Value| record(name, "idempotency_key", value).refuses("idempotency_key");
    vec![
        cost("cost -1", json!(-1)),
        cost("cost too large", json!(1_000_000_001)),
        cost("cost 2^53", json!(9_007_199_254_740_992_u64)),
        cost("cost 2^64 - 1", json!(u64::MAX)),
        cost("cost 1e300", json!(1e300)),
        cost("cost 1.5", json!(1.5)),
        cost("cost as text", json!("1")),
        cost("cost as empty text", json!("")),
        cost("cost true", json!(true)),
        cost("cost null", Value::Null),
        cost("cost list", json!([1])),
        cost("cost object", json!({ "units": 1 })),
        namespace("namespace empty", json!("")),
        namespace("namespace upper case", json!("Api")),
        namespace("namespace too long", json!("a".repeat(64))),
        namespace("namespace with a blank", json!("a b")),
        namespace("namespace with a line end", json!("api\n")),
        namespace("namespace with a slash", json!("../api")),
        namespace("namespace number", json!(1)),
        namespace("namespace null", Value::Null),
        record("attributes list", "attributes", json!(["a"])).refuses("attributes"),
        record("attributes text", "attributes", "user=1").refuses("attributes"),
        record("attributes null", "attributes", Value::Null).refuses("attributes"),
        record("33 attributes", "attributes", Value::Object(many)).refuses("attributes"),
        record("attribute name", "attributes", json!({ "User": "a" })).refuses("attributes.User"),
        record("attribute without a name", "attributes", json!({ "": "a" })).refuses("attributes."),
        user("attribute number", json!(1)),
        user("attribute true", json!(true)),
        user("attribute null", Value::Null),
        user("attribute list", json!(["a"])),
        user("attribute too long", json!("a".repeat(513))),
        user("attribute too long in bytes", json!("ä".repeat(257))),
        user("attribute with NUL", json!("a\0")),
        user("attribute with a line end", json!("a\nb")),
        key("key empty", json!("")),
        key("key too long", json!("k".repeat(129))),
        key("key number", json!(1)),
        record("a mode", "mode", "peek").refuses("mode"),
        record("a time to live", "ttl_ms", 1_000).refuses("ttl_ms"),
        record("a reservation", "reservation", "resv_x").refuses("reservation"),
        Case::post("attribute twice", "/record", "{\"attributes\":{\"a\":\"1\",\"a\":\"2\"}}")
            .is(422, "invalid"),
    ]
}

/// A question about a job.
fn about(name: &'static str, id: &str) -> Case {
    Case::post(name, &format!("/deferred/{id}"), "").without("content-type")
}

/// Texts that are the ids of no jobs.
fn ids() -> Vec<String> {
    let digits = JOB.trim_start_matches("deferred_");
    let mut ids: Vec<String> = [
        JOB,
        "deferred_",
        "deferred",
        "deferred_1",
        "deferred_x",
        "deferred_0",
        "-",
        "_",
        "0",
        "1",
        "null",
        "undefined",
        "true",
        "{id}",
        "*",
        "%20",
        "%00",
        "%0d%0a",
        "%2e%2e%2fcheck",
        "%27%20OR%201%3D1",
        "%c3%a4",
        "%F0%9F%A6%80",
        "webhook_01M7Y73RFB8PD7BJ7QNA0B7ZZ9",
        "rule_01M7Y73RFB8PD7BJ7QNA0B7ZZ9",
    ]
    .map(str::to_owned)
    .into();
    ids.extend([
        digits.to_owned(),
        JOB.to_lowercase(),
        JOB.to_uppercase(),
        format!("{JOB}0"),
        format!("{JOB}%20"),
        format!("%20{JOB}"),
        JOB[..JOB.len() - 1].to_owned(),
        format!("deferred-{digits}"),
        format!("deferred_{}", "8".repeat(26)),
        format!("deferred_{}", "Z".repeat(26)),
        format!("deferred_{}", "0".repeat(500)),
    ]);
    ids
}
