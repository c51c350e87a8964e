//! A gate in process with two tenants whose rules have the same names.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt as _;
use prost::Message as _;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::Status;
use weir_domain::api_key::ApiKeySecret;
use weir_domain::rulebook::{InstallationState, Rulebook};
use weir_domain::time::{Clock, Timestamp};
use weir_http::plane::{Plane, PlaneSettings};
use weir_http::request_id::RequestIds;
use weir_redis::limiter::{Limiter, LimiterSettings};
use weir_rls::rate_limit_service_server::SERVICE_NAME;
use weir_rls::{RateLimitRequest, RateLimitResponse};
use weir_wire::stored::{StoredKey, StoredProfile, StoredRule, StoredTenant};

use crate::{GateState, Random, rate_limit_service, router};

pub(super) const DASHBOARD: &str = "https://limits.example.com";

pub(super) struct Gate {
    plane: Plane,
    pub(super) state: GateState,
    _stop: DropGuard,
}

/// A tenant's keys: one with the scope `check`, one with the scope `read`.
pub(super) struct Keys {
    /// The id of the tenant.
    pub(super) tenant: String,
    pub(super) check: String,
    pub(super) read: String,
    pub(super) exhaust: String,
}

impl Gate {
    /// A gate that serves two tenants, each with a rule `per-user` of two a day in `default`.
    pub(super) async fn with_two_tenants() -> (Self, Keys, Keys) {
        Self::with(|_, _| {}).await
    }

    /// The same, after a change of the first tenant or of the installation.
    pub(super) async fn with(
        change: impl FnOnce(&mut StoredTenant, &mut InstallationState),
    ) -> (Self, Keys, Keys) {
        let ((mut a, keys_a), (b, keys_b)) = (tenant(vec![per_user()]), tenant(vec![per_user()]));
        let mut installation = InstallationState::default();
        change(&mut a, &mut installation);
        (Self::of(vec![a, b], installation, fixed_clock()).await, keys_a, keys_b)
    }

    /// A gate that serves one tenant with these rules.
    pub(super) async fn with_rules(rules: Vec<Value>) -> (Self, Keys) {
        let (tenant, keys) = tenant(rules);
        (Self::of(vec![tenant], InstallationState::default(), fixed_clock()).await, keys)
    }

    /// A gate whose machine has this clock, and that serves one tenant with a rule `per-user`, after a change.
    pub(super) async fn with_clock(
        clock: Clock,
        change: impl FnOnce(&mut StoredTenant),
    ) -> (Self, Keys) {
        let (mut tenant, keys) = tenant(vec![per_user()]);
        change(&mut tenant);
        (Self::of(vec![tenant], InstallationState::default(), clock).await, keys)
    }

    /// The same with these profiles.
    pub(super) async fn with_rules_and_profiles(
        rules: Vec<Value>,
        profiles: Vec<Value>,
    ) -> (Self, Keys) {
        let (mut tenant, keys) = tenant(rules);
        tenant.profiles = stored_profiles(profiles);
        (Self::of(vec![tenant], InstallationState::default(), fixed_clock()).await, keys)
    }

    async fn of(tenants: Vec<StoredTenant>, installation: InstallationState, clock: Clock) -> Self {
        let redis = weir_redis::client(&weir_local::shared::redis().url()).expect("an address");
        let stop = CancellationToken::new();
        let settings = LimiterSettings { budget: Duration::from_secs(20), ..Default::default() };
        let limiter = Limiter::start(redis, settings, stop.clone());
        let until = tokio::time::Instant::now() + Duration::from_secs(20);
        while !limiter.up() {
            assert!(tokio::time::Instant::now() < until, "redis never answered");
            tokio::task::yield_now().await;
        }
        let state = GateState::new(limiter, clock, counting());
        let compiled = tenants.into_iter().map(|tenant| {
            let (rules, left_out) = tenant.compile();
            assert_eq!(left_out, []);
            (tenant.id.parse().expect("a tenant's id"), Some(rules))
        });
        let book = Rulebook::default().with_changes(7, compiled).with_installation(installation);
        state.held.apply(book);
        let settings = PlaneSettings { request_ids: RequestIds::new(|| 0), request_deadline: None };
        let plane =
            Plane::new(router(state.clone(), &[HeaderValue::from_static(DASHBOARD)]), settings);
        Self { plane, state, _stop: stop.drop_guard() }
    }

    /// Sends a request. Returns the status and the JSON body (null if there is none).
    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: &Value,
    ) -> (u16, Value) {
        let mut request = Request::builder()
            .method(method.to_ascii_uppercase().as_str())
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(key) = key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let request = request.body(Body::from(body.to_string())).expect("a request");
        let response = self.answer(request).await;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    /// The state of the gate.
    pub(super) fn state(&self) -> GateState {
        self.state.clone()
    }

    /// The gate's metrics in Prometheus' text format.
    pub(super) fn metrics(&self) -> String {
        self.state.metrics()
    }

    /// Calls Envoy's rate limit service with a key.
    pub(super) async fn rate_limit(
        &self,
        key: &str,
        message: RateLimitRequest,
    ) -> Result<RateLimitResponse, Status> {
        let message = message.encode_to_vec();
        let length = u32::try_from(message.len()).expect("short").to_be_bytes();
        let body = [&[0], length.as_slice(), &message].concat();
        self.rate_limit_bytes(Some(key), Body::from(body)).await
    }

    /// Calls Envoy's rate limit service with any bytes.
    pub(super) async fn rate_limit_bytes(
        &self,
        key: Option<&str>,
        body: Body,
    ) -> Result<RateLimitResponse, Status> {
        let path = format!("/{SERVICE_NAME}/ShouldRateLimit");
        let mut request = Request::post(path).header(header::CONTENT_TYPE, "application/grpc");
        if let Some(key) = key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let router = rate_limit_service(self.state.clone(), CancellationToken::new());
        let settings = PlaneSettings { request_ids: RequestIds::new(|| 0), request_deadline: None };
        let response =
            Plane::new(router, settings).answer(request.body(body).expect("a request")).await;
        if let Some(status) = Status::from_header_map(response.headers()) {
            return Err(status);
        }
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        Ok(RateLimitResponse::decode(&bytes[5..]).expect("a message"))
    }

    /// Sends a request unchanged.
    pub(super) async fn answer(&self, request: Request<Body>) -> Response<Body> {
        self.plane.answer(request).await
    }
}

fn fixed_clock() -> Clock {
    Clock::new(|| Timestamp::from_millis(1_763_726_400_000))
}

/// A source of numbers that differ from call to call, in all tests.
fn counting() -> Random {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Random::new(|bytes| {
        let next = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        for (byte, next) in bytes.iter_mut().zip(next.iter().cycle()) {
            *byte = *next;
        }
    })
}

/// The stored form of profiles.
pub(super) fn stored_profiles(profiles: Vec<Value>) -> Vec<Arc<StoredProfile>> {
    let stored = |(at, body): (u128, Value)| {
        let id = weir_domain::id::ProfileId::from_u128(at).to_string();
        Arc::new(StoredProfile { id, body: body.to_string().into() })
    };
    (1..).zip(profiles).map(stored).collect()
}

fn per_user() -> Value {
    json!({
        "name": "per-user", "count_by": ["user"],
        "limits": [{ "algorithm": "sliding_window_log", "limit": 2, "window_ms": 86_400_000 }],
    })
}

fn tenant(rules: Vec<Value>) -> (StoredTenant, Keys) {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let unique =
        (u128::from(std::process::id()) << 64) | u128::from(NEXT.fetch_add(1, Ordering::Relaxed));
    let key = |kind: u8, scope: &str| {
        let mut random = [kind.wrapping_mul(100); 88];
        let spread = unique.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        random[..16].copy_from_slice(&spread.to_le_bytes());
        let secret = ApiKeySecret::generate(&random);
        let stored = StoredKey {
            id: weir_domain::id::KeyId::from_u128(unique ^ u128::from(kind)).to_string(),
            digest: secret.digest().0,
            scopes: vec![scope.to_owned()],
            expires_at_ms: None,
        };
        (stored, secret.expose().to_owned())
    };
    let ((check, check_secret), (read, read_secret)) = (key(1, "check"), key(2, "read"));
    let (exhaust, exhaust_secret) = key(3, "exhaust");
    let stored = |(at, body): (u16, Value)| StoredRule {
        id: weir_domain::id::RuleId::from_u128(unique + (u128::from(at) << 100)).to_string(),
        slots: (0..).take(body["limits"].as_array().map_or(0, Vec::len)).collect(),
        body: body.to_string().into(),
        revision: Some(1),
        newer_unreadable: None,
    };
    let tenant = StoredTenant {
        id: weir_domain::id::TenantId::from_u128(unique).to_string(),
        suspended: false,
        record_checks: true,
        enforced: true,
        checks_per_second: None,
        version: 7,
        keys: vec![check, read, exhaust],
        rules: (0..).zip(rules).map(|rule| stored(rule).into()).collect(),
        overrides: Vec::new(),
        profiles: Vec::new(),
        spread: BTreeMap::new(),
        customer_attribute: None,
        customer_view: None,
        plans: Vec::new(),
        assignments: Vec::new(),
    };
    let keys = Keys {
        tenant: tenant.id.clone(),
        check: check_secret,
        read: read_secret,
        exhaust: exhaust_secret,
    };
    (tenant, keys)
}
