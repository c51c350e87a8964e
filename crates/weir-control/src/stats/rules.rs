//! `GET /tenants/{tenant}/stats/rules`

use std::cmp::Reverse;

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_domain::id::RuleId;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{TallyCounts, TallyFilter};
use weir_wire::stats::{RULE_POINTS_MAX, RULE_SERIES_MAX, RuleSeries, RulesSeries};
use weir_wire::time::DateTime;

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::names;
use crate::state::ControlState;
use crate::stats::TimeQuery;
use crate::stats::range::RequestedRange;

/// The filter and time of the statistics.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RulesQuery {
    /// The start, RFC 3339; default: an hour before the end.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<DateTime>,
    /// The end; default and latest: now.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<DateTime>,
    /// Length of a step: whole minutes up to an hour, whole hours up to a day, or whole days of UTC;
    /// default 300. At most 60 points are answered.
    #[param(minimum = 60, example = 300)]
    step_s: Option<u32>,
    /// Only rules of this namespace.
    namespace: Option<String>,
    /// Only decisions of gates of this region; empty: of gates without a region.
    region: Option<String>,
}

const STEP_S_DEFAULT: u32 = 300;

/// A short series of each rule with decisions, for a list of rules.
#[utoipa::path(get, path = "/tenants/{tenant}/stats/rules", operation_id = "stats_rules", tag = "stats",
    params(("tenant" = String, Path, description = "`tenant_…`"), RulesQuery),
    responses((status = 200, description = "The busiest rules first", body = RulesSeries)))]
pub(crate) async fn rules(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<RulesQuery>,
) -> Result<Json<RulesSeries>, ControlError> {
    let time = TimeQuery { from: query.from, to: query.to };
    let asked = RequestedRange::new(time, control.clock.now(), control.settings.retention)?;
    let steps = asked.steps(Some(query.step_s.unwrap_or(STEP_S_DEFAULT)), None)?;
    let points = steps.bounds.len() - 1;
    if points > RULE_POINTS_MAX {
        let reason =
            format!("would give {points} points, and at most {RULE_POINTS_MAX} are answered");
        return Err(Problem::invalid_field("step_s", reason).into());
    }
    let namespace = names::namespace_filter(query.namespace)?;
    let filter = TallyFilter {
        tenant_id: caller.tenant_id,
        rule_id: None,
        namespaces: caller.namespaces.filter(namespace)?,
        region: names::region_filter(&control, query.region)?,
    };
    let mut tx = control.reading("stats.rules", &caller).await?;
    let counted = tx.tallies().series_of_rules(&filter, &steps.bounds, steps.resolution).await?;
    let mut rules: Vec<(RuleId, Vec<TallyCounts>)> = counted.counts.into_iter().collect();
    rules.sort_by_cached_key(|(id, steps)| (Reverse(decided(steps)), *id));
    rules.truncate(RULE_SERIES_MAX);
    Ok(Json(RulesSeries {
        start: steps.bounds[0].into(),
        step_s: steps.step_s,
        data: rules.into_iter().map(|(id, steps)| series(id, &steps)).collect(),
        as_of: counted.as_of.into(),
        dropped: counted.dropped,
    }))
}

fn decided(steps: &[TallyCounts]) -> u64 {
    steps.iter().map(|counts| counts.allowed + counts.denied + counts.shadow_denied).sum()
}

fn series(id: RuleId, steps: &[TallyCounts]) -> RuleSeries {
    RuleSeries {
        rule_id: id.to_string(),
        allowed: steps.iter().map(|counts| counts.allowed).collect(),
        denied: steps.iter().map(|counts| counts.denied).collect(),
        shadow_denied: steps.iter().map(|counts| counts.shadow_denied).collect(),
    }
}
