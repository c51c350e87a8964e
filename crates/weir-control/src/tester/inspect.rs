//! `POST /tenants/{tenant}/counters/inspect`

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use weir_domain::draft::Action;
use weir_domain::overrides::{Active, Effect};
use weir_domain::request::Operation;
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_redis::limiter::{Answer, Asked};
use weir_wire::tester::{INSPECT_MAX, InspectAnswer, InspectBody, InspectedSubject};

use crate::actor::{By, Caller, Editor};
use crate::error::ControlError;
use crate::state::ControlState;
use crate::tester::matched_rule::limit_answer;
use crate::tester::{active, charge_of, redis_away, values};

/// How some subjects of a rule stand now, whatever its conditions say. Nothing is counted.
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
    let seen = subjects.map(|it| Seen::of(it, &rule, now)).collect::<Result<Vec<_>, _>>()?;
    Ok(Json(InspectAnswer { data: inspected(&control, &caller, &rule, seen).await? }))
}

/// A subject before its counters are asked.
#[derive(Debug)]
struct Seen<'a> {
    subject: BTreeMap<String, String>,
    exception: Option<&'a Active>,
    values: Vec<String>,
}

impl<'a> Seen<'a> {
    fn of(
        subject: BTreeMap<String, String>,
        rule: &'a ActiveRule,
        now: Timestamp,
    ) -> Result<Self, Problem> {
        let found = values(&rule.rule, &subject)?;
        let exception = rule.overrides.find(&rule.rule, &found, now);
        let values = found.into_iter().map(str::to_owned).collect();
        Ok(Self { subject, exception, values })
    }

    fn action(&self, rule: &ActiveRule) -> Action {
        match self.exception.map(|it| &it.effect) {
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
    seen: Vec<Seen<'_>>,
) -> Result<Vec<InspectedSubject>, ControlError> {
    let charge = |it: &Seen<'_>| {
        let values: Vec<_> = it.values.iter().map(String::as_str).collect();
        charge_of(rule, &values, it.exception)
    };
    let limited: Vec<_> =
        seen.iter().map(|it| (it.action(rule) == Action::Limit).then(|| charge(it))).collect();
    let asked: Vec<_> = limited
        .iter()
        .flatten()
        .map(|charge| Asked {
            tenant: caller.tenant_id,
            operation: Operation::Inspect,
            cost: 1,
            rules: std::slice::from_ref(charge),
            idempotency: None,
        })
        .collect();
    let results = control.limiter.check(&asked).await;
    let mut results = results.into_iter().map(|result| result.map_err(redis_away));
    let mut data = Vec::with_capacity(seen.len());
    for (it, charge) in seen.into_iter().zip(&limited) {
        let mut limits = Vec::new();
        if let Some(charge) = charge {
            let Some(Answer::Decided(decided, decisions)) = results.next().transpose()? else {
                return Err(Problem::internal("a look was not decided").into());
            };
            let pairs = charge.limits().iter().zip(decisions);
            limits.extend(pairs.map(|(limit, said)| limit_answer(rule, limit, said, decided)));
        }
        data.push(InspectedSubject {
            action: it.action(rule).into(),
            override_id: it.exception.map(|it| it.id.to_string()),
            subject: it.subject,
            limits,
        });
    }
    Ok(data)
}

async fn rule(
    control: &ControlState,
    caller: &Caller,
    id: &str,
) -> Result<Arc<ActiveRule>, ControlError> {
    let missing = || Problem::invalid_field("rule_id", "names no rule");
    let rule_id = id.parse().map_err(|_| missing())?;
    let mut tx = control.reading("counters.inspect", caller).await?;
    let found = tx.rulebook().rule(caller.tenant_id, rule_id).await?;
    let (row, overrides) = found.ok_or_else(missing)?;
    Ok(active(&row, &overrides)?)
}
