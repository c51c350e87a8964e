//! The operations `/check`, `/check/batch`, `/record` and `/refund`.

use std::collections::HashMap;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use weir_domain::request::{Operation, Request};
use weir_http::json::{Json, JsonText, StrictJson};
use weir_http::params::{NoQuery, Query};
use weir_http::problem::Problem;
use weir_wire::check::{
    AnswerCode, BATCH_MAX, BatchAnswer, BatchBody, BatchText, CheckAnswer, CheckBody, RecordAnswer,
    RecordBody, RefundBody,
};
use weir_wire::problem::FieldProblem;

use crate::decide::turns::Turns;
use crate::decide::{self, KeyReused, Recorded, TooManyLimits};
use crate::requests::caller::Caller;
use crate::requests::headers;
use crate::requests::problems::{self, key_reused, too_many_limits};
use crate::requests::refusals::Refusals;
use crate::requests::run_to_completion::RunToCompletion;
use crate::state::GateState;

/// The query parameters of a check.
#[derive(Debug, Clone, Copy, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CheckOptions {
    /// `200`: answer a denied check with 200 too, for clients that treat 429 as an error.
    deny_status: Option<u16>,
}

impl CheckOptions {
    /// The status of a denied check.
    pub(crate) fn denied(self) -> Result<StatusCode, Problem> {
        match self.deny_status {
            None | Some(429) => Ok(StatusCode::TOO_MANY_REQUESTS),
            Some(200) => Ok(StatusCode::OK),
            Some(_) => Err(Problem::invalid_field("deny_status", "must be 200 or 429")),
        }
    }
}

/// Decide a check, and charge it if it is allowed.
#[utoipa::path(
    post, path = "/check", tag = "checks", operation_id = "check",
    params(CheckOptions), request_body = CheckBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "Allowed", body = CheckAnswer),
        (status = 429, description = "Denied", body = CheckAnswer),
        Refusals,
    )
)]
pub(crate) async fn check(
    State(state): State<GateState>,
    caller: Caller,
    Query(options): Query<CheckOptions>,
    StrictJson(body): StrictJson<CheckBody>,
) -> Result<Response, Problem> {
    let denied = options.denied()?;
    let request = body.parse().map_err(Problem::invalid)?;
    let answer = decide_one(state, caller, request).await?;
    let status = if answer.allowed { StatusCode::OK } else { denied };
    let mut response = (status, JsonText(answer.to_json())).into_response();
    headers::add(&answer, response.headers_mut());
    Ok(response)
}

/// Decide up to 100 checks, independently and in order.
#[utoipa::path(
    post, path = "/check/batch", tag = "checks", operation_id = "check_batch",
    request_body = BatchBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "One answer for each check, allowed or denied", body = BatchAnswer),
        Refusals,
    )
)]
pub(crate) async fn batch(
    State(state): State<GateState>,
    caller: Caller,
    _: NoQuery,
    Json(body): Json<BatchBody>,
) -> Result<JsonText, Problem> {
    if !(1..=BATCH_MAX).contains(&body.checks.len()) {
        let reason = format!("must hold from 1 to {BATCH_MAX} checks");
        return Err(Problem::invalid_field("checks", reason));
    }
    let mut requests = Vec::with_capacity(body.checks.len());
    let mut wrong = Vec::new();
    for (at, check) in body.checks.into_iter().enumerate() {
        match check.parse() {
            Ok(request) => requests.push(request),
            Err(fields) => wrong.extend(fields.into_iter().map(|field| {
                FieldProblem::new(format!("checks[{at}].{}", field.field), field.reason)
            })),
        }
    }
    if wrong.is_empty() {
        wrong = keys_of_other_checks(&requests);
    }
    if !wrong.is_empty() {
        return Err(Problem::invalid(wrong));
    }
    let results = decide_all(state, caller, requests).await;
    let results = results.map_err(|TooManyLimits(positions)| {
        let field = |at: usize| too_many_limits(&format!("checks[{at}].namespace"));
        Problem::invalid(positions.into_iter().map(field).collect())
    })?;
    let mut text = BatchText::default();
    let mut turns = Turns::default();
    for (at, result) in results.into_iter().enumerate() {
        let answer =
            result.map_err(|KeyReused| key_reused(&format!("checks[{at}].idempotency_key")))?;
        text.push(&answer);
        turns.worked(answer.limits.len()).await;
    }
    Ok(JsonText(text.finish()))
}

/// The checks of a batch whose idempotency key an earlier one has with other fields. Redis would notice it when the earlier
/// check is charged already.
fn keys_of_other_checks(requests: &[Request]) -> Vec<FieldProblem> {
    let mut first = HashMap::new();
    let mut wrong = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        let Some(key) = request.idempotency_key() else { continue };
        if request.operation() == Operation::Consume
            && *first.entry((request.namespace(), key)).or_insert(request) != request
        {
            let reason = "is the key of another check of the batch";
            wrong.push(FieldProblem::new(format!("checks[{at}].idempotency_key"), reason));
        }
    }
    wrong
}

/// Charge units that were already used, even if fewer are left.
#[utoipa::path(
    post, path = "/record", tag = "checks", operation_id = "record",
    request_body = RecordBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "The present state of the limits, whether or not a further check would pass", body = RecordAnswer),
        (status = 429, description = "Nothing was taken: the tenant exceeds its ceiling of requests (`code` is `tenant_rate`)", body = CheckAnswer),
        Refusals,
    )
)]
pub(crate) async fn record(
    State(state): State<GateState>,
    caller: Caller,
    _: NoQuery,
    StrictJson(body): StrictJson<RecordBody>,
) -> Result<Response, Problem> {
    let request = body.parse().map_err(Problem::invalid)?;
    let cost = request.cost();
    let recording =
        RunToCompletion::new(async move { decide::record(&state, &caller, &request).await });
    let Recorded { answer, buffered } = recording
        .await
        .map_err(|refused| problems::refused(&refused, "namespace", "idempotency_key"))?;
    if answer.code == Some(AnswerCode::TenantRate) {
        return Ok(over_ceiling(&answer));
    }
    Ok(Json(RecordAnswer::new(cost, answer, buffered)).into_response())
}

/// Return units, at most up to the full limit.
#[utoipa::path(
    post, path = "/refund", tag = "checks", operation_id = "refund",
    request_body = RefundBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "The present state of the limits; `refunded` states which limits took units back", body = CheckAnswer),
        (status = 429, description = "Nothing was returned: the tenant exceeds its ceiling of requests (`code` is `tenant_rate`)", body = CheckAnswer),
        Refusals,
    )
)]
pub(crate) async fn refund(
    State(state): State<GateState>,
    caller: Caller,
    _: NoQuery,
    StrictJson(body): StrictJson<RefundBody>,
) -> Result<Response, Problem> {
    let request = body.parse().map_err(Problem::invalid)?;
    let answer = decide_one(state, caller, request).await?;
    if answer.code == Some(AnswerCode::TenantRate) {
        return Ok(over_ceiling(&answer));
    }
    Ok(Json(answer).into_response())
}

/// The response to a request that the tenant's ceiling refused.
pub(crate) fn over_ceiling(answer: &CheckAnswer) -> Response {
    let mut response = (StatusCode::TOO_MANY_REQUESTS, JsonText(answer.to_json())).into_response();
    headers::add(answer, response.headers_mut());
    response
}

async fn decide_one(
    state: GateState,
    caller: Caller,
    request: Request,
) -> Result<CheckAnswer, Problem> {
    let results = decide_all(state, caller, [request]).await;
    let mut results =
        results.map_err(|TooManyLimits(_)| Problem::invalid(vec![too_many_limits("namespace")]))?;
    let result = results.pop().expect("one request has one result");
    result.map_err(|KeyReused| key_reused("idempotency_key"))
}

/// Decides requests, to the end even if the client leaves, so that charged checks are counted.
fn decide_all(
    state: GateState,
    caller: Caller,
    requests: impl AsRef<[Request]> + Send + Sync + 'static,
) -> RunToCompletion<Result<Vec<Result<CheckAnswer, KeyReused>>, TooManyLimits>> {
    RunToCompletion::new(async move { decide::decide(&state, &caller, requests.as_ref()).await })
}
