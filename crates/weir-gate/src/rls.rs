//! Envoy's Rate Limit Service v3: a proxy asks whether it can forward a request, by the descriptors that its routes make.
//!
//! Envoy lets a request pass if the answer is any error, so nothing that its clients can send is one: names are changed, long
//! values are replaced by digests, unknown domains have no limits. The errors that remain concern the proxy's key or the
//! configuration, are never `UNKNOWN`, and are counted by their code.

mod answer;
mod call;
mod health;

use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, Uri};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request, Response, Status};
use weir_domain::matching::LIMITS_PER_CHECK_MAX;
use weir_http::bearer::credential;
use weir_http::problem::Problem;
use weir_http::request_id::RequestId;
use weir_rls::rate_limit_service_server::{
    RateLimitService as Service, RateLimitServiceServer, SERVICE_NAME,
};
use weir_rls::{RateLimitRequest, RateLimitResponse};
use weir_wire::problem::ErrorCode;

use self::call::Call;
use crate::caller::Caller;
use crate::decide::TooManyLimits;
use crate::finish::Finish;
use crate::refused_callers::Interface;
use crate::state::GateState;

/// The most bytes of a call: several descriptors can hold the longest path that a proxy accepts. A longer one is an error, by which
/// a client could avoid its limit.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// The time in which Envoy expects the answer, in milliseconds.
const EXPECTED_WITHIN: &str = "x-envoy-expected-rq-timeout-ms";

/// The routes of the service and of the health service, and the task that keeps the latter up to date. Until `leaving` is cancelled
/// the service is as ready as the gate.
pub fn rate_limit_service(
    state: GateState,
    leaving: CancellationToken,
) -> (Router, impl Future<Output = ()> + Send + 'static) {
    let (health, task) = health::start(state.clone(), SERVICE_NAME, leaving);
    let service = RateLimitServiceServer::new(RateLimits(state));
    let service = service.max_decoding_message_size(MESSAGE_BYTES_MAX);
    let router = Router::new()
        .route_service(&format!("/{SERVICE_NAME}/ShouldRateLimit"), service)
        .route_service("/grpc.health.v1.Health/{method}", health)
        .fallback(|| async {
            Status::unimplemented("no such method").into_http::<axum::body::Body>()
        });
    (router, task)
}

/// The service.
pub(crate) struct RateLimits(pub(crate) GateState);

#[tonic::async_trait]
impl Service for RateLimits {
    async fn should_rate_limit(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let answer = self.answer(request).await;
        let allowed = answer.as_ref().map(|answer| answer.overall_code == answer::OK);
        self.0.meters.rls.answered(allowed);
        answer.map(Response::new)
    }
}

impl RateLimits {
    async fn answer(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<RateLimitResponse, Status> {
        let state = &self.0;
        let (metadata, extensions, message) = request.into_parts();
        let caller = caller(state, &metadata.into_headers()).map_err(|problem| {
            state.meters.refused_caller(Interface::RateLimitService, problem.code());
            status(&problem)
        })?;
        let id = extensions.get::<RequestId>().copied();
        let Some(call) = Call::new(&caller, &message, &state.meters.rls) else {
            return Ok(answer::of_unknown_domain(message.descriptors.len()));
        };
        let state = state.clone();
        // To the end even if the proxy leaves, so that a charged check is counted.
        let decided = Finish::new(async move { call.decide(&state, &caller).await }).await;
        let (call, decided) = decided.map_err(|TooManyLimits(_)| {
            let text = format!("a descriptor matches more than {LIMITS_PER_CHECK_MAX} limits");
            Status::failed_precondition(text)
        })?;
        Ok(answer::of(&call, &decided, id.as_ref()))
    }
}

/// The proxy that presents a key in the metadata.
fn caller(state: &GateState, headers: &HeaderMap) -> Result<Caller, Problem> {
    let book = Caller::rulebook(state)?;
    let caller = Caller::of_secret(state, book, credential(headers, &Uri::default())?)?;
    let expected_ms =
        headers.get(EXPECTED_WITHIN).and_then(|value| value.to_str().ok()?.parse().ok());
    // Half of the time is for the way to the gate and back.
    let wait_max = expected_ms.map(|ms: u64| Duration::from_millis(ms) / 2);
    let name = || format!("{SERVICE_NAME}/ShouldRateLimit");
    Ok(Caller { wait_max, ..caller.traced(state, headers, name) })
}

/// The status of a refused caller.
fn status(problem: &Problem) -> Status {
    let code = match problem.code() {
        ErrorCode::Unauthenticated | ErrorCode::Malformed => Code::Unauthenticated,
        ErrorCode::Forbidden => Code::PermissionDenied,
        _ => Code::Unavailable,
    };
    Status::new(code, problem.body("").detail)
}
