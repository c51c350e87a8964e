//! Bad requests to the admin API.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Case, assert_no_fault, assert_nothing_was_taken, text, watched};
use crate::harness::Tenant;

#[tokio::test]
async fn every_bad_admin_request_gets_a_reason_and_changes_nothing() {
    let (tenant, rule) = watched().await;
    let before = state(&tenant).await;
    let mut cases = rules();
    cases.extend(limits());
    cases.extend(keys_and_overrides(&rule.id));
    cases.extend(updates());
    cases.extend(sessions());
    cases.extend(surroundings(&tenant.key));
    let mut faults = Vec::new();
    for case in &cases {
        let base = format!("{}/api/v1", tenant.stack.control.url);
        let reply = case.send(&tenant, &rule, &base, &tenant.token).await;
        faults.extend(case.fault(&reply));
    }
    assert_no_fault(&faults, cases.len(), 60);
    assert_eq!(state(&tenant).await, before, "something was changed");
    assert_nothing_was_taken(&tenant).await;
}

/// The state that a bad request could have changed.
async fn state(tenant: &Tenant<'_>) -> Vec<Value> {
    let mut lists = Vec::new();
    for path in ["", "/rules", "/keys", "/overrides"] {
        let mut list = tenant.admin(Method::GET, path, &Value::Null).await.expect(200).body;
        for key in list["data"].as_array_mut().into_iter().flatten().filter(|_| path == "/keys") {
            key["last_used_at"].take(); // Presenting a key counts as a use, even if the request fails.
        }
        lists.push(list);
    }
    lists
}

fn limit() -> Value {
    json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 })
}

fn rule_with(name: &'static str, field: &str, value: impl Into<Value>) -> Case {
    let mut body = json!({ "name": "bad", "limits": [limit()] });
    body[field] = value.into();
    Case::post(name, "/tenants/{tenant}/rules", text(&body))
}

fn rules() -> Vec<Case> {
    let condition = |attribute: &str, op: &str, value: Value| json!([{ "attribute": attribute, "op": op, "value": value }]);
    let path = "/tenants/{tenant}/rules";
    vec![
        Case::post("rule not JSON", path, "{").is(400, "malformed"),
        Case::post("rule a list", path, "[]").refuses("body"),
        Case::post("rule without name", path, text(&json!({ "limits": [limit()] })))
            .refuses("name"),
        Case::post("rule too large", path, vec![b' '; 300_000]).is(413, "body_too_large"),
        rule_with("name upper case", "name", "Bad").refuses("name"),
        rule_with("name with quote", "name", "a\"b").refuses("name"),
        rule_with("name with line end", "name", "a\r\nX-Evil: 1").refuses("name"),
        rule_with("name too long", "name", "a".repeat(64)).refuses("name"),
        rule_with("name taken", "name", "watched").is(409, "name_taken"),
        rule_with("namespace", "namespace", "a b").refuses("namespace"),
        rule_with("description too long", "description", "a".repeat(1_001)).refuses("description"),
        rule_with("description NUL", "description", "a\0b").refuses("description"),
        rule_with("unknown field", "limit", json!(5)).refuses("limit"),
        rule_with("id given", "id", "rule_1").refuses("id"),
        rule_with("tenant given", "tenant_id", "tenant_1").refuses("tenant_id"),
        rule_with("action unknown", "action", "throttle").refuses("action"),
        rule_with("mode unknown", "mode", "on").refuses("mode"),
        rule_with("store failure unknown", "on_store_failure", "open").refuses("on_store_failure"),
        rule_with("limits with allow", "action", "allow").refuses("limits"),
        rule_with("block 0", "block_ms", 0).refuses("block_ms"),
        rule_with("block negative", "block_ms", -1).refuses("block_ms"),
        rule_with("count_by twice", "count_by", json!(["a", "a"])).is(422, "invalid"),
        rule_with("count_by form", "count_by", json!(["A"])).is(422, "invalid"),
        rule_with("condition unknown op", "match", condition("a", "like", json!("x")))
            .refuses("match[0].op"),
        rule_with("condition attribute", "match", condition("A", "equals", json!("x")))
            .refuses("match[0].attribute"),
        rule_with("condition regex", "match", condition("a", "regex", json!("(")))
            .refuses("match[0].value"),
        rule_with(
            "condition huge regex",
            "match",
            condition("a", "regex", json!("(a{1000}){1000}")),
        )
        .refuses("match[0].value"),
        rule_with("condition cidr", "match", condition("a", "cidr", json!("10.0.0.0/33")))
            .refuses("match[0].value"),
        rule_with("condition empty list", "match", condition("a", "one_of", json!([])))
            .refuses("match[0].value"),
    ]
}

fn limits() -> Vec<Case> {
    let with = |name, field: &str, value: Value| {
        let mut body = limit();
        body[field] = value;
        rule_with(name, "limits", json!([body]))
    };
    let one = |name, body: Value| rule_with(name, "limits", json!([body]));
    vec![
        rule_with("no limits", "limits", json!([])).refuses("limits"),
        rule_with("nine limits", "limits", json!(vec![limit(); 9])).refuses("limits"),
        with("limit 0", "limit", json!(0)).refuses("limits[0].limit"),
        with("limit -1", "limit", json!(-1)).refuses("limits[0].limit"),
        with("limit too large", "limit", json!(1_000_000_000_001_u64)).refuses("limits[0].limit"),
        one("log too long", json!({
            "algorithm": "sliding_window_log", "limit": 10_001, "window_ms": 1_000,
        }))
        .refuses("limits[0].limit"),
        with("limit text", "limit", json!("5")).refuses("limits[0].limit"),
        with("window 0", "window_ms", json!(0)).refuses("limits[0].window_ms"),
        with("window too long", "window_ms", json!(31_622_400_001_u64)).refuses("limits[0].window_ms"),
        with("window 2^53", "window_ms", json!(9_007_199_254_740_993_u64)).refuses("limits[0].window_ms"),
        with("algorithm unknown", "algorithm", json!("gcra")).refuses("limits[0].algorithm"),
        with("other's parameter", "capacity", json!(5)).is(422, "invalid"),
        with("unknown parameter", "burst", json!(5)).is(422, "invalid"),
        one("limit a list", json!(["fixed_window", 5, 60_000])).refuses("limits[0]"),
        one("window missing", json!({ "algorithm": "fixed_window", "limit": 5 })).is(422, "invalid"),
        one("algorithm missing", json!({ "limit": 5, "window_ms": 1 })).is(422, "invalid"),
        one("quota zone", json!({ "algorithm": "quota", "limit": 5, "period": "day", "time_zone": "Mars/Base" }))
            .refuses("limits[0].time_zone"),
        one("quota period", json!({ "algorithm": "quota", "limit": 5, "period": "hour", "time_zone": "UTC" }))
            .refuses("limits[0].period"),
        one("quota anchor", json!({ "algorithm": "quota", "limit": 5, "period": "month", "time_zone": "UTC", "anchor_day": 32 }))
            .refuses("limits[0].anchor_day"),
    ]
}

fn keys_and_overrides(rule_id: &str) -> Vec<Case> {
    let key = |name, body: Value| Case::post(name, "/tenants/{tenant}/keys", text(&body));
    let over = |name, body: Value| Case::post(name, "/tenants/{tenant}/overrides", text(&body));
    let scopes = json!(["check"]);
    vec![
        key("key without name", json!({ "scopes": scopes })).refuses("name"),
        key("key with empty name", json!({ "name": "", "scopes": scopes })).refuses("name"),
        key("key without scopes", json!({ "name": "k", "scopes": [] })).refuses("scopes"),
        key("key scope", json!({ "name": "k", "scopes": ["root"] })).refuses("scopes[0]"),
        key("key expiry", json!({ "name": "k", "scopes": scopes, "expires_at": "tomorrow" }))
            .refuses("expires_at"),
        key("key expired", json!({ "name": "k", "scopes": scopes, "expires_at": "2001-01-01T00:00:00Z" }))
            .refuses("expires_at"),
        over("override of no rule", json!({ "rule_id": "rule_1", "subject": {}, "action": "allow" }))
            .refuses("rule_id"),
        over("override of nobody", json!({ "rule_id": rule_id, "subject": { "user": "a" }, "action": "allow" }))
            .is(422, "invalid"),
        over("override of nothing", json!({ "rule_id": rule_id, "subject": {} })).refuses("limits"),
        over("override action", json!({ "rule_id": rule_id, "subject": {}, "action": "maybe" }))
            .refuses("action"),
        over("override limit 0", json!({ "rule_id": rule_id, "subject": {}, "limits": [{ "algorithm": "fixed_window", "limit": 0, "window_ms": 1 }] }))
            .refuses("limits[0].limit"),
    ]
}

fn updates() -> Vec<Case> {
    let body = text(&json!({ "name": "watched", "limits": [limit()] }));
    let put =
        |name| Case::post(name, "/tenants/{tenant}/rules/{rule}", body.clone()).method(Method::PUT);
    let delete = |name, path: &str| {
        Case::post(name, path, "").method(Method::DELETE).without("content-type")
    };
    vec![
        put("PUT without If-Match").is(428, "precondition_required"),
        put("PUT of another revision").header("if-match", "\"99\"").is(412, "stale"),
        put("PUT of any revision").header("if-match", "*").is(412, "stale"),
        put("PUT with a weak tag").header("if-match", "W/\"1\"").is(412, "stale"),
        put("PUT elsewhere")
            .to("/tenants/{tenant}/rules/rule_00000000000000000000000000".to_owned())
            .header("if-match", "\"1\"")
            .is(404, "not_found"),
        put("PUT to no id").to("/tenants/{tenant}/rules/1".to_owned()).is(404, "not_found"),
        delete("DELETE of a revoked key", "/tenants/{tenant}/keys/key_1").is(404, "not_found"),
        Case::post("tenant not typed back", "/tenants/{tenant}", "{\"name\":\"other\"}")
            .method(Method::DELETE)
            .refuses("name"),
    ]
}

fn sessions() -> Vec<Case> {
    let login = |name, body: Value| Case::post(name, "/auth/login", text(&body)).anonymous();
    let signup = |name, body: Value| Case::post(name, "/auth/signup", text(&body)).anonymous();
    let fine = json!({ "email": "x@example.com", "password": "correct horse", "tenant_name": "X" });
    let with = |field: &str, value: Value| {
        let mut body = fine.clone();
        body[field] = value;
        body
    };
    vec![
        login("login without password", json!({ "email": "a@b" })).refuses("password"),
        login("login of nobody", json!({ "email": "nobody@example.com", "password": "wrong one" }))
            .is(401, "unauthenticated"),
        login("login with a list", json!(["a@b", "password"])).refuses("body"),
        signup("e-mail", with("email", json!("no address"))).refuses("email"),
        signup("password short", with("password", json!("short"))).refuses("password"),
        signup("password long", with("password", json!("a".repeat(129)))).refuses("password"),
        signup("password common", with("password", json!("password1"))).refuses("password"),
        signup("tenant name", with("tenant_name", json!(" "))).refuses("tenant_name"),
        signup("role given", with("role", json!("operator"))).refuses("role"),
    ]
}

fn surroundings(check_key: &str) -> Vec<Case> {
    let get =
        |name, path: &str| Case::post(name, path, "").method(Method::GET).without("content-type");
    let bearer = format!("Bearer {check_key}");
    vec![
        get("no credential", "/tenants").anonymous().is(401, "unauthenticated"),
        get("garbage", "/tenants")
            .anonymous()
            .header("authorization", "Bearer a.b.c")
            .is(401, "unauthenticated"),
        get("key without the scope", "/tenants/{tenant}/rules")
            .anonymous()
            .header("authorization", &bearer)
            .is(403, "forbidden"),
        get("token in the address", "/tenants?access_token=a.b.c").is(400, "malformed"),
        get("no such tenant", "/tenants/tenant_00000000000000000000000000/rules")
            .is(404, "not_found"),
        get("no tenant's id", "/tenants/1/rules").is(404, "not_found"),
        get("page size 0", "/tenants/{tenant}/rules?limit=0").refuses("limit"),
        get("page size -1", "/tenants/{tenant}/rules?limit=-1").refuses("limit"),
        get("page size huge", "/tenants/{tenant}/rules?limit=1000000000").refuses("limit"),
        get("cursor", "/tenants/{tenant}/rules?cursor=%27%20OR%201%3D1").is(422, "invalid"),
        get("unknown parameter", "/tenants/{tenant}/rules?sort=name").is(422, "invalid"),
        get("unknown path", "/nothing").is(404, "not_found"),
        Case::post("no type", "/tenants/{tenant}/rules", "{}")
            .without("content-type")
            .is(415, "unsupported_media_type"),
        Case::post("text type", "/tenants/{tenant}/rules", "{}")
            .header("content-type", "text/plain")
            .is(415, "unsupported_media_type"),
        Case::post("no such method", "/tenants/{tenant}/rules", "{}")
            .method(Method::PATCH)
            .is(405, "method_not_allowed"),
        Case::post("idempotency key", "/tenants/{tenant}/rules", "{}")
            .header("idempotency-key", "k".repeat(129))
            .is(422, "invalid"),
    ]
}
