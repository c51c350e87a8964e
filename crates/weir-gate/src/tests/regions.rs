//! The internal listener under attack: calls that are forged, repeated, late, for another gate, too large, or that name what
//! this rulebook does not know.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::regions::{Region, Regions};
use weir_domain::request::Operation;
use weir_domain::spread::SpreadKey;
use weir_domain::subject::SubjectKey;
use weir_http::plane::{Plane, PlaneSettings};
use weir_http::request_id::RequestIds;
use weir_redis::limiter::{Answer, ScriptCheck};
use weir_redis::signal::Signal;
use weir_region::{PATH, RegionKey, RegionKeys, SIGNATURE_HEADER};
use weir_wire::stored::StoredRule;

use super::support::{Gate, Keys};
use crate::requests::openapi::router;

const NOW_MS: i64 = 1_763_726_400_000;
const RUN: u64 = 77;

/// A gate of the home region, with its internal listener.
struct Home {
    gate: Gate,
    keys: Keys,
    internal: Plane,
    signing: RegionKeys,
    tenant: u128,
    rule: u128,
    next: u64,
}

fn signing(seed: u8) -> RegionKeys {
    RegionKeys::new(&[RegionKey::derive(&[seed; 32])]).expect("a key")
}

fn plane(router: Router) -> Plane {
    let settings = PlaneSettings { request_ids: RequestIds::new(|| 0), request_deadline: None };
    Plane::new(router, settings)
}

impl Home {
    async fn start(reach: &str) -> Self {
        let (mut tenant, mut rule) = (0, 0);
        let (gate, keys, _) = Gate::with(|first, installation| {
            let stored = &first.rules[0];
            let mut body: Value = serde_json::from_str(&stored.body).expect("a rule");
            body["reach"] = json!(reach);
            body["limits"][0]["algorithm"] = json!("fixed_window");
            let id = stored.id.clone();
            rule = id.parse::<RuleId>().expect("an id").to_u128();
            tenant = first.id.parse::<TenantId>().expect("an id").to_u128();
            first.rules[0] = Arc::new(StoredRule {
                id,
                body: body.to_string().into(),
                slots: stored.slots.clone(),
                revision: stored.revision,
                newer_unreadable: None,
            });
            let gates = vec!["https://gate".to_owned()];
            let eu = Region { name: "eu".to_owned(), gates };
            installation.regions = Regions::parse(Some("eu"), vec![eu]).expect("regions");
        })
        .await;
        let redis = weir_redis::client(&weir_local::shared::redis().url()).expect("an address");
        let signal = Signal::start(redis, CancellationToken::new());
        let internal = crate::internal_router(gate.state(), signing(1), u128::from(RUN), signal);
        let internal = plane(internal);
        Self { gate, keys, internal, signing: signing(1), tenant, rule, next: 0 }
    }

    /// A call with one check, which takes one unit.
    fn call(&mut self) -> Value {
        self.next += 1;
        let check = json!({ "tenant": number(self.tenant), "namespace": "default", "operation": "consume", "cost": 1,
            "rules": [{ "rule": number(self.rule), "subject": "5" }] });
        json!({ "to": number(RUN), "time_ms": NOW_MS, "number": number(self.next), "work": [{ "check": [check] }] })
    }

    async fn send(&self, body: &str, signature: Option<&str>) -> (u16, Value) {
        let mut request = Request::post(PATH).header("content-type", "application/json");
        if let Some(signature) = signature {
            request = request.header(SIGNATURE_HEADER, signature);
        }
        let request = request.body(Body::from(body.to_owned())).expect("a request");
        let response = self.internal.answer(request).await;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn signed(&self, call: &Value) -> (u16, Value) {
        let body = call.to_string();
        self.send(&body, Some(&self.signing.sign(body.as_bytes()))).await
    }

    /// Takes one unit, as the gate itself does.
    async fn take_one(&self) {
        let rule = RuleId::from_u128(self.rule);
        let book = self.gate.state().held.current().expect("a rulebook");
        let tenant = TenantId::from_u128(self.tenant);
        let active = book.tenant(tenant).and_then(|rules| rules.rule(rule)).expect("the rule");
        let charge = RuleCharge::new(active.clone(), SubjectKey(5), SpreadKey::NONE);
        let check = ScriptCheck {
            tenant,
            namespace: "default",
            operation: Operation::Consume,
            cost: 1,
            rules: &[charge],
            lease_id: LeaseId::default(),
            idempotency: None,
            charged: None,
        };
        let taken = self.gate.state().limiter.check(&[check]).await.remove(0);
        assert!(matches!(taken, Ok(Answer::Decided(..))), "{taken:?}");
    }

    /// The units that are left of two, after a peek of one.
    async fn left(&mut self) -> u64 {
        let mut call = self.call();
        call["work"][0]["check"][0]["operation"] = json!("inspect");
        let (status, answer) = self.signed(&call).await;
        assert_eq!(status, 200, "{answer}");
        answer["answers"][0][0]["decided"][1][0][1].as_u64().expect("units")
    }
}

/// A number of 128 bits as calls have it.
fn number(value: impl Into<u128>) -> Value {
    json!(format!("{:x}", value.into()))
}

#[tokio::test]
async fn signed_call_is_decided_by_this_rulebook_and_redis() {
    let mut home = Home::start("world").await;
    for (allowed, left) in [(true, 1), (true, 0), (false, 0)] {
        let call = home.call();
        let (status, answer) = home.signed(&call).await;
        assert_eq!((status, &answer["done"]), (200, &json!(true)), "{answer}");
        let decision = &answer["answers"][0][0]["decided"][1][0];
        assert_eq!((decision[0].as_bool(), decision[1].as_u64()), (Some(allowed), Some(left)));
    }
}

#[tokio::test]
async fn forged_repeated_and_late_calls_take_nothing() {
    let mut home = Home::start("world").await;
    let call = home.call();
    let body = call.to_string();
    let own = home.signing.sign(body.as_bytes());
    let other = signing(2).sign(body.as_bytes());
    let changed = body.replace("\"cost\":1", "\"cost\":2");
    assert_ne!(changed, body);
    for (body, signature) in [
        (&body, None),
        (&body, Some("")),
        (&body, Some(other.as_str())),
        (&body, Some(&own[..own.len() - 1])),
        (&changed, Some(own.as_str())),
    ] {
        assert_eq!(home.send(body, signature).await.0, 401, "{signature:?}");
    }
    assert_eq!(home.left().await, 2);
    assert_eq!(home.send(&body, Some(&own)).await.0, 200);
    for _ in 0..3 {
        assert_eq!(home.send(&body, Some(&own)).await.0, 401, "a repeat");
    }
    for skew_ms in [-30_001, 30_001, i64::MIN / 2] {
        let mut call = home.call();
        call["time_ms"] = json!(NOW_MS + skew_ms);
        assert_eq!(home.signed(&call).await.0, 401, "{skew_ms}");
    }
    assert_eq!(home.left().await, 1);
}

#[tokio::test]
async fn neither_an_api_key_nor_another_path_reaches_the_internal_listener() {
    let mut home = Home::start("world").await;
    let call = home.call();
    for key in [&home.keys.check, &home.keys.read] {
        let request = Request::post(PATH)
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json");
        let request = request.body(Body::from(call.to_string())).expect("a request");
        assert_eq!(home.internal.answer(request).await.status().as_u16(), 401);
    }
    for path in ["/check", "/metrics", "/region/other"] {
        let request = Request::post(path).body(Body::empty()).expect("a request");
        assert_eq!(home.internal.answer(request).await.status().as_u16(), 404, "{path}");
    }
    let public = plane(router(home.gate.state(), &[]));
    let body = call.to_string();
    let request = Request::post(PATH)
        .header(SIGNATURE_HEADER, home.signing.sign(body.as_bytes()))
        .body(Body::from(body))
        .expect("a request");
    assert_eq!(public.answer(request).await.status().as_u16(), 404);
    assert_eq!(home.left().await, 2);
}

#[tokio::test]
async fn call_for_another_run_does_nothing_and_learns_this_one() {
    let mut home = Home::start("world").await;
    for to in [json!(null), json!("78")] {
        let mut call = home.call();
        call["to"] = to;
        let (status, answer) = home.signed(&call).await;
        assert_eq!(
            (status, answer),
            (200, json!({ "from": number(RUN), "done": false, "answers": [] }))
        );
    }
    assert_eq!(home.left().await, 2);
}

#[tokio::test]
async fn call_that_names_what_the_rulebook_does_not_know_or_leaves_the_bounds_takes_nothing() {
    let mut home = Home::start("world").await;
    let check = |home: &mut Home| home.call()["work"][0]["check"][0].clone();
    let of = |home: &Home, field: &str| match field {
        "tenant" => number(home.tenant + 1),
        "namespace" => json!("other"),
        "cost" => json!(1_000_000_000_001_u64),
        "rules" => json!([]),
        "operation" => json!({ "reserve": { "id": "1", "ttl_ms": 1, "at_most": false } }),
        "idempotency" => {
            json!({ "key": "k".repeat(2_000), "fingerprint": "", "text": "", "recorded_for_ms": 1 })
        }
        "charged" => json!("chg_?"),
        _ => json!(null),
    };
    for field in ["tenant", "namespace", "cost", "rules", "operation", "idempotency", "charged"] {
        let mut call = home.call();
        call["work"][0]["check"][0][field] = of(&home, field);
        let (status, answer) = home.signed(&call).await;
        let failed = json!([[{ "failed": { "possibly_run": false } }]]);
        assert_eq!((status, &answer["answers"]), (200, &failed), "{field}: {answer}");
    }
    let rule = number(home.rule);
    for wrong in [
        json!({ "rule": "1", "subject": "5" }),
        json!({ "rule": rule, "subject": "5", "override_id": "3" }),
        json!({ "rule": rule, "subject": "5", "keep_share": 1_001 }),
        json!({ "rule": rule, "subject": "5", "own_cost": 1_000_000_000_001_u64 }),
    ] {
        let mut call = home.call();
        call["work"][0]["check"][0]["rules"] = json!([wrong]);
        let (_, answer) = home.signed(&call).await;
        assert_eq!(answer["answers"][0][0]["failed"]["possibly_run"], false, "{wrong}: {answer}");
    }
    let mut call = home.call();
    call["work"] = json!([{ "check": vec![check(&mut home); 513] }]);
    assert_eq!(home.signed(&call).await.0, 422, "513 checks");
    let mut call = home.call();
    call["more"] = json!(1);
    assert_eq!(home.signed(&call).await.0, 422, "an unknown field");
    let huge = "x".repeat(5 << 20);
    let signature = home.signing.sign(huge.as_bytes());
    assert_eq!(home.send(&huge, Some(&signature)).await.0, 413, "5 MiB");
    assert_eq!(home.left().await, 2);
}

#[tokio::test]
async fn counters_of_a_region_are_inspected_and_reset_for_a_control_plane() {
    for reach in ["region", "world"] {
        let mut home = Home::start(reach).await;
        home.take_one().await;
        assert_eq!(home.left().await, 1);
        let reset = |home: &mut Home, tenant: u128| {
            let mut call = home.call();
            call["work"][0]["check"][0]["operation"] = json!("inspect");
            call["work"][0]["check"][0]["tenant"] = number(tenant);
            let check = call["work"][0]["check"].take();
            call["work"] = json!([{ "reset": check }]);
            call
        };
        let tenant = home.tenant;
        let unknown = reset(&mut home, tenant + 100);
        let failed = json!([[{ "failed": { "possibly_run": false } }]]);
        assert_eq!(home.signed(&unknown).await.1["answers"], failed);
        assert_eq!(home.left().await, 1);
        let known = reset(&mut home, tenant);
        assert_eq!(home.signed(&known).await.1["answers"], json!([[{ "reset": 1 }]]));
        assert_eq!(home.left().await, 2);
    }
}

#[tokio::test]
async fn units_of_windows_are_read_only_for_known_tenants() {
    let mut home = Home::start("region").await;
    home.take_one().await;
    let rule = number(home.rule);
    let counter = |slot: u16| json!({ "namespace": "default", "spread": 0, "subject": "5", "rule": rule, "slot": slot });
    let mut call = home.call();
    let counters = json!([counter(0), counter(9)]);
    call["work"] = json!([{ "window_units": [number(home.tenant), counters] }]);
    let (_, answer) = home.signed(&call).await;
    assert_eq!(answer["answers"][0][0]["units"][2], 1, "{answer}");
    assert_eq!(answer["answers"][0][1], json!({ "units": null }));
    let mut call = home.call();
    call["work"] = json!([{ "window_units": [number(home.tenant + 100), [counter(0)]] }]);
    let (_, answer) = home.signed(&call).await;
    assert_eq!(answer["answers"][0][0]["failed"]["possibly_run"], false, "{answer}");
}

#[tokio::test]
async fn rule_of_one_region_is_not_decided_for_another() {
    let mut home = Home::start("region").await;
    let call = home.call();
    let (status, answer) = home.signed(&call).await;
    assert_eq!((status, &answer["done"]), (200, &json!(true)));
    assert_eq!(answer["answers"], json!([[{ "failed": { "possibly_run": false } }]]));
}
