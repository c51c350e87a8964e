//! `POST /tenants/{tenant}/counters/look`

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use weir_domain::draft::Action;
use weir_domain::overrides::{Active, Effect};
use weir_domain::request::Act;
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_redis::limiter::{Answer, Asked};
use weir_wire::tester::{LOOK_MAX, LookAnswer, LookBody, LookedSubject};

use crate::actor::{By, Caller, Editor};
use crate::error::ControlError;
use crate::state::ControlState;
use crate::tester::meeting::limit_answer;
use crate::tester::{active, charge_of, redis_away, values};

/// How some subjects of a rule stand now, whatever its conditions say. Nothing is counted.
#[utoipa::path(post, path = "/tenants/{tenant}/counters/look", operation_id = "counters_look", tag = "testing",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = LookBody,
    responses((status = 200, description = "How they stand", body = LookAnswer)))]
pub(crate) async fn look(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Json(body): Json<LookBody>,
) -> Result<Json<LookAnswer>, ControlError> {
    if body.subjects.is_empty() || body.subjects.len() > LOOK_MAX {
        return Err(Problem::invalid_field(
            "subjects",
            format!("must hold from 1 to {LOOK_MAX} subjects"),
        )
        .into());
    }
    let rule = rule(&control, &caller, &body.rule_id).await?;
    let now = control.clock.now();
    let subjects = body.subjects.into_iter();
    let seen = subjects.map(|it| Seen::of(it, &rule, now)).collect::<Result<Vec<_>, _>>()?;
    Ok(Json(LookAnswer { data: looked(&control, &caller, &rule, seen).await? }))
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

async fn looked(
    control: &ControlState,
    caller: &Caller,
    rule: &Arc<ActiveRule>,
    seen: Vec<Seen<'_>>,
) -> Result<Vec<LookedSubject>, ControlError> {
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
            act: Act::Look,
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
        data.push(LookedSubject {
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
    let mut tx = control.reading("counters.look", caller).await?;
    let found = tx.rulebook().rule(caller.tenant_id, rule_id).await?;
    let (row, overrides) = found.ok_or_else(missing)?;
    Ok(active(&row, &overrides)?)
}
