//! Health, readiness and metrics.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::problem::ProblemBody;

use crate::state::GateState;

/// The readiness of a gate.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Readiness {
    /// The version of the rulebook in force.
    rulebook_version: u64,
    /// The time since the rulebook was last known to be the newest.
    rulebook_age_ms: u64,
    /// `fresh`, or `stale`: older than `WEIR_RULEBOOK_MAX_AGE_S`, or a change that was announced 5 s ago is not in force.
    rulebook: &'static str,
    /// `ok`, or `degraded` while Redis is away: rules then answer by their `on_store_failure`.
    redis: &'static str,
    /// A warning about a Redis that evicts counters, with the remedy. Absent if it evicts none.
    #[serde(skip_serializing_if = "Option::is_none")]
    redis_warning: Option<String>,
}

/// Whether the process is alive. Nothing else is checked.
#[utoipa::path(get, path = "/healthz", tag = "operations", operation_id = "health", security(()),
    responses((status = 200, description = "Alive", body = String, content_type = "text/plain")))]
pub(crate) async fn healthz() -> &'static str {
    "ok"
}

/// Whether a rulebook is loaded, and Redis and the home region answered or a second has passed since. Without Redis the status is then
/// 200 with `"redis":"degraded"`.
#[utoipa::path(get, path = "/readyz", tag = "operations", operation_id = "readiness", security(()),
    responses(
        (status = 200, description = "Decides checks", body = Readiness),
        (status = 503, description = "No rulebook has been loaded, the gate has just started and Redis or the home region has not answered yet, the rulebook is stale and stale rulebooks are refused, or the process is stopping", body = ProblemBody, content_type = "application/problem+json"),
    ))]
pub(crate) async fn readyz(State(state): State<GateState>) -> Result<Json<Readiness>, Problem> {
    let rulebook_version = state.ready().map_err(Problem::unavailable)?;
    let age = state.held.age().unwrap_or_default();
    let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    Ok(Json(Readiness {
        rulebook_version,
        rulebook_age_ms: age_ms,
        rulebook: if state.held.is_stale() { "stale" } else { "fresh" },
        redis: if state.limiter.up() { "ok" } else { "degraded" },
        redis_warning: state.eviction.warning(),
    }))
}

/// Metrics in Prometheus' text format.
#[utoipa::path(get, path = "/metrics", tag = "operations", operation_id = "metrics", security(()),
    responses((status = 200, description = "Prometheus text", body = String, content_type = "text/plain")))]
pub(crate) async fn metrics(State(state): State<GateState>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    state.meters.rulebook_age(state.held.age(), state.held.is_stale());
    (StatusCode::OK, kind, state.metrics()).into_response()
}
