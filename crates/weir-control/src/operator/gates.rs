//! `GET /operator/replicas`, `GET /operator/replicas/rollouts`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_wire::replicas::{Replicas, Rollouts};

use crate::actor::Operator;
use crate::error::ControlError;
use crate::replicas::rollouts::{RolloutsQuery, rollout};
use crate::replicas::{LIVE_WITHIN, ReplicasQuery, replica};
use crate::state::ControlState;

/// The version of the rulebook that each gate serves, and what each gate does; for operators.
#[utoipa::path(get, path = "/operator/replicas", operation_id = "operator_replicas", tag = "operator",
    params(ReplicasQuery),
    responses(
        (status = 200, description = "The running gates", body = Replicas),
        (status = 404, description = "The caller is not an operator"),
        (status = 422, description = "No region has this name"),
    ))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    Operator(person): Operator,
    Query(query): Query<ReplicasQuery>,
) -> Result<Json<Replicas>, ControlError> {
    let is_listed = query.filter(&control)?;
    let mut tx = person.begin(&control, "operator.replicas").await?;
    let rulebook_version = tx.rulebook().version().await?.number;
    let gates = tx.gates().list_live(LIVE_WITHIN).await?.into_iter().filter(is_listed);
    let data = gates.map(|gate| replica(gate, rulebook_version)).collect();
    let tenant_version = rulebook_version;
    let regions = control.regions.names();
    let without_redis = None;
    Ok(Json(Replicas { rulebook_version, tenant_version, data, regions, without_redis }))
}

/// The newest changes of all tenants, and when each gate served them; for operators.
#[utoipa::path(get, path = "/operator/replicas/rollouts", operation_id = "operator_rollouts", tag = "operator",
    params(RolloutsQuery),
    responses(
        (status = 200, description = "The newest change first", body = Rollouts),
        (status = 404, description = "The caller is not an operator"),
    ))]
pub(crate) async fn rollouts(
    State(control): State<ControlState>,
    Operator(person): Operator,
    Query(query): Query<RolloutsQuery>,
) -> Result<Json<Rollouts>, ControlError> {
    let limit = query.limit()?;
    let mut tx = person.begin(&control, "operator.rollouts").await?;
    let rows = tx.gates().rollouts_of_all(LIVE_WITHIN, limit).await?;
    Ok(Json(Rollouts { data: rows.into_iter().map(rollout).collect() }))
}
