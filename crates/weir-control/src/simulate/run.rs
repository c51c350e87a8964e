//! `POST /tenants/{tenant}/simulate`

use axum::extract::State;
use weir_domain::ceilings::Ceiling;
use weir_domain::id::TenantId;
use weir_domain::names;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::plans::{BULK_ASSIGNMENTS_MAX, RULES_PER_PLAN_MAX};
use weir_wire::simulate::{
    SimulateAnswer, SimulateBody, SimulatedAssignment, SimulatedPlan, Source,
};

use super::rules::{Checks, PlanChanges, Rules};
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
    Json(mut body): Json<SimulateBody>,
) -> Result<Json<SimulateAnswer>, ControlError> {
    let mut rules = Rules::load(&control, &caller, &body).await?;
    let changes = changes(body.plan.take(), std::mem::take(&mut body.assignments))?;
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
    let reading = tokio::task::spawn_blocking(move || {
        let prepared = rules.prepare(checks, asked);
        (rules, prepared)
    });
    let (mut rules, prepared) = reading.await.map_err(Problem::internal)?;
    let prepared = prepared?;
    rules.add_plans(&control, &prepared.traffic, &changes).await?;
    let running = tokio::task::spawn_blocking(move || {
        let answer = rules.replay(prepared);
        drop(room);
        answer
    });
    Ok(Json(running.await.map_err(Problem::internal)??))
}

/// The changes of plans, of which a plan has few rules and few customers change.
fn changes(
    plan: Option<SimulatedPlan>,
    assignments: Vec<SimulatedAssignment>,
) -> Result<PlanChanges, Problem> {
    if plan.as_ref().is_some_and(|plan| plan.rules.len() > RULES_PER_PLAN_MAX) {
        let reason = format!("must hold at most {RULES_PER_PLAN_MAX} rules");
        return Err(Problem::invalid_field("plan.rules", reason));
    }
    if assignments.len() > BULK_ASSIGNMENTS_MAX {
        let reason = format!("must hold at most {BULK_ASSIGNMENTS_MAX} assignments");
        return Err(Problem::invalid_field("assignments", reason));
    }
    for (at, moved) in assignments.iter().enumerate() {
        if let Err(reason) = names::value(&moved.customer) {
            return Err(Problem::invalid_field(format!("assignments[{at}].customer"), reason));
        }
    }
    Ok(PlanChanges { plan, assignments })
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
