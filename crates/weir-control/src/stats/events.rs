//! `GET /tenants/{tenant}/stats/events`

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_domain::id::RuleId;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_store::{ChangeEvent, ChangeOf, EventFilter, Page, RuleFilter, RuleRow, TallyFilter, Tx};
use weir_wire::stats::{EVENTS_MAX, Event, EventKind, Events};
use weir_wire::time::DateTime;

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::names;
use crate::state::ControlState;
use crate::stats::range::RequestedRange;
use crate::stats::{TimeQuery, parse_rule};

mod event;
mod outages;

/// The filter and time of the events.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// The start, RFC 3339; default: an hour before the end.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<DateTime>,
    /// The end; default and latest: now.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<DateTime>,
    /// Only events of this namespace, and changes of enforcement.
    namespace: Option<String>,
    /// Only events of this rule, and changes of enforcement.
    rule_id: Option<String>,
}

/// The events that explain a change in the statistics: changes of rules, overrides and enforcement, alerts, and times in which
/// checks were answered without Redis.
///
/// The times of an outage are exact to ten seconds for three days (of one rule for two hours), and to a minute or an hour beyond
/// that; `step_ms` states it.
#[utoipa::path(get, path = "/tenants/{tenant}/stats/events", operation_id = "stats_events", tag = "stats",
    params(("tenant" = String, Path, description = "`tenant_…`"), EventsQuery),
    responses((status = 200, description = "The events, those that ended last first", body = Events)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<EventsQuery>,
) -> Result<Json<Events>, ControlError> {
    let tenant_id = caller.tenant_id;
    let time = TimeQuery { from: query.from, to: query.to };
    let asked = RequestedRange::new(time, control.clock.now(), control.settings.retention)?;
    let (from, to) = asked.bounds();
    let rule_id = parse_rule(query.rule_id)?;
    let namespaces = caller.namespaces.filter(names::namespace_filter(query.namespace)?)?;
    let filter = EventFilter { tenant_id, rule_id, from, to, most: EVENTS_MAX + 1 };
    let mut tx = control.reading("stats.events", &caller).await?;
    let changes = tx.events().changes(&filter, ChangeOf::Rules).await?;
    let overrides = tx.events().changes(&filter, ChangeOf::Overrides).await?;
    let alerts = tx.events().alerts(&filter, apart(from, to)).await?;
    let of = TallyFilter { tenant_id, rule_id, namespaces: namespaces.clone(), region: None };
    let mut data = outages::read(&mut tx, &of, &asked).await?;
    let rules = rules(&mut tx, &filter, &overrides).await?;
    drop(tx);
    let most = usize::try_from(EVENTS_MAX).unwrap_or(usize::MAX);
    // Older ones were not read, and the namespaces of those that were read are applied below.
    let lists = [changes.len(), overrides.len(), alerts.events.len()];
    let unread = alerts.truncated || lists.into_iter().any(|length| length > most);
    // A change of enforcement concerns every namespace.
    let is_listed = |event: &Event| {
        let of =
            |only: &Vec<String>| event.namespace.as_ref().is_some_and(|name| only.contains(name));
        event.kind == EventKind::Enforcement || namespaces.as_ref().is_none_or(of)
    };
    let changes = changes.into_iter().map(|change| event::changed(change, &rules));
    let alerts = alerts.events.iter().map(event::fired);
    let overrides = overrides.into_iter().map(|change| event::changed(change, &rules));
    // Outages and changes of rules explain most, so the others are left out first.
    data.extend(changes.chain(alerts).chain(overrides).filter(is_listed));
    let truncated = unread || data.len() > most;
    data.truncate(most);
    data.sort_by_key(|event| Reverse(event.until.unwrap_or(event.at).0));
    Ok(Json(Events { data, truncated }))
}

/// The time between two announcements of an alert from which they are two events: ten minutes, or a hundredth of a long time.
fn apart(from: Timestamp, to: Timestamp) -> Duration {
    let length_ms = (to.as_millis() - from.as_millis()).unsigned_abs();
    Duration::from_millis(length_ms / 100).max(Duration::from_mins(10))
}

/// The rules of changed overrides, by id.
async fn rules(
    tx: &mut Tx,
    filter: &EventFilter,
    changes: &[ChangeEvent],
) -> Result<HashMap<String, RuleRow>, ControlError> {
    let ids = changes.iter().filter_map(event::rule_of);
    let mut ids: Vec<RuleId> = ids.filter_map(|id| id.parse().ok()).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let page = Page { limit: filter.most, after: None };
    let filter_ids = RuleFilter { ids: Some(ids), ..RuleFilter::default() };
    let found = tx.rules().list(filter.tenant_id, &filter_ids, &page).await?.items;
    Ok(found.into_iter().map(|row| (row.id.to_string(), row)).collect())
}
