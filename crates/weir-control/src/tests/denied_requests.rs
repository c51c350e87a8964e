//! The denials of one request, then and now.

use serde_json::{Value, json};
use weir_domain::id::{DenialId, GateId, OverrideId, RequestId, RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_store::{DenialDetail, DenialRow, Flush, Scope};

use super::support::{Answer, Member, Plane};

/// A window that does not end during a test, unless it runs at midnight.
const DAY_MS: i64 = 86_400_000;

async fn rule(plane: &Plane, member: &Member, name: &str) -> RuleId {
    let rule = body(name, 5, "user");
    let rule = plane.by(member, "POST", "rules").json(&rule).send().await.expect(201);
    rule.text("/id").parse().expect("an id")
}

fn body(name: &str, limit: u64, attribute: &str) -> Value {
    let limits = json!([{ "algorithm": "fixed_window", "limit": limit, "window_ms": DAY_MS }]);
    json!({ "name": name, "count_by": [attribute], "limits": limits })
}

/// Writes a denial by revision 1 of the rule, as a gate would.
pub(super) async fn denied(
    plane: &Plane,
    member: &Member,
    rule_id: RuleId,
    user: &str,
    request: u128,
) {
    let tenant_id: TenantId = member.tenant.parse().expect("an id");
    let gate_id = GateId::from_u128(7);
    let at = Timestamp::from_millis(plane.now_ms());
    let limit = json!({
        "rule": "per-user", "rule_id": rule_id.to_string(), "algorithm": "fixed_window", "mode": "enforce",
        "allowed": false, "limit": 5, "remaining": 0, "window_ms": DAY_MS, "reset_after_ms": 9000,
        "retry_after_ms": 9000, "delay_ms": 0
    });
    let row = DenialRow {
        id: DenialId::new(at, request << 64 | rule_id.to_u128()),
        tenant_id,
        at,
        namespace: "default".to_owned(),
        rule_id,
        rule: "per-user".to_owned(),
        shadow: false,
        subject: json!({ "user": user }),
        cost: 1,
        retry_after_ms: Some(9000),
        degraded: false,
        stands_for: 1,
        detail: DenialDetail {
            request_id: Some(RequestId::from_u128(request)),
            trace_id: Some(0xABC),
            rule_revision: Some(1),
            override_id: Some(OverrideId::from_u128(3)),
            also_denied_by: vec!["burst".to_owned()],
            limits: json!([limit]),
        },
    };
    let flush = Flush {
        gate_id,
        boot_id: 1,
        region: None,
        oldest_minute: at,
        age: std::time::Duration::ZERO,
    };
    let mut tx = plane.database.gate.begin("tests", Scope::Gate(gate_id)).await.expect("begin");
    tx.denials().write(&flush, &[row]).await.expect("written");
    tx.commit().await.expect("committed");
}

async fn why(plane: &Plane, member: &Member, request: u128) -> Answer {
    let path = format!("stats/denials/{}", RequestId::from_u128(request));
    plane.by(member, "GET", &path).send().await
}

#[tokio::test]
async fn denials_of_a_request_have_the_rule_and_its_counters_then_and_now() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let (first, second) = (rule(&plane, &ada, "per-user").await, rule(&plane, &ada, "burst").await);
    denied(&plane, &ada, first, "u-1", 40).await;
    denied(&plane, &ada, second, "u-2", 40).await;
    denied(&plane, &ada, first, "u-3", 41).await;
    plane.consume(&ada, &first.to_string(), "u-1").await;
    plane.advance(1_000);
    let edit = plane.by(&ada, "PUT", &format!("rules/{first}")).header("if-match", "\"1\"");
    edit.json(&body("renamed", 7, "user")).send().await.expect(200);
    let raise = json!({ "rule_id": first.to_string(), "subject": { "user": "u-1" }, "for_s": 60 });
    plane.by(&ada, "POST", "subjects/raise").json(&raise).send().await.expect(201);

    let seen = why(&plane, &ada, 40).await.expect(200).body;
    assert_eq!(seen["request_id"], RequestId::from_u128(40).to_string());
    let data = seen["data"].as_array().expect("a list");
    assert_eq!(data.len(), 2, "{seen}");
    let of = |id: RuleId| {
        let id = json!(id.to_string());
        data.iter().find(|one| one["denial"]["rule_id"] == id).expect("listed")
    };
    let edited = of(first);
    assert_eq!(edited["denial"]["rule"], "per-user", "the name at that time");
    assert_eq!(edited["denial"]["request_id"], seen["request_id"]);
    assert_eq!(edited["trace_id"], "00000000000000000000000000000abc");
    assert_eq!((&edited["rule_revision"], &edited["present_revision"]), (&json!(1), &json!(2)));
    assert_eq!(
        (&edited["limits"][0]["limit"], &edited["limits"][0]["remaining"]),
        (&json!(5), &json!(0))
    );
    assert_eq!(edited["override_id"], OverrideId::from_u128(3).to_string());
    assert_eq!(edited["also_denied_by"], json!(["burst"]));
    assert_eq!((&edited["now"]["rule"], &edited["now_unknown"]), (&json!("renamed"), &Value::Null));
    let now = &edited["now"]["limits"][0];
    assert_eq!(
        (&now["limit"], &now["remaining"]),
        (&json!(14), &json!(13)),
        "raised, one unit used"
    );
    assert_eq!(edited["now"]["override"]["subject"], json!({ "user": "u-1" }));
    let revisions = edited["revisions"].as_array().expect("a list");
    assert_eq!(revisions.len(), 1, "only those since");
    assert_eq!(
        (&revisions[0]["revision"], &revisions[0]["after"]["name"]),
        (&json!(2), &json!("renamed"))
    );
    let unchanged = of(second);
    assert_eq!(
        (&unchanged["revisions"], &unchanged["now"]["override"]),
        (&json!([]), &Value::Null)
    );
    assert_eq!(unchanged["now"]["limits"][0]["remaining"], 5);
}

#[tokio::test]
async fn denial_without_a_known_counter_says_why() {
    let plane = Plane::start().await;
    plane.limiter_up().await;
    let ada = plane.member("ada@example.com").await;
    let reason = async |request: u128| {
        let seen = why(&plane, &ada, request).await.expect(200);
        assert_eq!(seen.body["data"][0]["now"], Value::Null);
        seen.text("/data/0/now_unknown")
    };
    let long = rule(&plane, &ada, "long").await;
    denied(&plane, &ada, long, &"é".repeat(128), 50).await;
    assert!(reason(50).await.contains("first 128 characters"));

    let other = rule(&plane, &ada, "other").await;
    denied(&plane, &ada, other, "u-1", 51).await;
    let edit = plane.by(&ada, "PUT", &format!("rules/{other}")).header("if-match", "\"1\"");
    edit.json(&body("other", 5, "ip")).send().await.expect(200);
    assert_eq!(reason(51).await, "The rule counts by other attributes now.");

    let gone = rule(&plane, &ada, "gone").await;
    denied(&plane, &ada, gone, "u-1", 52).await;
    let delete = plane.by(&ada, "DELETE", &format!("rules/{gone}")).header("if-match", "\"1\"");
    delete.send().await.expect(204);
    assert_eq!(reason(52).await, "The rule was deleted.");
}

#[tokio::test]
async fn request_without_an_entry_is_404_with_every_reason_and_one_of_another_tenant_too() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let rule_id = rule(&plane, &ada, "per-user").await;
    denied(&plane, &ada, rule_id, "u-1", 60).await;
    let unknown = why(&plane, &eve, 61).await.problem(404, "not_found");
    let detail = unknown.text("/detail");
    for reason in ["no rule of this tenant", "30 days", "10 denials", "10000 entries", "ceiling"] {
        assert!(detail.contains(reason), "{reason}: {detail}");
    }
    let of_other = why(&plane, &eve, 60).await.problem(404, "not_found");
    assert_eq!(of_other.text("/detail"), detail);
    let malformed = plane.by(&ada, "GET", "stats/denials/req_1").send().await;
    assert_eq!(malformed.refused_field(), "request_id");
}
