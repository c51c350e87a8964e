//! The operations `/reserve`, `/commit` and `/cancel`.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use weir_domain::limit::COST_MAX;
use weir_domain::request::Request;
use weir_domain::reservation::ReservationId;
use weir_http::json::Json;
use weir_http::params::{NoQuery, Query};
use weir_http::problem::Problem;
use weir_wire::check::{CheckAnswer, RecordAnswer};
use weir_wire::problem::FieldProblem;
use weir_wire::reservations::{CancelBody, CommitAnswer, CommitBody, ReserveAnswer, ReserveBody};

use crate::decide::{self, Committed, Recorded, Refused, Reserved};
use crate::metrics::events::ReservationEvent;
use crate::requests::caller::Caller;
use crate::requests::check::{CheckOptions, over_ceiling};
use crate::requests::headers;
use crate::requests::problems;
use crate::requests::refusals::Refusals;
use crate::requests::reservation_text::ReservationText;
use crate::requests::run_to_completion::RunToCompletion;
use crate::state::GateState;

/// Decide as a check, and hold the units until a commit or until their time has passed.
#[utoipa::path(
    post, path = "/reserve", tag = "reservations", operation_id = "reserve",
    params(CheckOptions), request_body = ReserveBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "Reserved", body = ReserveAnswer),
        (status = 429, description = "Denied; nothing is held", body = ReserveAnswer),
        Refusals,
    )
)]
pub(crate) async fn reserve(
    State(state): State<GateState>,
    caller: Caller,
    Query(options): Query<CheckOptions>,
    Json(body): Json<ReserveBody>,
) -> Result<Response, Problem> {
    let denied = options.denied()?;
    let request = body.parse(ReservationId(state.random.bytes())).map_err(Problem::invalid)?;
    let reserving =
        RunToCompletion::new(async move { decide::reserve(&state, &caller, &request).await });
    let Reserved { answer, reservation } = reserving
        .await
        .map_err(|refused| problems::refused(&refused, "namespace", "idempotency_key"))?;
    let status = if answer.allowed { StatusCode::OK } else { denied };
    let reservation = reservation.as_ref();
    let body = ReserveAnswer {
        reservation: reservation.map(ReservationText::to_text),
        reserved: reservation.map_or(0, |reservation| reservation.units),
        expires_at_ms: reservation.map(|reservation| reservation.ends.0 / 1000),
        answer,
    };
    let mut response = (status, Json(&body)).into_response();
    headers::add(&body.answer, response.headers_mut());
    Ok(response)
}

/// Charge the units of a reservation that were used, and release the rest.
#[utoipa::path(
    post, path = "/commit", tag = "reservations", operation_id = "commit",
    request_body = CommitBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "The cost was charged, even if fewer units were reserved", body = CommitAnswer),
        (status = 404, description = "The reservation is not open, and the body has no attributes", body = weir_wire::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "Nothing was charged: the tenant exceeds its ceiling of requests (`code` is `tenant_rate`)", body = CheckAnswer),
        Refusals,
    )
)]
pub(crate) async fn commit(
    State(state): State<GateState>,
    caller: Caller,
    _: NoQuery,
    Json(body): Json<CommitBody>,
) -> Result<Response, Problem> {
    settle(state, caller, body).await
}

/// Release the units of a reservation.
#[utoipa::path(
    post, path = "/cancel", tag = "reservations", operation_id = "cancel",
    request_body = CancelBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "The units are released", body = CommitAnswer),
        (status = 404, description = "The reservation is not open", body = weir_wire::problem::ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "Nothing was released: the tenant exceeds its ceiling of requests (`code` is `tenant_rate`)", body = CheckAnswer),
        Refusals,
    )
)]
pub(crate) async fn cancel(
    State(state): State<GateState>,
    caller: Caller,
    _: NoQuery,
    Json(body): Json<CancelBody>,
) -> Result<Response, Problem> {
    settle(state, caller, body.into()).await
}

async fn settle(state: GateState, caller: Caller, body: CommitBody) -> Result<Response, Problem> {
    let mut wrong = Vec::new();
    let reservation = ReservationText::parse(&body.reservation);
    if reservation.is_none() {
        wrong.push(FieldProblem::new("reservation", "is not the `reservation` of an answer"));
    }
    if body.cost > COST_MAX {
        wrong.push(FieldProblem::new("cost", format!("must be from 0 to {COST_MAX}")));
    }
    let namespace = reservation.as_ref().map_or("default", |known| known.namespace.as_str());
    let id = reservation.as_ref().map_or(0, |known| u128::from_be_bytes(known.id.0));
    let late = body.record(namespace, format!("late {id:032x}")).unwrap_or_else(|fields| {
        wrong.extend(fields.into_iter().filter(|field| field.field != "cost"));
        None
    });
    let Some(reservation) = reservation.filter(|_| wrong.is_empty()) else {
        return Err(Problem::invalid(wrong));
    };
    let cost = body.cost;
    let committing = RunToCompletion::new(async move {
        match decide::commit(&state, &caller, &reservation, cost, late.as_ref()).await {
            Err(Refused::NotOpen) => record_late(&state, &caller, cost, late).await,
            Ok(committed) => Ok(Settled { committed, late: false }),
            Err(refused) => Err(refused),
        }
    });
    let Settled { committed, late } = committing
        .await
        .map_err(|refused| problems::refused(&refused, "reservation", "reservation"))?;
    let Committed { charged, released, degraded, buffered, over_ceiling: refusal } = committed;
    match refusal {
        Some(answer) if !answer.allowed => Ok(over_ceiling(&answer)),
        // With limits turned off, nothing is charged.
        _ => {
            let answer = CommitAnswer { charged, released, late, degraded, buffered };
            Ok(Json(answer).into_response())
        }
    }
}

/// A commit, and whether its reservation was no longer open.
struct Settled {
    committed: Committed,
    late: bool,
}

/// Records the cost of a reservation that is no longer open by the attributes of its commit.
async fn record_late(
    state: &GateState,
    caller: &Caller,
    cost: u64,
    late: Option<Request>,
) -> Result<Settled, Refused> {
    state.meters.reservations.count(ReservationEvent::Late, 1);
    let request = late.ok_or(Refused::NotOpen)?;
    let Recorded { answer, buffered } = decide::record(state, caller, &request).await?;
    let (degraded, over_ceiling) = (answer.degraded, answer.code.map(|_| answer.clone()));
    let charged = RecordAnswer::new(cost, answer, buffered).charged;
    let committed = Committed { charged, released: 0, degraded, buffered, over_ceiling };
    Ok(Settled { committed, late: true })
}
