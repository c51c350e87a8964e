//! `POST /tenants/{tenant}/test`

use std::sync::Arc;

use axum::extract::State;
use weir_domain::decide::Decision;
use weir_domain::draft::Mode;
use weir_domain::limit::LIMITS_PER_RULE_MAX;
use weir_domain::matching::{LIMITS_PER_CHECK_MAX, RuleMatch};
use weir_domain::request::{Operation, Request};
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::Micros;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_redis::limiter::{Answer, Asked};
use weir_wire::check::CheckBody;
use weir_wire::tester::TestAnswer;

use crate::actor::{By, Caller, Editor};
use crate::error::ControlError;
use crate::rules::read_stored;
use crate::state::ControlState;
use crate::tester::matched_rule::MatchedRule;
use crate::tester::{active, redis_away};

/// Try a request against every rule of a namespace: what matches, or why not, and what the limits say now.
///
/// Nothing is counted, and the rules are those that are stored, whether or not every gate has them yet.
#[utoipa::path(post, path = "/tenants/{tenant}/test", operation_id = "test", tag = "testing",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = CheckBody,
    responses((status = 200, description = "What each rule says", body = TestAnswer)))]
pub(crate) async fn test(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Json(body): Json<CheckBody>,
) -> Result<Json<TestAnswer>, ControlError> {
    let request = body.parse_look().map_err(Problem::invalid)?;
    let rules = rules(&control, &caller, request.namespace()).await?;
    let now = control.clock.now();
    let met: Vec<MatchedRule> =
        rules.into_iter().map(|rule| MatchedRule::new(rule, &request, now)).collect();
    let (decided, decisions) = look(&control, &caller, &request, &met).await?;
    Ok(Json(answer(&request, &met, &decisions, decided)))
}

/// The rules of a namespace: enforced ones, then shadows, then those that are off; oldest first.
async fn rules(
    control: &ControlState,
    caller: &Caller,
    namespace: &str,
) -> Result<Vec<Arc<ActiveRule>>, ControlError> {
    let mut tx = control.reading("tester.load", caller).await?;
    let rows = tx.rulebook().namespace(caller.tenant_id, namespace).await?;
    // A rule that cannot be read is shown as such in the list of rules.
    let readable = rows.rules.iter().filter(|row| read_stored(row).is_ok());
    let all = readable.map(|row| active(row, &rows.overrides));
    let mut rules = all.collect::<Result<Vec<_>, Problem>>()?;
    let place = |mode| match mode {
        Mode::Enforce => 0,
        Mode::Shadow => 1,
        Mode::Off => 2,
    };
    rules.sort_by_key(|it| (place(it.rule.mode()), it.id));
    Ok(rules)
}

/// What the limits say now: one list for each rule that has any to ask.
async fn look(
    control: &ControlState,
    caller: &Caller,
    request: &Request,
    met: &[MatchedRule],
) -> Result<(Micros, Vec<Vec<Decision>>), ControlError> {
    let charge = |it: &MatchedRule| match &it.rule_match {
        RuleMatch::Charged(charge) => Some(charge.clone()),
        _ => None,
    };
    let charges: Vec<_> = met.iter().map(charge).collect();
    let rules: Vec<_> = charges.iter().flatten().cloned().collect();
    if rules.is_empty() {
        let now = Micros::from_ms(control.clock.now().as_millis_u64());
        return Ok((now, vec![Vec::new(); met.len()]));
    }
    let (tenant, cost) = (caller.tenant_id, request.cost());
    // A look decides nothing for rules together, so it is asked in parts no larger than a check can be.
    let parts = rules.chunks(LIMITS_PER_CHECK_MAX / LIMITS_PER_RULE_MAX);
    let look =
        |rules| Asked { tenant, operation: Operation::Inspect, cost, rules, idempotency: None };
    let asked: Vec<_> = parts.map(look).collect();
    let (mut decided, mut all) = (Micros::default(), Vec::new());
    for result in control.limiter.check(&asked).await {
        let Answer::Decided(at, decisions) = result.map_err(redis_away)? else {
            return Err(Problem::internal("a look was not decided").into());
        };
        decided = at;
        all.extend(decisions);
    }
    let mut decisions = all.into_iter();
    let mut of_rule = |count| decisions.by_ref().take(count).collect();
    let lists = charges.iter().map(|it| of_rule(it.as_ref().map_or(0, |it| it.limits().len())));
    Ok((decided, lists.collect()))
}

fn answer(
    request: &Request,
    met: &[MatchedRule],
    decisions: &[Vec<Decision>],
    decided: Micros,
) -> TestAnswer {
    let refuses =
        |(it, decisions): &(&MatchedRule, &Vec<Decision>)| it.enforced() && !it.passes(decisions);
    let is_denial = |it: &MatchedRule| !matches!(it.rule_match, RuleMatch::Charged(_));
    let refusing: Vec<&MatchedRule> =
        met.iter().zip(decisions).filter(refuses).map(|(it, _)| it).collect();
    // A rule that refuses comes before one that exempts, and that before limits.
    let exempted = met.iter().any(|it| it.enforced() && it.exempts());
    let outright = refusing.iter().any(|it| is_denial(it));
    let counts = |it: &&&MatchedRule| is_denial(it) || !(exempted || outright);
    let name = |it: &&MatchedRule| it.active.rule.name().to_owned();
    let denied_by: Vec<String> = refusing.iter().filter(counts).map(name).collect();
    TestAnswer {
        allowed: denied_by.is_empty(),
        denied_by,
        rules: met
            .iter()
            .zip(decisions)
            .map(|(it, decisions)| it.answer(request, decisions, decided))
            .collect(),
    }
}
