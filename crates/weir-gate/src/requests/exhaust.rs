//! The operation `/exhaust`.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use weir_domain::reservation::ReservationId;
use weir_http::json::Json;
use weir_http::params::NoQuery;
use weir_http::problem::Problem;
use weir_wire::check::{AnswerCode, CheckAnswer};
use weir_wire::reservations::ExhaustBody;

use crate::decide;
use crate::requests::caller::Exhauster;
use crate::requests::check::over_ceiling;
use crate::requests::problems;
use crate::requests::refusals::Refusals;
use crate::requests::run_to_completion::RunToCompletion;
use crate::state::GateState;

/// Mark the matching limits as exhausted for a time, because the service behind them requested it.
#[utoipa::path(
    post, path = "/exhaust", tag = "reservations", operation_id = "exhaust",
    request_body = ExhaustBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "The present state of the limits", body = CheckAnswer),
        (status = 429, description = "Nothing was changed: the tenant exceeds its ceiling of requests (`code` is `tenant_rate`)", body = CheckAnswer),
        Refusals,
    )
)]
pub(crate) async fn exhaust(
    State(state): State<GateState>,
    Exhauster(caller): Exhauster,
    _: NoQuery,
    Json(body): Json<ExhaustBody>,
) -> Result<Response, Problem> {
    let request = body.parse(ReservationId(state.random.bytes())).map_err(Problem::invalid)?;
    let exhausting =
        RunToCompletion::new(async move { decide::exhaust(&state, &caller, &request).await });
    let answer = exhausting
        .await
        .map_err(|refused| problems::refused(&refused, "namespace", "namespace"))?;
    if answer.code == Some(AnswerCode::TenantRate) {
        return Ok(over_ceiling(&answer));
    }
    Ok(Json(answer).into_response())
}
