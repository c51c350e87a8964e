//! The operations `/renew` and `/release`.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use weir_http::json::Json;
use weir_http::params::NoQuery;
use weir_http::problem::Problem;
use weir_wire::check::CheckAnswer;
use weir_wire::leases::{LeaseBody, ReleaseAnswer, RenewAnswer};

use crate::decide::{self, LeaseSettled};
use crate::requests::caller::Caller;
use crate::requests::check::over_ceiling;
use crate::requests::lease_text::LeaseText;
use crate::requests::refusals::Refusals;
use crate::requests::run_to_completion::RunToCompletion;
use crate::state::GateState;

/// Renew a lease of a concurrency limit.
#[utoipa::path(
    post, path = "/renew", tag = "leases", operation_id = "renew",
    request_body = LeaseBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "The lease ends later, unless Redis could not be reached", body = RenewAnswer),
        (status = 404, description = "The lease has ended, was released, or belongs to another tenant", body = weir_wire::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "Nothing was renewed: the tenant exceeds its ceiling of requests (`code` is `tenant_rate`)", body = CheckAnswer),
        Refusals,
    )
)]
pub(crate) async fn renew(
    State(state): State<GateState>,
    caller: Caller,
    _: NoQuery,
    Json(body): Json<LeaseBody>,
) -> Result<Response, Problem> {
    let text = parse(&body)?;
    let lease_ms = text.lease.lease_ms;
    let renewing = RunToCompletion::new(async move { decide::renew(&state, &caller, &text).await });
    let answer = match renewing.await {
        LeaseSettled::Done(at) => {
            RenewAnswer { expires_at_ms: Some(at.0 / 1000 + lease_ms), degraded: None }
        }
        LeaseSettled::Degraded(policy) => {
            RenewAnswer { expires_at_ms: None, degraded: Some(policy) }
        }
        LeaseSettled::Off => RenewAnswer { expires_at_ms: None, degraded: None },
        LeaseSettled::Ended => return Err(Problem::not_found()),
        LeaseSettled::OverCeiling(answer) => return Ok(over_ceiling(&answer)),
    };
    Ok(Json(answer).into_response())
}

/// End a lease of a concurrency limit, so that another check can take its place.
#[utoipa::path(
    post, path = "/release", tag = "leases", operation_id = "release",
    request_body = LeaseBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "The place is free, unless Redis could not be reached", body = ReleaseAnswer),
        (status = 404, description = "The lease has ended, was released more than 60 s ago, or belongs to another tenant", body = weir_wire::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "Nothing was released: the tenant exceeds its ceiling of requests (`code` is `tenant_rate`)", body = CheckAnswer),
        Refusals,
    )
)]
pub(crate) async fn release(
    State(state): State<GateState>,
    caller: Caller,
    _: NoQuery,
    Json(body): Json<LeaseBody>,
) -> Result<Response, Problem> {
    let text = parse(&body)?;
    let releasing =
        RunToCompletion::new(async move { decide::release(&state, &caller, &text).await });
    let answer = match releasing.await {
        LeaseSettled::Done(_) => ReleaseAnswer { released: true, degraded: None },
        LeaseSettled::Degraded(policy) => ReleaseAnswer { released: false, degraded: Some(policy) },
        LeaseSettled::Off => ReleaseAnswer { released: false, degraded: None },
        LeaseSettled::Ended => return Err(Problem::not_found()),
        LeaseSettled::OverCeiling(answer) => return Ok(over_ceiling(&answer)),
    };
    Ok(Json(answer).into_response())
}

fn parse(body: &LeaseBody) -> Result<LeaseText, Problem> {
    let text = LeaseText::parse(&body.lease);
    text.ok_or_else(|| Problem::invalid_field("lease", "is not the `id` of a lease"))
}
