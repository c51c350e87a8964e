//! `GET /tenants/{tenant}/stats/series`

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_store::{TallyCounts, TallyFilter};
use weir_wire::stats::{LatencySeries, Series};
use weir_wire::time::DateTime;

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::names;
use crate::state::ControlState;
use crate::stats::range::{MINUTE_S, RequestedRange};
use crate::stats::{TimeQuery, parse_rule};

/// The filter, time and steps of a series.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SeriesQuery {
    /// The start, RFC 3339; default: an hour before the end.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<DateTime>,
    /// The end; default and latest: now.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<DateTime>,
    /// Length of a step: whole minutes up to an hour, whole hours up to a day, or whole days; default:
    /// what gives some hundred points. At most 2,000 points are answered. 10, 20 or 30 for at most an hour within the last two.
    #[param(minimum = 10, example = 300)]
    step_s: Option<u32>,
    /// Steps of whole days begin at this zone's midnight (IANA name, default UTC).
    #[param(example = "Europe/Berlin")]
    time_zone: Option<String>,
    /// Only checks of this namespace; empty: of namespaces that had no rules.
    namespace: Option<String>,
    /// Decisions of this rule instead of whole requests.
    rule_id: Option<String>,
    /// Only decisions of gates of this region; empty: of gates without a region.
    region: Option<String>,
}

/// The decisions in each step, zeros included.
#[utoipa::path(get, path = "/tenants/{tenant}/stats/series", operation_id = "stats_series", tag = "stats",
    params(("tenant" = String, Path, description = "`tenant_…`"), SeriesQuery),
    responses((status = 200, description = "The series", body = Series)))]
pub(crate) async fn series(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<SeriesQuery>,
) -> Result<Json<Series>, ControlError> {
    let time = TimeQuery { from: query.from, to: query.to };
    let asked = RequestedRange::new(time, control.clock.now(), control.settings.retention)?;
    let steps = match query.step_s {
        Some(step_s) if step_s < MINUTE_S => asked.fine_steps(step_s)?,
        step_s => asked.steps(step_s, query.time_zone.as_deref())?,
    };
    let namespace = names::namespace_filter(query.namespace)?;
    let filter = TallyFilter {
        tenant_id: caller.tenant_id,
        rule_id: parse_rule(query.rule_id)?,
        namespaces: caller.namespaces.filter(namespace)?,
        region: names::region_filter(&control, query.region)?,
    };
    let mut tx = control.reading("stats.series", &caller).await?;
    let counted = if steps.step_s < MINUTE_S {
        tx.tallies().steps(&filter, &steps.bounds).await?
    } else {
        tx.tallies().series(&filter, &steps.bounds, steps.resolution).await?
    };
    let latency = if filter.rule_id.is_none() && asked.has_fine_steps() {
        let found = tx.tallies().latencies(&filter, &steps.bounds).await?;
        let of = |percent| found.iter().map(|step| step.percentile_us(percent)).collect();
        Some(LatencySeries { p50_us: of(50), p99_us: of(99) })
    } else {
        None
    };
    let column =
        |of: fn(&TallyCounts) -> u64| -> Vec<u64> { counted.counts.iter().map(of).collect() };
    let (_, starts) = steps.bounds.split_last().expect("a series has an end");
    Ok(Json(Series {
        start: starts.first().copied().unwrap_or_default().into(),
        step_s: steps.step_s,
        starts: steps.local.then(|| starts.iter().copied().map(DateTime).collect()),
        allowed: column(|counts| counts.allowed),
        denied: column(|counts| counts.denied),
        shadow_denied: column(|counts| counts.shadow_denied),
        degraded: column(|counts| counts.degraded),
        refunded: column(|counts| counts.refunded),
        recorded: column(|counts| counts.recorded),
        latency,
        as_of: counted.as_of.into(),
        dropped: counted.dropped,
    }))
}
