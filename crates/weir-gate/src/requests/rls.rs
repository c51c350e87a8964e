//! Envoy's Rate Limit Service v3: a proxy asks whether it can forward a request, by the descriptors that its routes make.
//!
//! Envoy lets a request pass if the answer is any error, so nothing that its clients can send is one: names are changed, long
//! values are replaced by digests, unknown domains have no limits. The errors that remain concern the proxy's key, its messages
//! or the configuration, are never `UNKNOWN`, and are counted by their code. The key is checked before the message is read.

mod admission;
mod answer;
mod call;
mod health;

use axum::{Router, middleware};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use weir_domain::matching::LIMITS_PER_CHECK_MAX;
use weir_http::request_id::RequestId;
use weir_rls::rate_limit_service_server::{
    RateLimitService as Service, RateLimitServiceServer, SERVICE_NAME,
};
use weir_rls::{RateLimitRequest, RateLimitResponse};

use self::call::Call;
use self::health::HealthService;
use crate::decide::TooManyLimits;
use crate::requests::caller::Caller;
use crate::requests::run_to_completion::RunToCompletion;
use crate::state::GateState;

/// The most bytes of a call: several descriptors can hold the longest path that a proxy accepts. A longer one is an error, by which
/// a client could avoid its limit.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The routes of the service and of the health service. Until `leaving` is cancelled the service is as ready as the gate.
pub fn rate_limit_service(state: GateState, leaving: CancellationToken) -> Router {
    let health = HealthService::new(state.clone(), SERVICE_NAME, leaving).into_server();
    let service = RateLimitServiceServer::new(RateLimits(state.clone()));
    let service = service.max_decoding_message_size(MESSAGE_BYTES_MAX);
    let admitted = middleware::from_fn_with_state(state, admission::admit);
    Router::new()
        .route_service(&format!("/{SERVICE_NAME}/ShouldRateLimit"), service)
        .layer(admitted)
        .route_service("/grpc.health.v1.Health/{method}", health)
        .fallback(|| async {
            Status::unimplemented("no such method").into_http::<axum::body::Body>()
        })
}

/// The service, for calls with a [`Caller`].
struct RateLimits(GateState);

#[tonic::async_trait]
impl Service for RateLimits {
    async fn should_rate_limit(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let answer = self.answer(request).await?;
        self.0.meters.rls.answered(answer.overall_code == answer::OK);
        Ok(Response::new(answer))
    }
}

impl RateLimits {
    async fn answer(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<RateLimitResponse, Status> {
        let state = &self.0;
        let (_, mut extensions, message) = request.into_parts();
        let caller = extensions.remove::<Caller>();
        let caller = caller.ok_or_else(|| Status::unauthenticated("there is no key"))?;
        let id = extensions.get::<RequestId>().copied();
        let Some(call) = Call::new(&caller, &message, &state.meters.rls) else {
            return Ok(answer::of_unknown_domain(message.descriptors.len()));
        };
        let state = state.clone();
        // To the end even if the proxy leaves, so that a charged check is counted.
        let decided = RunToCompletion::new(async move { call.decide(&state, &caller).await }).await;
        let (call, decided) = decided.map_err(|TooManyLimits(_)| {
            let text = format!("a descriptor matches more than {LIMITS_PER_CHECK_MAX} limits");
            Status::failed_precondition(text)
        })?;
        Ok(answer::of(&call, &decided, id.as_ref()))
    }
}
