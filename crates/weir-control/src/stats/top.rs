//! `GET /tenants/{tenant}/stats/top`

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{RuleTally, SKETCH_MS, TallyFilter, TopFilter, TopSubject};
use weir_wire::stats::{Top, TopBy, TopEntry, TopOrder};
use weir_wire::time::DateTime;

use crate::actor::{By, Caller, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::names;
use crate::rule_service::subject_of;
use crate::state::ControlState;
use crate::stats::range::RequestedRange;
use crate::stats::{TimeQuery, parse_rule};

/// The kind, order and time of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TopQuery {
    /// Subjects (default), or rules.
    #[param(inline)]
    by: Option<TopBy>,
    /// Most denied first (default), or most checked.
    #[param(inline)]
    order: Option<TopOrder>,
    /// The start, RFC 3339; default: an hour before the end. For subjects widened to ten minutes and
    /// at most a day; for rules to whole minutes, beyond two hours to hours, beyond three days to days.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<DateTime>,
    /// The end; default and latest: now.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<DateTime>,
    /// Only subjects of this rule.
    rule_id: Option<String>,
    /// Only rules of this namespace, or subjects that such rules count.
    namespace: Option<String>,
    /// Only decisions of gates of this region, for rules; empty: of gates without a region.
    region: Option<String>,
    /// The maximum number of entries.
    #[param(minimum = 1, maximum = 100, default = 10)]
    limit: Option<u32>,
}

const LIMIT_DEFAULT: u32 = 10;
const LIMIT_MAX: u32 = 100;
/// The most hours for which rules are counted by minutes, and by hours. Longer times are counted by days. A query reads all
/// rules of a tenant, so the limits are lower than for one series.
const MINUTES_H: i64 = 2;
const HOURS_H: i64 = 3 * 24;
const SUBJECTS_MS_MAX: i64 = 24 * 60 * 60 * 1000;

/// The subjects or rules with the most checks or denials.
#[utoipa::path(get, path = "/tenants/{tenant}/stats/top", operation_id = "stats_top", tag = "stats",
    params(("tenant" = String, Path, description = "`tenant_…`"), TopQuery),
    responses((status = 200, description = "The entries, in the requested order", body = Top)))]
pub(crate) async fn top(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<TopQuery>,
) -> Result<Json<Top>, ControlError> {
    if !(1..=LIMIT_MAX).contains(&query.limit.unwrap_or(LIMIT_DEFAULT)) {
        return Err(Problem::invalid_field("limit", "must be from 1 to 100").into());
    }
    let time = TimeQuery { from: query.from, to: query.to };
    let asked = RequestedRange::new(time, control.clock.now(), control.settings.retention)?;
    match query.by.unwrap_or_default() {
        TopBy::Rule => rules(&control, &caller, query, &asked).await,
        TopBy::Subject => subjects(&control, &caller, query, &asked).await,
    }
}

async fn rules(
    control: &ControlState,
    caller: &Caller,
    query: TopQuery,
    asked: &RequestedRange,
) -> Result<Json<Top>, ControlError> {
    if query.rule_id.is_some() {
        return Err(Problem::invalid_field("rule_id", "is for subjects, not for rules").into());
    }
    let range = asked.whole(MINUTES_H, HOURS_H);
    let tenant_id = caller.tenant_id;
    let namespace = names::namespace_filter(query.namespace)?;
    let filter = TallyFilter {
        tenant_id,
        rule_id: None,
        namespaces: caller.namespaces.filter(namespace)?,
        region: names::region_filter(control, query.region)?,
    };
    let most_asked = query.order == Some(TopOrder::Checks);
    let limit = query.limit.unwrap_or(LIMIT_DEFAULT);
    let mut tx = control.reading("stats.top_rules", caller).await?;
    let counted = tx.tallies().top_rules(&filter, range, most_asked, limit).await?;
    Ok(Json(Top {
        by: TopBy::Rule,
        from: range.from.into(),
        to: range.to.into(),
        data: counted.counts.into_iter().map(of_rule).collect(),
        error_at_most: 0,
        as_of: counted.as_of.into(),
        dropped: counted.dropped,
    }))
}

async fn subjects(
    control: &ControlState,
    caller: &Caller,
    query: TopQuery,
    asked: &RequestedRange,
) -> Result<Json<Top>, ControlError> {
    if query.region.is_some() {
        return Err(Problem::invalid_field("region", "is for rules, not for subjects").into());
    }
    let (from, to) = asked.widened(SKETCH_MS);
    let from = from.max(Timestamp::from_millis(to.as_millis() - SUBJECTS_MS_MAX));
    let namespace = names::namespace_filter(query.namespace)?;
    let filter = TopFilter {
        tenant_id: caller.tenant_id,
        rule_id: parse_rule(query.rule_id)?,
        namespaces: caller.namespaces.filter(namespace)?,
        attribute: None,
        from,
        to,
        most_asked_first: query.order == Some(TopOrder::Checks),
        limit: query.limit.unwrap_or(LIMIT_DEFAULT),
    };
    let mut tx = control.reading("stats.top_subjects", caller).await?;
    let (counted, error_at_most) = tx.top_subjects().list(&filter).await?;
    Ok(Json(Top {
        by: TopBy::Subject,
        from: from.into(),
        to: to.into(),
        data: counted.counts.into_iter().map(of_subject).collect(),
        error_at_most,
        as_of: counted.as_of.into(),
        dropped: counted.dropped,
    }))
}

fn of_rule(tally: RuleTally) -> TopEntry {
    let (namespace, rule) = tally.name.unzip();
    TopEntry {
        rule_id: tally.rule_id.to_string(),
        rule,
        namespace,
        subject: None,
        checks: tally.counts.allowed + tally.counts.denied + tally.counts.shadow_denied,
        denied: tally.counts.denied + tally.counts.shadow_denied,
        shadow_denied: tally.counts.shadow_denied,
    }
}

fn of_subject(top: TopSubject) -> TopEntry {
    let (namespace, rule) = top.name.unzip();
    TopEntry {
        rule_id: top.entry.rule_id.to_string(),
        rule,
        namespace,
        subject: Some(subject_of(top.entry.subject)),
        checks: top.entry.checks,
        denied: top.entry.denied,
        shadow_denied: top.entry.shadow_denied,
    }
}
