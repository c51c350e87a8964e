//! `GET /tenants/{tenant}/stats/events`

use std::cmp::Reverse;
use std::collections::HashMap;

use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;
use weir_domain::id::RuleId;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_store::{
    AlertEvent, ChangeEvent, EventFilter, Page, RuleFilter, RuleRow, TallyCounts, TallyFilter, Tx,
};
use weir_wire::stats::{EVENTS_MAX, Event, EventKind, Events};
use weir_wire::time::DateTime;

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::names;
use crate::state::ControlState;
use crate::stats::range::{Asked, Steps};
use crate::stats::{TimeQuery, parse_rule};

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

/// The events that explain a change in the statistics: changes of rules, overrides and enforcement, alerts, and outages of Redis.
///
/// Outages are computed from the statistics, so their times are as exact as a series of this length.
#[utoipa::path(get, path = "/tenants/{tenant}/stats/events", operation_id = "stats_events", tag = "stats",
    params(("tenant" = String, Path, description = "`tenant_…`"), EventsQuery),
    responses((status = 200, description = "The events, the newest first", body = Events)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<EventsQuery>,
) -> Result<Json<Events>, ControlError> {
    let tenant_id = caller.tenant_id;
    let time = TimeQuery { from: query.from, to: query.to };
    let asked = Asked::new(time, control.clock.now(), control.settings.retention)?;
    let steps = asked.steps(None, None)?;
    let (from, to) = asked.bounds();
    let rule_id = parse_rule(query.rule_id)?;
    let namespaces = caller.namespaces.filter(names::namespace_filter(query.namespace)?)?;
    let filter = EventFilter { tenant_id, rule_id, from, to, most: EVENTS_MAX + 1 };
    let mut tx = control.reading("stats.events", &caller).await?;
    let changes = tx.events().changes(&filter).await?;
    let alerts = tx.events().alerts(&filter).await?;
    let of = TallyFilter { tenant_id, rule_id, namespaces: namespaces.clone() };
    let counted = tx.tallies().series(&of, &steps.bounds, steps.resolution).await?;
    let rules = rules(&mut tx, &filter, &changes).await?;
    drop(tx);
    let most = usize::try_from(EVENTS_MAX).unwrap_or(usize::MAX);
    // Older ones were not read, and the namespaces of those that were read are applied below.
    let unread = changes.len() > most || alerts.len() > most;
    let mut data: Vec<Event> = changes.into_iter().map(|change| changed(change, &rules)).collect();
    data.extend(alerts.iter().map(fired));
    // A change of enforcement concerns every namespace.
    data.retain(|event| {
        let is_listed =
            |only: &Vec<String>| event.namespace.as_ref().is_some_and(|name| only.contains(name));
        event.kind == EventKind::Enforcement || namespaces.as_ref().is_none_or(is_listed)
    });
    data.extend(outages(&steps, &counted.counts));
    data.sort_by_key(|event| Reverse(event.at.0));
    let truncated = unread || data.len() > most;
    data.truncate(most);
    Ok(Json(Events { data, truncated }))
}

/// The rules of changed overrides, by id.
async fn rules(
    tx: &mut Tx,
    filter: &EventFilter,
    changes: &[ChangeEvent],
) -> Result<HashMap<String, RuleRow>, ControlError> {
    let ids = changes.iter().filter_map(|change| text(change.object.as_ref()?, "/rule_id"));
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

/// A change in JSON.
fn changed(change: ChangeEvent, rules: &HashMap<String, RuleRow>) -> Event {
    let object = change.object.unwrap_or_default();
    let (kind, rule_id) = match change.action.split('.').next() {
        Some("rule") => (EventKind::RuleChange, Some(change.object_id)),
        Some("override") => (EventKind::OverrideChange, text(&object, "/rule_id")),
        _ => (EventKind::Enforcement, None),
    };
    let (rule, namespace) = match (kind, rule_id.as_ref().and_then(|id| rules.get(id))) {
        (EventKind::RuleChange, _) => (text(&object, "/name"), text(&object, "/namespace")),
        (_, Some(row)) => (Some(row.name.clone()), Some(row.namespace.clone())),
        _ => (None, None),
    };
    Event {
        rule_id,
        rule,
        namespace,
        action: Some(change.action),
        actor: Some(change.actor),
        ..event(kind, change.at)
    }
}

/// An alert in JSON.
fn fired(alert: &AlertEvent) -> Event {
    let namespace =
        text(&alert.data, "/rule/namespace").or_else(|| text(&alert.data, "/namespace"));
    Event {
        rule_id: text(&alert.data, "/rule/id"),
        rule: text(&alert.data, "/rule/name"),
        namespace,
        alert: text(&alert.data, "/alert/name"),
        ..event(EventKind::Alert, alert.at)
    }
}

/// The runs of neighbouring steps with checks that were answered without Redis.
fn outages(steps: &Steps, counts: &[TallyCounts]) -> Vec<Event> {
    let mut outages: Vec<Event> = Vec::new();
    for (bounds, counts) in steps.bounds.windows(2).zip(counts) {
        if counts.degraded == 0 {
            continue;
        }
        let last = outages.last_mut().filter(|last| last.until == Some(bounds[0].into()));
        if let Some(last) = last {
            last.until = Some(bounds[1].into());
            last.checks = last.checks.map(|checks| checks + counts.degraded);
            continue;
        }
        outages.push(Event {
            until: Some(bounds[1].into()),
            checks: Some(counts.degraded),
            ..event(EventKind::RedisOutage, bounds[0])
        });
    }
    outages
}

fn event(kind: EventKind, at: Timestamp) -> Event {
    Event {
        kind,
        at: at.into(),
        until: None,
        action: None,
        actor: None,
        rule_id: None,
        rule: None,
        namespace: None,
        alert: None,
        checks: None,
    }
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}
