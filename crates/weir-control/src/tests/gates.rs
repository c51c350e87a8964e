//! Gates, as tenants and operators see them.

use std::time::Duration;

use serde_json::{Value, json};
use weir_domain::id::{GateId, KeyId, TenantId};
use weir_domain::time::Timestamp;
use weir_store::{Flush, GateBeat, GateLoad, KeyHourRow, Scope, TallyCounts, TallyRow};

use super::support::{Member, Plane};

const GATE: GateId = GateId::from_u128(7);
const HOUR_MS: i64 = 3_600_000;

/// A heartbeat of a busy gate.
pub(super) async fn beat(plane: &Plane) {
    beat_of(plane, true).await;
}

async fn beat_of(plane: &Plane, redis_up: bool) {
    let beat = GateBeat { redis_up, ..heartbeat(plane) };
    plane.database.gate.beat(&beat, Duration::from_mins(1)).await.expect("a beat");
}

fn heartbeat(plane: &Plane) -> GateBeat {
    let now = Timestamp::from_millis(plane.now_ms());
    let load = GateLoad {
        interval_ms: 2_000,
        checks: 2_480,
        denied: 12,
        from_memory: 40,
        latency_p50_us: Some(310),
        latency_p99_us: None,
        leases: 3,
        leased_units: 25,
        memory_bytes: Some(1 << 20),
    };
    GateBeat {
        id: GATE,
        boot_id: 1,
        address: "http://10.1.2.3:8081".to_owned(),
        rulebook_version: 1,
        applied_at: now,
        applied_after_ms: 0,
        started_at: now,
        weir_version: "1.2.3".to_owned(),
        region: None,
        redis_up: true,
        redis_round_trip_us: None,
        load: Some(load),
    }
}

#[tokio::test]
async fn only_operators_see_the_load_of_a_gate() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let operator = plane.operator("op@example.com").await;
    beat(&plane).await;
    let load = async |member: &Member| {
        let replicas = plane.by(member, "GET", "replicas").send().await.expect(200);
        assert_eq!(replicas.text("/data/0/weir_version"), "1.2.3");
        replicas.body["data"][0]["load"].clone()
    };
    assert_eq!(load(&ada).await, Value::Null, "it tells of other tenants");
    let expected = json!({
        "interval_ms": 2_000, "checks": 2_480, "denied": 12, "from_memory": 40, "latency_p50_us": 310,
        "latency_p99_us": null, "leases": 3, "leased_units": 25, "memory_bytes": 1 << 20,
    });
    assert_eq!(load(&operator).await, expected);
    let key = plane.key(&operator, &["admin"]).await;
    let path = format!("/v1/tenants/{}/replicas", operator.tenant);
    let by_key = plane.ask("GET", &path).bearer(&key).send().await.expect(200);
    assert_eq!(by_key.body["data"][0]["load"], Value::Null, "a key is no operator");
}

#[tokio::test]
async fn gates_are_listed_by_region_and_an_unknown_one_is_refused() {
    let plane = Plane::start().await;
    let operator = plane.operator("op@example.com").await;
    let beat = async |id: u128, region: Option<&str>| {
        let region = region.map(str::to_owned);
        let beat = GateBeat { id: GateId::from_u128(id), boot_id: id, region, ..heartbeat(&plane) };
        plane.database.gate.beat(&beat, Duration::from_mins(1)).await.expect("a beat");
    };
    beat(7, None).await;
    let of_tenant = format!("/v1/tenants/{}/replicas", operator.tenant);
    for path in [of_tenant.as_str(), "/v1/operator/replicas"] {
        let read = plane.ask("GET", path).bearer(&operator.token).send().await.expect(200).body;
        assert_eq!((&read["regions"], &read["data"][0]["region"]), (&json!([]), &Value::Null));
        let path = format!("{path}?region=us");
        let refused = plane.ask("GET", &path).bearer(&operator.token).send().await;
        assert_eq!(refused.expect(422).text("/fields/0/field"), "region");
    }
    plane.has_regions(&["eu", "us"]);
    beat(8, Some("us")).await;
    beat(9, Some("eu")).await;
    beat(10, Some("us")).await;
    for path in [of_tenant.as_str(), "/v1/operator/replicas"] {
        let listed = async |query: &str| {
            let path = format!("{path}{query}");
            let read = plane.ask("GET", &path).bearer(&operator.token).send().await.expect(200);
            assert_eq!(read.body["regions"], json!(["eu", "us"]), "all of them");
            read.body["data"].as_array().expect("gates").len()
        };
        assert_eq!(listed("").await, 4);
        assert_eq!((listed("?region=eu").await, listed("?region=us").await), (1, 2));
        assert_eq!(listed("?region=").await, 1, "a gate without a region");
        let path = format!("{path}?region=ap");
        let refused = plane.ask("GET", &path).bearer(&operator.token).send().await.expect(422);
        let reason = "must be the name of a region; there are: eu, us";
        assert_eq!(refused.text("/fields/0/reason"), reason);
    }
}

/// More rules than are named, and more statistics than the outage.
#[tokio::test]
async fn without_redis_the_answers_of_the_rules_are_stated() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let replicas = async || plane.by(&ada, "GET", "replicas").send().await.expect(200).body;
    let limit = json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 });
    let rule = async |name: &str, more: Value| {
        let mut rule = json!({ "name": name, "count_by": ["user"], "limits": [limit] });
        let Value::Object(more) = more else { panic!("fields") };
        rule.as_object_mut().expect("an object").extend(more);
        plane.by(&ada, "POST", "rules").json(&rule).send().await.expect(201).text("/id")
    };
    let denying = rule("denying", json!({ "on_store_failure": "deny" })).await;
    rule("shadow", json!({ "on_store_failure": "deny", "mode": "shadow" })).await;
    rule("blocked", json!({ "limits": [], "action": "deny" })).await;
    for at in 0..9 {
        rule(&format!("allowing-{at}"), json!({})).await;
    }
    beat_of(&plane, true).await;
    assert_eq!(replicas().await["without_redis"], Value::Null);
    beat_of(&plane, false).await;
    let minute = Timestamp::from_millis(plane.now_ms() / 60_000 * 60_000);
    let row = |minutes_ago: i64, degraded: u64| TallyRow {
        tenant_id: ada.tenant.parse().expect("an id"),
        rule_id: None,
        minute: minute.plus_ms(-60_000 * minutes_ago),
        namespace: "default".to_owned(),
        counts: TallyCounts { allowed: 900, degraded, ..TallyCounts::default() },
    };
    let flush = Flush {
        gate_id: GATE,
        boot_id: 1,
        region: None,
        oldest_minute: minute,
        age: Duration::ZERO,
    };
    let mut tx = plane.database.gate.begin("tests", Scope::Gate(GATE)).await.expect("begin");
    tx.tallies().write(&flush, &[row(0, 682), row(90, 400)]).await.expect("write");
    tx.commit().await.expect("commit");
    let away = replicas().await["without_redis"].clone();
    let names = |answer: &str| -> Vec<_> {
        let first = away[answer]["first"].as_array().expect("a list").iter();
        first.map(|rule| rule["name"].clone()).collect()
    };
    assert_eq!((&away["gates"], &away["checks"]), (&json!(1), &json!(682)), "of this outage");
    assert!(away["since"].is_string(), "{away}");
    assert_eq!(
        away["deny"],
        json!({ "count": 1, "first": [{ "id": denying, "name": "denying" }] })
    );
    assert_eq!(away["allow"]["count"], 9);
    assert_eq!(names("allow"), ["allowing-0", "allowing-1", "allowing-2"]);
    assert_eq!(away["local"], json!({ "count": 0, "first": [] }));
    let eve = plane.member("eve@example.com").await;
    let theirs = plane.by(&eve, "GET", "replicas").send().await.expect(200).body;
    assert_eq!(theirs["without_redis"]["checks"], 0);
    assert_eq!(theirs["without_redis"]["allow"]["count"], 0, "{theirs}");
}

#[tokio::test]
async fn operators_see_gates_and_rollouts_without_a_tenant() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let operator = plane.operator("op@example.com").await;
    beat(&plane).await;
    let ask = async |member: &Member, path: &str| {
        plane.ask("GET", &format!("/v1/operator/{path}")).bearer(&member.token).send().await
    };
    for path in ["replicas", "replicas/rollouts"] {
        ask(&ada, path).await.problem(404, "not_found");
    }
    let replicas = ask(&operator, "replicas").await.expect(200).body;
    assert_eq!(replicas["tenant_version"], replicas["rulebook_version"]);
    assert_eq!(replicas["data"][0]["address"], "http://10.1.2.3:8081");
    assert_eq!(replicas["data"][0]["load"]["checks"], 2_480);

    // A change of a tenant of which the operator is no member, without what it changed.
    let key = json!({ "name": "k", "scopes": ["check"] });
    plane.by(&ada, "POST", "keys").json(&key).send().await.expect(201);
    let now = ask(&operator, "replicas").await.expect(200).body;
    let rollouts = ask(&operator, "replicas/rollouts?limit=1").await.expect(200).body;
    let newest = &rollouts["data"][0];
    assert_eq!(newest["rulebook_version"], now["rulebook_version"]);
    let mut fields: Vec<_> = newest.as_object().expect("an object").keys().collect();
    fields.sort_unstable();
    assert_eq!(fields, ["gates", "published_at", "rulebook_version"]);
    assert_eq!(rollouts["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(ask(&operator, "replicas/rollouts?limit=0").await.refused_field(), "limit");
}

#[tokio::test]
async fn keys_are_listed_with_their_requests_by_the_hour() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    beat(&plane).await;
    for name in ["busy", "idle"] {
        let body = json!({ "name": name, "scopes": ["check"] });
        plane.by(&ada, "POST", "keys").json(&body).send().await.expect(201);
    }
    let keys = async || plane.by(&ada, "GET", "keys").send().await.expect(200);
    let named = |listed: &Value, name: &str| {
        let keys = listed["data"].as_array().expect("a list");
        keys.iter().find(|key| key["name"] == name).expect("the key").clone()
    };
    let busy = named(&keys().await.body, "busy");
    let id = busy["id"].as_str().expect("an id");
    let (tenant_id, key_id): (TenantId, KeyId) =
        (ada.tenant.parse().expect("an id"), id.parse().expect("an id"));
    let now = Timestamp::from_millis(plane.now_ms());
    let present = now.as_millis().div_euclid(HOUR_MS) * HOUR_MS;
    let hour = |back: i64, requests: u64| {
        let hour = Timestamp::from_millis(present - back * HOUR_MS);
        KeyHourRow { tenant_id, key_id, hour, requests, used_at: hour }
    };
    let flush =
        Flush { gate_id: GATE, boot_id: 1, region: None, oldest_minute: now, age: Duration::ZERO };
    let gate = &plane.database.gate;
    let mut tx = gate.begin("tests", Scope::Gate(GATE)).await.expect("begin");
    tx.keys().count_requests(&flush, &[hour(0, 5), hour(2, 7), hour(24, 9)]).await.expect("write");
    tx.commit().await.expect("commit");

    let listed = keys().await.body;
    let [idle, busy] = ["idle", "busy"].map(|name| named(&listed, name)["requests"].clone());
    let mut hours = [0; 24];
    assert_eq!((&idle["hours"], &idle["last_gate"]), (&json!(hours), &Value::Null));
    (hours[21], hours[23]) = (7, 5);
    assert_eq!((&busy["hours"], &busy["last_hour"]), (&json!(hours), &json!(5)));
    assert_eq!(
        busy["last_gate"],
        json!({ "id": GATE.to_string(), "address": "http://10.1.2.3:8081" })
    );
}
