//! `GET` and `POST /tenants/{tenant}/subjects/near-limit`
//!
//! Redis stores counters under digests of subjects, so they cannot be listed. As for alerts about quotas, the sketches of the last
//! hour give the subjects to inspect, busiest first.

use std::cmp::Reverse;
use std::collections::HashMap;

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_domain::alert::reached;
use weir_domain::id::RuleId;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{Page, RuleFilter, SKETCH_MS, TopFilter, sketch_start};
use weir_wire::simulate::SimulatedPlan;
use weir_wire::subjects::{NEAR_LIMIT_SUBJECTS_MAX, NearLimit, NearLimitAnswer, PlanNearLimitBody};

use super::limits::{CountedSubjects, Subject, fullest, used};
use crate::actor::{By, Caller, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::input::Input;
use crate::names;
use crate::rule_service::{CheckedRule, subject_of};
use crate::state::ControlState;
use crate::stats::parse_rule;

const HOUR_MS: i64 = 3_600_000;
const PERCENT_DEFAULT: u8 = 80;

/// The subjects to inspect, and the share.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct NearLimitQuery {
    /// Only subjects of this rule.
    rule_id: Option<String>,
    /// Only subjects of the rules of this namespace.
    namespace: Option<String>,
    /// The least used share of a limit, in percent.
    #[param(minimum = 1, maximum = 100, default = 80)]
    percent: Option<u8>,
}

/// List the subjects that have used most of a limit. The busiest subjects of the last hour are inspected, at most 200; nothing is
/// counted. Spacing is left out, because each check uses all of it. A rule with one counter for all requests is inspected if
/// `rule_id` names it.
#[utoipa::path(get, path = "/tenants/{tenant}/subjects/near-limit", operation_id = "subjects_near_limit", tag = "subjects",
    params(("tenant" = String, Path, description = "`tenant_…`"), NearLimitQuery),
    responses((status = 200, description = "The subjects, the greatest share first", body = NearLimitAnswer)))]
pub(crate) async fn near_limit(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<NearLimitQuery>,
) -> Result<Json<NearLimitAnswer>, ControlError> {
    let rule_id = parse_rule(query.rule_id)?;
    let namespaces = caller.namespaces.filter(names::namespace_filter(query.namespace)?)?;
    let wanted = Wanted { percent: percent(query.percent)?, rule_id, namespaces, plan: None };
    Ok(Json(find(&control, &caller, wanted).await?))
}

/// List the customers of a plan that have used most of the limit that the plan would give them: a preview of a change. Of the
/// busiest subjects of the rule in the last hour, at most 200, those are listed that the plan would then limit.
#[utoipa::path(post, path = "/tenants/{tenant}/subjects/near-limit", operation_id = "subjects_near_limit_of_plan", tag = "subjects",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = PlanNearLimitBody,
    responses((status = 200, description = "The subjects, the greatest share first", body = NearLimitAnswer)))]
pub(crate) async fn near_limit_of_plan(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Input { body, .. }: Input<PlanNearLimitBody>,
) -> Result<Json<NearLimitAnswer>, ControlError> {
    let PlanNearLimitBody { rule_id, plan, percent: least } = body;
    let wanted = Wanted {
        percent: percent(least)?,
        rule_id: parse_rule(Some(rule_id))?,
        namespaces: caller.namespaces.filter(None)?,
        plan: Some(plan),
    };
    Ok(Json(find(&control, &caller, wanted).await?))
}

/// The subjects to list.
struct Wanted {
    /// The least used share of a limit, in percent.
    percent: u8,
    rule_id: Option<RuleId>,
    namespaces: Option<Vec<String>>,
    /// A changed plan, whose customers alone are listed.
    plan: Option<SimulatedPlan>,
}

fn percent(percent: Option<u8>) -> Result<u8, Problem> {
    let percent = percent.unwrap_or(PERCENT_DEFAULT);
    if (1..=100).contains(&percent) {
        Ok(percent)
    } else {
        Err(Problem::invalid_field("percent", "must be from 1 to 100"))
    }
}

async fn find(
    control: &ControlState,
    caller: &Caller,
    wanted: Wanted,
) -> Result<NearLimitAnswer, ControlError> {
    let Wanted { percent, rule_id, namespaces, plan } = wanted;
    let tenant_id = caller.tenant_id;
    let now = control.clock.now();
    let filter = TopFilter {
        tenant_id,
        rule_id,
        namespaces: namespaces.clone(),
        attribute: None,
        from: sketch_start(now.plus_ms(-HOUR_MS)),
        to: now.plus_ms(SKETCH_MS),
        most_asked_first: true,
        limit: NEAR_LIMIT_SUBJECTS_MAX + 1,
    };
    let mut tx = control.reading("subjects.near_limit", caller).await?;
    let (counted, floor) = tx.top_subjects().list(&filter).await?;
    let most = usize::try_from(NEAR_LIMIT_SUBJECTS_MAX).unwrap_or(usize::MAX);
    let mut complete = counted.counts.len() <= most && floor == 0 && counted.dropped == 0;
    let mut subjects: HashMap<RuleId, Vec<Subject>> = HashMap::new();
    for top in counted.counts.into_iter().take(most) {
        subjects.entry(top.entry.rule_id).or_default().push(subject_of(top.entry.subject));
    }
    let rows = if let Some(rule_id) = rule_id {
        let missing = || Problem::invalid_field("rule_id", "is not a rule of this tenant");
        let row = tx.rules().find(tenant_id, rule_id).await?.ok_or_else(missing)?;
        caller.namespaces.admit(&row.namespace)?;
        if CheckedRule::stored(&row)?.rule.count_by().is_empty() {
            subjects = HashMap::from([(rule_id, vec![Subject::new()])]);
            complete = true;
        }
        vec![row]
    } else {
        let ids = Some(subjects.keys().copied().collect());
        let filter = RuleFilter { namespaces, ids, ..RuleFilter::default() };
        let page = Page { limit: NEAR_LIMIT_SUBJECTS_MAX, after: None };
        tx.rules().list(tenant_id, &filter, &page).await?.items
    };
    let plan = plan.as_ref();
    let counted_subjects =
        CountedSubjects::load(&mut tx, tenant_id, rows, subjects, now, plan).await?;
    drop(tx);
    let mut inspected = 0;
    let mut near = Vec::new();
    for (subject, limits) in counted_subjects.limits(control, now).await? {
        let limits = limits?.limits;
        let of_plan = subject.plan_id().map(|id| id.to_string());
        if plan.is_some_and(|plan| of_plan.as_ref() != Some(&plan.id)) {
            continue;
        }
        inspected += 1;
        let found = fullest(&subject, limits);
        near.extend(found.filter(|(_, near)| {
            !reached(&[percent], used(&near.limit), near.limit.limit).is_empty()
        }));
    }
    near.sort_by_key(|(share, _): &(u128, NearLimit)| Reverse(*share));
    Ok(NearLimitAnswer {
        data: near.into_iter().map(|(_, near)| near).collect(),
        inspected,
        complete,
        from: filter.from.into(),
        as_of: counted.as_of.into(),
    })
}
