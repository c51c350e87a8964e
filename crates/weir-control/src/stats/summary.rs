//! `GET /tenants/{tenant}/stats/summary`

use std::collections::BTreeMap;

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_domain::ceilings::TENANT_RATE_RULE;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_store::{TallyFilter, UnmatchedTally};
use weir_wire::stats::{MissingAttribute, Summary, UNMATCHED_MAX, UnmatchedChecks};
use weir_wire::time::DateTime;

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::names;
use crate::state::ControlState;
use crate::stats::range::RequestedRange;
use crate::stats::{TimeQuery, counts, parse_rule};

/// The filter and time of the statistics.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SummaryQuery {
    /// The start, RFC 3339; default: an hour before the end. Widened to whole minutes, beyond half a
    /// day to whole hours, beyond 45 days to whole days of UTC.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<DateTime>,
    /// The end; default and latest: now.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<DateTime>,
    /// Only checks of this namespace; empty: of namespaces that had no rules.
    namespace: Option<String>,
    /// Decisions of this rule instead of whole requests.
    rule_id: Option<String>,
    /// Only decisions of gates of this region; empty: of gates without a region.
    region: Option<String>,
}

/// The most hours that are counted by minutes, and by hours. Longer times are counted by days.
pub(crate) const MINUTES_H: i64 = 12;
pub(crate) const HOURS_H: i64 = 45 * 24;

/// The decisions in a period, and in the previous period of the same length.
#[utoipa::path(get, path = "/tenants/{tenant}/stats/summary", operation_id = "stats_summary", tag = "stats",
    params(("tenant" = String, Path, description = "`tenant_…`"), SummaryQuery),
    responses((status = 200, description = "The totals", body = Summary)))]
pub(crate) async fn summary(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<SummaryQuery>,
) -> Result<Json<Summary>, ControlError> {
    let time = TimeQuery { from: query.from, to: query.to };
    let asked = RequestedRange::new(time, control.clock.now(), control.settings.retention)?;
    let range = asked.whole_and_before(MINUTES_H, HOURS_H);
    let length_ms = range.to.as_millis() - range.from.as_millis();
    let before = Timestamp::from_millis(range.from.as_millis() - length_ms);
    let namespace = names::namespace_filter(query.namespace)?;
    let filter = TallyFilter {
        tenant_id: caller.tenant_id,
        rule_id: parse_rule(query.rule_id)?,
        namespaces: caller.namespaces.filter(namespace)?,
        region: names::region_filter(&control, query.region)?,
    };
    let mut tx = control.reading("stats.summary", &caller).await?;
    let bounds = [before, range.from, range.to];
    let counted = tx.tallies().series(&filter, &bounds, range.resolution).await?;
    let whole = filter.rule_id.is_none();
    let unmatched =
        if whole { unmatched(tx.tallies().unmatched(&filter, range).await?) } else { Vec::new() };
    let rate = TallyFilter { rule_id: Some(TENANT_RATE_RULE), ..filter };
    let rate = tx.tallies().series(&rate, &bounds, range.resolution).await?;
    Ok(Json(Summary {
        from: range.from.into(),
        to: range.to.into(),
        counts: counts(&counted.counts[1]),
        previous: counts(&counted.counts[0]),
        tenant_rate_denied: if whole { rate.counts[1].denied } else { 0 },
        unmatched,
        as_of: counted.as_of.into(),
        dropped: counted.dropped,
    }))
}

/// The namespaces with the most checks that no rule counted. One that had rules for a part of the time appears twice.
fn unmatched(found: BTreeMap<String, UnmatchedTally>) -> Vec<UnmatchedChecks> {
    let mut all: Vec<UnmatchedChecks> = Vec::with_capacity(found.len());
    for (namespace, tally) in found {
        if tally.unknown > 0 {
            let namespace = namespace.clone();
            let checks = tally.unknown;
            let unknown = true;
            let unmatched = checks;
            let missing = Vec::new();
            let conditions = 0;
            all.push(UnmatchedChecks {
                namespace,
                unknown,
                checks,
                unmatched,
                missing,
                conditions,
            });
        }
        if tally.unmatched > 0 {
            let lacking: u64 = tally.missing.values().sum();
            let missing = |(attribute, checks)| MissingAttribute { attribute, checks };
            all.push(UnmatchedChecks {
                namespace,
                unknown: false,
                checks: tally.checks.max(tally.unmatched),
                unmatched: tally.unmatched,
                missing: tally.missing.into_iter().map(missing).collect(),
                conditions: tally.unmatched.saturating_sub(lacking),
            });
        }
    }
    all.sort_by_key(|namespace| std::cmp::Reverse(namespace.unmatched));
    all.truncate(UNMATCHED_MAX);
    all
}
