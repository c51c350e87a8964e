//! `GET /tenants/{tenant}/replicas`

pub(crate) mod rollouts;
mod without_redis;

use std::time::Duration;

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{GateLoad as Load, GateRow, MemberRole};
use weir_wire::replicas::{GateLoad, Replica, Replicas};

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::names;
use crate::state::ControlState;

/// The longest time without a report after which a gate counts as live. A gate reports every few seconds.
pub(crate) const LIVE_WITHIN: Duration = Duration::from_secs(15);

/// The gates of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReplicasQuery {
    /// Only gates of this region; empty: gates without a region.
    region: Option<String>,
}

impl ReplicasQuery {
    /// Returns a condition for the gates of the list.
    pub(crate) fn filter(
        self,
        control: &ControlState,
    ) -> Result<impl Fn(&GateRow) -> bool, Problem> {
        let region = names::region_filter(control, self.region)?;
        let of = |gate: &GateRow, name: &str| gate.region.as_deref().unwrap_or_default() == name;
        Ok(move |gate: &GateRow| region.as_deref().is_none_or(|name| of(gate, name)))
    }
}

/// The version of the rulebook that each gate serves. Operators also see what each gate does.
#[utoipa::path(get, path = "/tenants/{tenant}/replicas", operation_id = "replicas_list", tag = "replicas",
    params(("tenant" = String, Path, description = "`tenant_…`"), ReplicasQuery),
    responses(
        (status = 200, description = "The running gates", body = Replicas),
        (status = 422, description = "No region has this name"),
    ))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<ReplicasQuery>,
) -> Result<Json<Replicas>, ControlError> {
    let is_listed = query.filter(&control)?;
    let mut tx = control.reading("replicas.list", &caller).await?;
    let tenant = tx.tenants().find(caller.tenant_id).await?.ok_or_else(Problem::not_found)?;
    let rulebook_version = tx.rulebook().version().await?.number;
    let gates = tx.gates().list_live(LIVE_WITHIN).await?;
    let without_redis = without_redis::read(&mut tx, &caller, &gates, control.clock.now()).await?;
    // The parts to which the caller has a right. The load concerns all tenants.
    let shown = |gate| {
        let mut gate = replica(gate, rulebook_version);
        gate.address = gate.address.filter(|_| caller.role >= MemberRole::Editor);
        gate.load = gate.load.filter(|_| caller.operator);
        gate
    };
    let data = gates.into_iter().filter(is_listed).map(shown).collect();
    let tenant_version = tenant.version;
    let regions = control.regions.names();
    Ok(Json(Replicas { rulebook_version, tenant_version, data, regions, without_redis }))
}

/// A gate in JSON.
pub(crate) fn replica(row: GateRow, rulebook_version: u64) -> Replica {
    Replica {
        id: row.id.to_string(),
        address: Some(row.address),
        rulebook_version: row.rulebook_version,
        age_ms: row.age_ms,
        applied_at: row.applied_at.into(),
        applied_after_ms: row.applied_after_ms,
        started_at: row.started_at.into(),
        weir_version: row.weir_version,
        region: row.region,
        versions_behind: rulebook_version.saturating_sub(row.rulebook_version),
        redis_up: row.redis_up,
        redis_round_trip_us: row.redis_round_trip_us,
        load: row.load.map(load),
    }
}

fn load(load: Load) -> GateLoad {
    let Load { interval_ms, checks, denied, from_memory, .. } = load;
    let Load { latency_p50_us, latency_p99_us, leases, leased_units, memory_bytes, .. } = load;
    GateLoad {
        interval_ms,
        checks,
        denied,
        from_memory,
        latency_p50_us,
        latency_p99_us,
        leases,
        leased_units,
        memory_bytes,
    }
}
