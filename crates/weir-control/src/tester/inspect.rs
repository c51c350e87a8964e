//! `POST /tenants/{tenant}/counters/inspect`

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use weir_domain::rulebook::ActiveRule;
use weir_domain::spread::SpreadBy;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::tester::{INSPECT_MAX, InspectAnswer, InspectBody, InspectedSubject};

use crate::actor::{By, Caller, Editor, InNamespaces};
use crate::error::ControlError;
use crate::rule_service::{Exceptions, RuleSubject, active_rule, limits_of, spread_by};
use crate::state::ControlState;

/// Inspect the counters of some subjects of a rule. Its conditions are ignored. Nothing is counted.
#[utoipa::path(post, path = "/tenants/{tenant}/counters/inspect", operation_id = "counters_inspect", tag = "testing",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = InspectBody,
    responses((status = 200, description = "The current counters", body = InspectAnswer)))]
pub(crate) async fn inspect(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Json(body): Json<InspectBody>,
) -> Result<Json<InspectAnswer>, ControlError> {
    if body.subjects.is_empty() || body.subjects.len() > INSPECT_MAX {
        return Err(Problem::invalid_field(
            "subjects",
            format!("must hold from 1 to {INSPECT_MAX} subjects"),
        )
        .into());
    }
    let (rule, spread_by) = rule(&control, &caller, &body.rule_id, &body.subjects).await?;
    let now = control.clock.now();
    let subjects = body.subjects.into_iter();
    let of_rule = || (Arc::clone(&rule), spread_by.clone());
    let subjects = subjects.map(|subject| RuleSubject::new(of_rule(), &subject, now));
    let subjects = subjects.collect::<Result<Vec<_>, _>>()?;
    let tenant = caller.tenant_id;
    let namespace = rule.rule.namespace();
    let limits = limits_of(&control, tenant, namespace, &subjects).await;
    let limits = limits.into_iter().collect::<Result<Vec<_>, _>>()?;
    let data = subjects.into_iter().zip(limits).map(|(subject, limits)| InspectedSubject {
        action: subject.action().into(),
        override_id: subject.override_id().map(|id| id.to_string()),
        plan_id: subject.plan_id().map(|id| id.to_string()),
        subject: subject.subject,
        limits: limits.limits,
        regions: limits.regions,
    });
    Ok(Json(InspectAnswer { data: data.collect() }))
}

async fn rule(
    control: &ControlState,
    caller: &Caller,
    id: &str,
    subjects: &[BTreeMap<String, String>],
) -> Result<(Arc<ActiveRule>, SpreadBy), ControlError> {
    let missing = || Problem::invalid_field("rule_id", "is not a rule of this tenant");
    let rule_id = id.parse().map_err(|_| missing())?;
    let mut tx = control.reading("counters.inspect", caller).await?;
    let found = tx.rulebook().rule(caller.tenant_id, rule_id).await?;
    let (row, overrides) = found.ok_or_else(missing)?;
    let customers = |name: &str| subjects.iter().filter_map(|one| one.get(name).cloned()).collect();
    let exceptions = Exceptions::from(overrides);
    let (tenant_id, now) = (caller.tenant_id, control.clock.now());
    let exceptions = exceptions.with_plans(&mut tx, tenant_id, now, customers).await?;
    let active = active_rule(&row, &exceptions)?;
    caller.namespaces.admit(active.rule.namespace())?;
    Ok((active, spread_by(&row)))
}
