//! `GET /tenants/{tenant}/replicas/rollouts`

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{GateReport, Rollout as Row};
use weir_wire::replicas::{GateRollout, Rollout, Rollouts};

use super::LIVE_WITHIN;
use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::state::ControlState;

/// The length of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RolloutsQuery {
    /// The maximum number of changes.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
}

const LIMIT_DEFAULT: u32 = 50;
const LIMIT_MAX: u32 = 200;

impl RolloutsQuery {
    pub(crate) fn limit(&self) -> Result<u32, Problem> {
        let limit = self.limit.unwrap_or(LIMIT_DEFAULT);
        if !(1..=LIMIT_MAX).contains(&limit) {
            let reason = format!("must be from 1 to {LIMIT_MAX}");
            return Err(Problem::invalid_field("limit", reason));
        }
        Ok(limit)
    }
}

/// The newest changes of the tenant, and when each gate served them.
#[utoipa::path(get, path = "/tenants/{tenant}/replicas/rollouts", operation_id = "replicas_rollouts", tag = "replicas",
    params(("tenant" = String, Path, description = "`tenant_…`"), RolloutsQuery),
    responses((status = 200, description = "The newest change first", body = Rollouts)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<RolloutsQuery>,
) -> Result<Json<Rollouts>, ControlError> {
    let limit = query.limit()?;
    let mut tx = control.reading("replicas.rollouts", &caller).await?;
    let rows = tx.gates().rollouts(caller.tenant_id, LIVE_WITHIN, limit).await?;
    Ok(Json(Rollouts { data: rows.into_iter().map(rollout).collect() }))
}

pub(crate) fn rollout(row: Row) -> Rollout {
    let published_at = row.published_at;
    Rollout {
        rulebook_version: row.rulebook_version,
        published_at: published_at.map(Into::into),
        gates: row.gates.into_iter().map(|report| gate(report, published_at)).collect(),
    }
}

fn gate(report: GateReport, published_at: Option<Timestamp>) -> GateRollout {
    let after_ms = |(reported, published): (Timestamp, Timestamp)| {
        reported.as_millis().saturating_sub(published.as_millis()).max(0).unsigned_abs()
    };
    GateRollout {
        gate_id: report.gate_id.to_string(),
        reported_at: report.reported_at.map(Into::into),
        after_ms: report.reported_at.zip(published_at).map(after_ms),
    }
}
