//! `POST /tenants/{tenant}/test`

use std::sync::Arc;

use axum::extract::State;
use weir_domain::draft::Mode;
use weir_domain::matching::RuleMatch;
use weir_domain::request::Request;
use weir_domain::rulebook::ActiveRule;
use weir_domain::spread::SpreadBy;
use weir_domain::time::Micros;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::check::CheckBody;
use weir_wire::tester::TestAnswer;

use crate::actor::{By, Caller, Editor, InNamespaces};
use crate::error::ControlError;
use crate::rule_service::{CheckedRule, Exceptions, Inspected, active_rule, inspect, spread_by};
use crate::state::ControlState;
use crate::tester::matched_rule::MatchedRule;

/// Try a request against every rule of a namespace: whether each rule matches, or why not, and the present state of the limits.
///
/// Nothing is counted, and the rules are those that are stored, whether or not every gate has them yet.
#[utoipa::path(post, path = "/tenants/{tenant}/test", operation_id = "test", tag = "testing",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = CheckBody,
    responses((status = 200, description = "The result of each rule", body = TestAnswer)))]
pub(crate) async fn test(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Json(body): Json<CheckBody>,
) -> Result<Json<TestAnswer>, ControlError> {
    let request = body.parse_look().map_err(Problem::invalid)?;
    caller.namespaces.admit(request.namespace())?;
    let (rules, spread_by) = rules(&control, &caller, &request).await?;
    let now = control.clock.now();
    let matched: Vec<MatchedRule> =
        rules.into_iter().map(|rule| MatchedRule::new(rule, &spread_by, &request, now)).collect();
    let inspected = inspected(&control, &caller, &request, &matched).await?;
    let now = Micros::from_ms(control.clock.now().as_millis_u64());
    Ok(Json(answer(&request, &matched, &inspected, now)))
}

/// The rules of a namespace: enforced rules, then those in the modes report, shadow and off; the oldest first. With the attributes by
/// which their counters are spread.
async fn rules(
    control: &ControlState,
    caller: &Caller,
    request: &Request,
) -> Result<(Vec<Arc<ActiveRule>>, SpreadBy), ControlError> {
    let mut tx = control.reading("tester.load", caller).await?;
    let tenant_id = caller.tenant_id;
    let rows = tx.rulebook().namespace(tenant_id, request.namespace()).await?;
    let customers = |name: &str| request.attribute(name).map(str::to_owned).into_iter().collect();
    let exceptions = Exceptions::from(rows.overrides);
    let now = control.clock.now();
    let exceptions = exceptions.with_plans(&mut tx, tenant_id, now, customers).await?;
    // The list of rules shows unreadable rules as such.
    let readable = rows.rules.iter().filter(|row| CheckedRule::stored(row).is_ok());
    let all = readable.map(|row| active_rule(row, &exceptions));
    let mut rules = all.collect::<Result<Vec<_>, _>>()?;
    let place = |mode| match mode {
        Mode::Enforce => 0,
        Mode::Report => 1,
        Mode::Shadow => 2,
        Mode::Off => 3,
    };
    rules.sort_by_key(|active| (place(active.rule.mode()), active.id));
    Ok((rules, rows.rules.first().map(spread_by).unwrap_or_default()))
}

/// The present state of the limits of each matched rule; `None` if it charges none.
async fn inspected(
    control: &ControlState,
    caller: &Caller,
    request: &Request,
    matched: &[MatchedRule],
) -> Result<Vec<Option<Inspected>>, ControlError> {
    let charged = matched.iter().filter_map(MatchedRule::charge);
    let (tenant, namespace, cost) = (caller.tenant_id, request.namespace(), request.cost());
    let mut all = inspect(control, tenant, namespace, cost, charged).await.into_iter();
    let of_rule = |matched: &MatchedRule| matched.charge().and_then(|_| all.next()).transpose();
    Ok(matched.iter().map(of_rule).collect::<Result<_, _>>()?)
}

fn answer(
    request: &Request,
    matched: &[MatchedRule],
    inspected: &[Option<Inspected>],
    now: Micros,
) -> TestAnswer {
    let with_decisions = || matched.iter().zip(inspected);
    let denies = |rule: &MatchedRule, inspected| rule.enforced() && !rule.passes(inspected);
    let denying: Vec<&MatchedRule> = with_decisions()
        .filter(|(rule, inspected)| denies(rule, inspected.as_ref()))
        .map(|(rule, _)| rule)
        .collect();
    // A rule that denies outright precedes one that exempts, which precedes limits.
    let outright = |rule: &MatchedRule| !matches!(rule.rule_match, RuleMatch::Charged(_));
    let exempted = matched.iter().any(|rule| rule.enforced() && rule.exempts());
    let without_limits = exempted || denying.iter().any(|rule| outright(rule));
    let counts = |rule: &&&MatchedRule| outright(rule) || !without_limits;
    let name = |rule: &&MatchedRule| rule.active.rule.name().to_owned();
    let denied_by: Vec<String> = denying.iter().filter(counts).map(name).collect();
    TestAnswer {
        allowed: denied_by.is_empty(),
        denied_by,
        rules: with_decisions()
            .map(|(rule, inspected)| rule.answer(request, inspected.as_ref(), now))
            .collect(),
    }
}
