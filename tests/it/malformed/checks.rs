//! Bad requests to `/check`, `/check/batch` and `/refund`.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Case, assert_no_fault, assert_nothing_was_taken, text, watched};

#[tokio::test]
async fn every_bad_check_gets_a_reason_and_takes_nothing() {
    let (tenant, rule) = watched().await;
    let mut cases = bodies();
    cases.extend(json_oddities());
    cases.extend(fields());
    cases.extend(batches_and_refunds());
    cases.extend(credentials(&tenant.key));
    cases.extend(surroundings());
    let mut faults = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let base = &tenant.stack.gates[at % 2].url;
        let reply = case.send(&tenant, &rule, base, &tenant.key).await;
        faults.extend(case.fault(&reply));
    }
    assert_no_fault(&faults, cases.len(), 60);
    assert_nothing_was_taken(&tenant).await;
}

fn check(name: &'static str, body: impl Into<Vec<u8>>) -> Case {
    Case::post(name, "/check", body)
}

fn field(name: &'static str, key: &str, value: impl Into<Value>) -> Case {
    check(name, text(&json!({ key: value.into() })))
}

/// S-50, and bodies that are not JSON.
fn bodies() -> Vec<Case> {
    let of_size = |bytes: usize| {
        let mut body = b"{\"cost\":0}".to_vec();
        body.resize(bytes, b' ');
        body
    };
    vec![
        check("empty body", "").is(400, "malformed"),
        check("blank body", "  \n ").is(400, "malformed"),
        check("truncated", "{\"cost\":").is(400, "malformed"),
        check("bare word", "cost").is(400, "malformed"),
        check("single quotes", "{'cost':1}").is(400, "malformed"),
        check("trailing comma", "{\"cost\":1,}").is(400, "malformed"),
        check("trailing bytes", "{\"cost\":1} x").is(400, "malformed"),
        check("two documents", "{\"cost\":1}{\"cost\":1}").is(400, "malformed"),
        check("comment", "{/* */\"cost\":1}").is(400, "malformed"),
        check("not UTF-8", b"{\"namespace\":\"\xff\xfe\"}".to_vec()).is(400, "malformed"),
        check("byte order mark", "\u{feff}{}").is(400, "malformed"),
        check("form", "cost=1").is(400, "malformed"),
        check("raw newline in a text", "{\"namespace\":\"a\nb\"}").is(400, "malformed"),
        check("of exactly the bound", of_size(64 * 1024)).refuses("cost"),
        check("one byte more", of_size(64 * 1024 + 1)).is(413, "body_too_large"),
        check("far too large", of_size(200 * 1024)).is(413, "body_too_large"),
    ]
}

/// S-51: bodies with unusual JSON.
fn json_oddities() -> Vec<Case> {
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let deep_field = format!("{{\"attributes\":{deep}}}");
    let many: serde_json::Map<_, _> = (0..5_000).map(|at| (format!("a{at}"), json!(1))).collect();
    vec![
        check("array", "[]").refuses("body"),
        check("array of fields", "[\"default\",{},1]").refuses("body"),
        check("text", "\"check\"").refuses("body"),
        check("number", "1").refuses("body"),
        check("null", "null").refuses("body"),
        check("deep", deep).is(400, "malformed"),
        check("deep field", deep_field).is(400, "malformed"),
        check("field twice", "{\"cost\":1,\"cost\":2}").is(422, "invalid"),
        check("field twice, escaped", "{\"cost\":1,\"c\\u006fst\":2}").is(422, "invalid"),
        check("attribute twice", "{\"attributes\":{\"a\":\"1\",\"a\":\"2\"}}").is(422, "invalid"),
        check("very many fields", text(&Value::Object(many))).is(422, "invalid"),
        check("number that is infinite", "{\"cost\":1e400}").is(400, "malformed"),
        check("lone surrogate", "{\"namespace\":\"\\ud800\"}").is(400, "malformed"),
        check("unknown field", "{\"costs\":1}").refuses("costs"),
        check("unknown case", "{\"Cost\":1}").refuses("Cost"),
        check("privileged field", "{\"tenant_id\":\"tenant_1\"}").refuses("tenant_id"),
    ]
}

/// The bounds of each field; S-62 for the cost.
fn fields() -> Vec<Case> {
    let many: serde_json::Map<_, _> = (0..33).map(|at| (format!("a{at}"), json!("x"))).collect();
    vec![
        field("cost 0", "cost", 0).refuses("cost"),
        field("cost -1", "cost", -1).refuses("cost"),
        field("cost too large", "cost", 1_000_000_001).refuses("cost"),
        check("cost 2^64", "{\"cost\":18446744073709551616}").refuses("cost"),
        check("cost -0", "{\"cost\":-0}").refuses("cost"),
        field("cost 1.5", "cost", 1.5).refuses("cost"),
        check("cost 1.0", "{\"cost\":1.0}").refuses("cost"),
        field("cost as text", "cost", "1").refuses("cost"),
        field("cost true", "cost", true).refuses("cost"),
        field("cost null", "cost", Value::Null).refuses("cost"),
        field("namespace empty", "namespace", "").refuses("namespace"),
        field("namespace upper case", "namespace", "Api").refuses("namespace"),
        field("namespace too long", "namespace", "a".repeat(64)).refuses("namespace"),
        field("namespace with line end", "namespace", "api\n").refuses("namespace"),
        field("namespace with slash", "namespace", "../api").refuses("namespace"),
        field("namespace null", "namespace", Value::Null).refuses("namespace"),
        field("attributes list", "attributes", json!(["a"])).refuses("attributes"),
        field("attributes null", "attributes", Value::Null).refuses("attributes"),
        field("33 attributes", "attributes", Value::Object(many)).refuses("attributes"),
        field("attribute number", "attributes", json!({ "user": 1 })).refuses("attributes.user"),
        field("attribute null", "attributes", json!({ "user": null })).refuses("attributes.user"),
        field("attribute name", "attributes", json!({ "User": "a" })).refuses("attributes.User"),
        field("attribute no name", "attributes", json!({ "": "a" })).refuses("attributes."),
        field("attribute too long", "attributes", json!({ "user": "a".repeat(513) }))
            .refuses("attributes.user"),
        field("attribute too long in bytes", "attributes", json!({ "user": "ä".repeat(257) }))
            .refuses("attributes.user"),
        field("attribute with NUL", "attributes", json!({ "user": "a\0" }))
            .refuses("attributes.user"),
        field("mode unknown", "mode", "look").refuses("mode"),
        field("mode upper case", "mode", "Peek").refuses("mode"),
        field("idempotency key empty", "idempotency_key", "").refuses("idempotency_key"),
        field("idempotency key too long", "idempotency_key", "k".repeat(129))
            .refuses("idempotency_key"),
        field("idempotency key number", "idempotency_key", 1).refuses("idempotency_key"),
    ]
}

fn batches_and_refunds() -> Vec<Case> {
    let batch = |name, body: Value| Case::post(name, "/check/batch", text(&body));
    let refund = |name, body: Value| Case::post(name, "/refund", text(&body));
    let (fine, bad) = (json!({}), json!({ "cost": 0 }));
    vec![
        batch("no checks", json!({ "checks": [] })).refuses("checks"),
        batch("checks missing", json!({})).refuses("checks"),
        batch("101 checks", json!({ "checks": vec![fine.clone(); 101] })).refuses("checks"),
        batch("checks not a list", json!({ "checks": {} })).refuses("checks"),
        batch("second is bad", json!({ "checks": [fine, bad] })).refuses("checks[1].cost"),
        batch("second is misspelt", json!({ "checks": [{}, { "costs": 1 }] }))
            .refuses("checks[1].costs"),
        batch("a batch of lists", json!({ "checks": [["default", {}, 1]] })).refuses("checks[0]"),
        refund("refund of 0", json!({ "cost": 0 })).refuses("cost"),
        refund("refund of -1", json!({ "cost": -1 })).refuses("cost"),
        refund("refund with a mode", json!({ "mode": "peek" })).refuses("mode"),
        refund("refund with an empty key", json!({ "idempotency_key": "" }))
            .refuses("idempotency_key"),
        refund("refund with a long key", json!({ "idempotency_key": "k".repeat(129) }))
            .refuses("idempotency_key"),
        refund("refund of no charge", json!({ "charge": "chg_" })).refuses("charge"),
        refund("refund of a number", json!({ "charge": 1 })).refuses("charge"),
        refund("refund of a long charge", json!({ "charge": "chg_1.1.1-1".repeat(200) }))
            .refuses("charge"),
        refund("refund of more than the charge", json!({ "charge": "chg_1.1", "cost": 2 }))
            .refuses("cost"),
    ]
}

/// S-36, S-40: credentials.
fn credentials(key: &str) -> Vec<Case> {
    let with = |name, value: &[u8]| {
        let case = check(name, "{}").anonymous().header("authorization", value);
        case.is(401, "unauthenticated")
    };
    let bearer = |key: &str| format!("Bearer {key}").into_bytes();
    let mut other_last = key.to_owned();
    let last = if other_last.pop() == Some('0') { '1' } else { '0' };
    other_last.push(last);
    let mut other_middle = key.as_bytes().to_vec();
    let middle = key.len() / 2;
    other_middle[middle] = if other_middle[middle] == b'a' { b'b' } else { b'a' };
    let in_query = |name, path: String| check(name, "{}").to(path).is(400, "malformed");
    vec![
        check("no credential", "{}").anonymous().is(401, "unauthenticated"),
        with("empty", b""),
        with("scheme alone", b"Bearer"),
        with("scheme and blank", b"Bearer "),
        with("other scheme", format!("Basic {key}").as_bytes()),
        with("no scheme", key.as_bytes()),
        with("wrong checksum", &bearer(&other_last)),
        with("other secret", &[b"Bearer ".as_slice(), &other_middle].concat()),
        with("truncated", &bearer(&key[..key.len() - 1])),
        with("longer", &bearer(&format!("{key}0"))),
        with("blank inside", &bearer(&key.replacen('_', "_ ", 1))),
        with("two blanks", &bearer(&format!(" {key}"))),
        with("upper case", &bearer(&key.to_uppercase())),
        with("very long", &bearer(&format!("{key}{}", "0".repeat(40_000)))),
        with("not ASCII", "Bearer weir_\u{e4}\u{f6}".as_bytes()),
        with("not UTF-8", b"Bearer weir_\xff"),
        with("another product's", b"Bearer sk_live_0123456789abcdef"),
        check("two credentials", "{}").header("x-api-key", key).is(401, "unauthenticated"),
        check("unknown in X-Api-Key", "{}")
            .anonymous()
            .header("x-api-key", "weir_nobody")
            .is(401, "unauthenticated"),
        in_query("key in the address", format!("/check?api_key={key}")),
        in_query("token in the address", format!("/check?access_token={key}")),
    ]
}

/// S-57, and other parts of HTTP.
fn surroundings() -> Vec<Case> {
    let typed = |name, value: &str| {
        check(name, "{}").header("content-type", value).is(415, "unsupported_media_type")
    };
    let by = |name, method: Method| {
        check(name, "").method(method).without("content-type").is(405, "method_not_allowed")
    };
    let at = |name, path: &str| Case::post(name, path, "{}");
    vec![
        typed("text", "text/plain"),
        typed("form type", "application/x-www-form-urlencoded"),
        typed("other JSON", "application/json5"),
        typed("list of types", "application/json, text/plain"),
        check("no type", "{}").without("content-type").is(415, "unsupported_media_type"),
        by("GET", Method::GET),
        by("PUT", Method::PUT),
        by("PATCH", Method::PATCH),
        by("DELETE", Method::DELETE),
        by("TRACE", Method::TRACE),
        by("unknown method", Method::from_bytes(b"BREW").expect("a token")),
        at("deny_status 201", "/check?deny_status=201").refuses("deny_status"),
        at("deny_status text", "/check?deny_status=yes").refuses("deny_status"),
        at("unknown parameter", "/check?deny=200").refuses("deny"),
        at("trailing slash", "/check/").is(404, "not_found"),
        at("unknown path", "/checks").is(404, "not_found"),
        at("admin path", "/api/v1/tenants").is(404, "not_found"),
        at("climbing path", "/check/../../etc/passwd").is(404, "not_found"),
    ]
}
