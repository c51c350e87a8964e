//! `POST /tenants/{tenant}/counters/inspect`

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use weir_domain::draft::Action;
use weir_domain::overrides::{Active, Effect};
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::tester::{INSPECT_MAX, InspectAnswer, InspectBody, InspectedSubject};

use crate::actor::{By, Caller, Editor};
use crate::error::ControlError;
use crate::rule_service::{active_rule, charge_of, inspect as inspect_counters, subject_values};
use crate::state::ControlState;
use crate::tester::matched_rule::limit_answer;

/// Inspect the counters of some subjects of a rule. Its conditions are ignored. Nothing is counted.
#[utoipa::path(post, path = "/tenants/{tenant}/counters/inspect", operation_id = "counters_inspect", tag = "testing",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = InspectBody,
    responses((status = 200, description = "How they stand", body = InspectAnswer)))]
pub(crate) async fn inspect(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Json(body): Json<InspectBody>,
) -> Result<Json<InspectAnswer>, ControlError> {
    if body.subjects.is_empty() || body.subjects.len() > INSPECT_MAX {
        return Err(Problem::invalid_field(
            "subjects",
            format!("must hold from 1 to {INSPECT_MAX} subjects"),
        )
        .into());
    }
    let rule = rule(&control, &caller, &body.rule_id).await?;
    let now = control.clock.now();
    let subjects = body.subjects.into_iter();
    let subjects = subjects.map(|subject| RuleSubject::new(subject, &rule, now));
    let subjects = subjects.collect::<Result<Vec<_>, _>>()?;
    Ok(Json(InspectAnswer { data: inspected(&control, &caller, &rule, subjects).await? }))
}

/// A subject of the rule, with the override that applies to it.
#[derive(Debug)]
struct RuleSubject<'a> {
    subject: BTreeMap<String, String>,
    exception: Option<&'a Active>,
    values: Vec<String>,
}

impl<'a> RuleSubject<'a> {
    fn new(
        subject: BTreeMap<String, String>,
        rule: &'a ActiveRule,
        now: Timestamp,
    ) -> Result<Self, Problem> {
        let found = subject_values(&rule.rule, &subject)?;
        let exception = rule.overrides.find(&rule.rule, &found, now);
        let values = found.into_iter().map(str::to_owned).collect();
        Ok(Self { subject, exception, values })
    }

    fn action(&self, rule: &ActiveRule) -> Action {
        match self.exception.map(|active| &active.effect) {
            Some(Effect::Allow) => Action::Allow,
            Some(Effect::Deny) => Action::Deny,
            Some(Effect::Limits(_)) => Action::Limit,
            None => rule.rule.action(),
        }
    }
}

async fn inspected(
    control: &ControlState,
    caller: &Caller,
    rule: &Arc<ActiveRule>,
    subjects: Vec<RuleSubject<'_>>,
) -> Result<Vec<InspectedSubject>, ControlError> {
    let charge = |subject: &RuleSubject<'_>| {
        let values: Vec<_> = subject.values.iter().map(String::as_str).collect();
        let limited = subject.action(rule) == Action::Limit;
        limited.then(|| charge_of(rule, &values, subject.exception))
    };
    let charges: Vec<_> = subjects.iter().map(charge).collect();
    let parts = charges.iter().flatten().map(std::slice::from_ref);
    let (tenant, namespace) = (caller.tenant_id, rule.rule.namespace());
    let inspected = inspect_counters(&control.limiter, tenant, namespace, 1, parts).await?;
    let mut inspected = inspected.into_iter();
    let mut data = Vec::with_capacity(subjects.len());
    for (subject, charge) in subjects.into_iter().zip(&charges) {
        let of_limits = charge.as_ref().zip(if charge.is_some() { inspected.next() } else { None });
        let limits = of_limits.map(|(charge, (decided, decisions))| {
            let pairs = charge.limits().iter().zip(decisions);
            pairs.map(|(limit, decision)| limit_answer(rule, limit, decision, decided)).collect()
        });
        data.push(InspectedSubject {
            action: subject.action(rule).into(),
            override_id: subject.exception.map(|active| active.id.to_string()),
            subject: subject.subject,
            limits: limits.unwrap_or_default(),
        });
    }
    Ok(data)
}

async fn rule(
    control: &ControlState,
    caller: &Caller,
    id: &str,
) -> Result<Arc<ActiveRule>, ControlError> {
    let missing = || Problem::invalid_field("rule_id", "is not a rule of this tenant");
    let rule_id = id.parse().map_err(|_| missing())?;
    let mut tx = control.reading("counters.inspect", caller).await?;
    let found = tx.rulebook().rule(caller.tenant_id, rule_id).await?;
    let (row, overrides) = found.ok_or_else(missing)?;
    Ok(active_rule(&row, &overrides)?)
}
