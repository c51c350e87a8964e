//! `POST /tenants/{tenant}/simulate`

use axum::extract::State;
use weir_domain::ceilings::Ceiling;
use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::simulate::{SimulateAnswer, SimulateBody, Source};

use super::rules::{Checks, Rules};
use crate::actor::{By, InNamespaces, Viewer};
use crate::ceilings::too_often;
use crate::error::ControlError;
use crate::state::ControlState;
use crate::tenant_limiter::{Permit, Refused};

pub(super) const HOUR_MS: i64 = 3_600_000;
const AGAIN_S: u32 = 2;

/// Replay past checks against a rule and a changed version of it.
///
/// Each check is decided by this rule alone, from counters that begin empty; no real counter changes,
/// and nothing is retained.
#[utoipa::path(post, path = "/tenants/{tenant}/simulate", operation_id = "simulate", tag = "testing",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = SimulateBody,
    responses(
        (status = 200, description = "What the two rules would have decided", body = SimulateAnswer),
        (status = 409, description = "The recorded checks do not cover this rule"),
        (status = 429, description = "The tenant has reached its ceiling of concurrent runs"),
        (status = 503, description = "Too many concurrent runs; `Retry-After` states when to retry"),
    ))]
pub(crate) async fn simulate(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Json(body): Json<SimulateBody>,
) -> Result<Json<SimulateAnswer>, ControlError> {
    let rules = Rules::load(&control, &caller, &body).await?;
    let room = enter(&control, caller.tenant_id).await?;
    let checks = match (body.source, body.trace) {
        (Source::Trace, Some(trace)) => Checks::Trace(trace),
        (Source::Trace, None) => return Err(Problem::invalid_field("trace", "is required").into()),
        (Source::Recorded, Some(_)) => {
            let reason = "must be left out when `source` is `recorded`";
            return Err(Problem::invalid_field("trace", reason).into());
        }
        (Source::Recorded, None) => {
            let now = control.clock.now();
            let to = body.to.map_or(now, |to| to.0.min(now));
            let from =
                body.from.map_or(to.plus_ms(-HOUR_MS), |from| from.0).max(Timestamp::default());
            let mut tx = control.reading("samples.find", &caller).await?;
            rules.recorded(&mut tx, &caller, from, to).await?
        }
    };
    let asked = (body.from.map(|time| time.0), body.to.map(|time| time.0));
    let running = tokio::task::spawn_blocking(move || {
        let answer = rules.replay(checks, asked);
        drop(room);
        answer
    });
    Ok(Json(running.await.map_err(Problem::internal)??))
}

/// Waits for the tenant's turn.
pub(super) async fn enter(
    control: &ControlState,
    tenant: TenantId,
) -> Result<Permit, ControlError> {
    let most = control.store.ceilings_of(tenant).await?.get(Ceiling::WhatIfRuns);
    control.local.simulations.enter(tenant, most).await.map_err(|refused| match refused {
        Refused::OfTenant => too_often(Ceiling::WhatIfRuns, most, AGAIN_S).into(),
        Refused::Others => {
            Problem::unavailable("other what-if runs are in progress").retry_after_s(AGAIN_S).into()
        }
    })
}
