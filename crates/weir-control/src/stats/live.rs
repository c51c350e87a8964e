//! `GET /tenants/{tenant}/stats/live`: current statistics once a second, as server-sent events.
//!
//! One task reads for all watchers of a tenant, and ends some seconds after the last of them left. Each turn, it also checks
//! which of them are still members or active keys; the streams of the others end. A stream lasts a minute at most.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderName;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::time::{Instant, MissedTickBehavior};
use weir_domain::id::{DenialId, RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_domain::unmatched::is_reserved;
use weir_store::{DenialFilter, Page, Scope, StoreError, TallyCounts};
use weir_wire::stats::{LiveRule, LiveTick};

use crate::actor::{By, Viewer};
use crate::error::ControlError;
use crate::state::ControlState;
use crate::stats::counts;
use crate::stats::denials::entry;

use watchers::{Turn, Turns, Watcher};

pub(crate) mod watchers;

const EVERY: Duration = Duration::from_secs(1);
const STREAM_LASTS: Duration = Duration::from_mins(1);
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The number of turns without a watcher after which the task ends. A watcher who returns sooner finds it running.
const LONELY_TURNS_MAX: u32 = 10;
const RULES_MAX: usize = 50;
const DENIALS_MAX: u32 = 50;
/// The longest delay of entries from a slow gate, in milliseconds.
const DENIALS_LATE_MS: i64 = 5_000;
const MINUTE_MS: i64 = 60_000;

/// Current statistics, once a second: events named `tick`, each with a `LiveTick`. The stream ends after a
/// minute with an event named `end`: ask again. Lines that begin with a colon are heartbeats.
#[utoipa::path(get, path = "/tenants/{tenant}/stats/live", operation_id = "stats_live", tag = "stats",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    responses((status = 200, description = "Events", body = LiveTick, content_type = "text/event-stream")))]
pub(crate) async fn live(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
) -> Result<Response, ControlError> {
    let tenant_id = caller.tenant_id;
    let start = |turns| drop(tokio::spawn(run(control.clone(), tenant_id, turns)));
    let ticks = control.local.live.watch(tenant_id, Watcher::of(&caller.actor), start)?;
    let until = Instant::now() + STREAM_LASTS;
    let events = stream::unfold(Some((ticks, control)), move |watching| async move {
        let (mut ticks, control) = watching?;
        let next = tokio::select! {
            next = ticks.next() => next,
            () = tokio::time::sleep_until(until) => None,
            () = control.stop.cancelled() => None,
        };
        let (event, watching) = match next {
            Some(tick) => (Event::default().event("tick").data(tick), Some((ticks, control))),
            None => (Event::default().event("end").data("{}"), None),
        };
        Some((Ok::<_, Infallible>(event), watching))
    });
    // Without this header, a proxy can delay events.
    let unbuffered = [(HeaderName::from_static("x-accel-buffering"), "no")];
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    Ok((unbuffered, events).into_response())
}

/// Sends each turn to all streams of a tenant, until it has no watcher.
async fn run(control: ControlState, tenant_id: TenantId, turns: Turns) {
    let mut timer = tokio::time::interval(EVERY);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut reading = Reading::default();
    let mut lonely_turns = 0;
    loop {
        tokio::select! {
            () = control.stop.cancelled() => return,
            _ = timer.tick() => {}
        }
        lonely_turns = if turns.receiver_count() == 0 { lonely_turns + 1 } else { 0 };
        if lonely_turns > LONELY_TURNS_MAX && control.local.live.leave(tenant_id, &turns) {
            return;
        }
        match reading.next(&control, tenant_id).await {
            // An error means that no stream is open at the moment.
            Ok(turn) => drop(turns.send(Arc::new(turn))),
            Err(error) => tracing::debug!(%error, "could not read live statistics"),
        }
    }
}

/// The previous reading, from which the next tick is computed.
#[derive(Debug, Default)]
struct Reading {
    at: Option<Timestamp>,
    counted: HashMap<(Option<RuleId>, Timestamp), TallyCounts>,
    /// The ids of the sent denials, newest first.
    sent: Vec<DenialId>,
}

impl Reading {
    /// Returns the changes since the previous reading (no tick the first time), and the watchers whose streams end.
    async fn next(
        &mut self,
        control: &ControlState,
        tenant_id: TenantId,
    ) -> Result<Turn, StoreError> {
        let now = control.clock.now();
        let this_minute = now.as_millis().div_euclid(MINUTE_MS) * MINUTE_MS;
        let since = Timestamp::from_millis(this_minute - 2 * MINUTE_MS);
        let newer_than = DenialId::new(now.plus_ms(-DENIALS_LATE_MS), 0);
        let filter = DenialFilter { newer_than: Some(newer_than), ..DenialFilter::of(tenant_id) };
        let page = Page { limit: DENIALS_MAX, after: None };
        let mut tx = control.store.begin("stats.live", Scope::Tenant(tenant_id)).await?;
        let rows = tx.tallies().recent(tenant_id, since).await?;
        let denials = tx.denials().list(&filter, &page).await?.counts.items;
        let gone = control.local.live.gone(&mut tx, tenant_id, now).await?;
        tx.commit().await?;

        let mut requests = TallyCounts::default();
        let mut rules: HashMap<RuleId, TallyCounts> = HashMap::new();
        let mut counted = HashMap::with_capacity(rows.len());
        for (rule_id, minute, counts) in rows {
            let before = self.counted.get(&(rule_id, minute)).copied().unwrap_or_default();
            let sums = rule_id.map_or(&mut requests, |id| rules.entry(id).or_default());
            sums.add(&grown(&counts, &before));
            counted.insert((rule_id, minute), counts);
        }
        self.counted = counted;
        // The ceiling of checks per second, and checks that met no rule, are counted like rules.
        rules.retain(|id, _| !is_reserved(*id));
        let ids = denials.iter().map(|denial| denial.id).collect();
        let fresh = denials.into_iter().filter(|denial| !self.sent.contains(&denial.id));
        let denials = fresh.map(entry).collect();
        self.sent = ids;
        let Some(before) = self.at.replace(now) else { return Ok(Turn { tick: None, gone }) };
        let span_ms = u32::try_from(now.as_millis() - before.as_millis()).unwrap_or(0);
        let requests = counts(&requests);
        let tick = LiveTick { at: now.into(), span_ms, requests, rules: busiest(rules), denials };
        let tick = serde_json::to_string(&tick).expect("a tick is plain data");
        Ok(Turn { tick: Some(tick), gone })
    }
}

fn grown(counts: &TallyCounts, before: &TallyCounts) -> TallyCounts {
    TallyCounts {
        allowed: counts.allowed.saturating_sub(before.allowed),
        denied: counts.denied.saturating_sub(before.denied),
        shadow_denied: counts.shadow_denied.saturating_sub(before.shadow_denied),
        degraded: counts.degraded.saturating_sub(before.degraded),
        refunded: counts.refunded.saturating_sub(before.refunded),
        recorded: counts.recorded.saturating_sub(before.recorded),
    }
}

fn busiest(rules: HashMap<RuleId, TallyCounts>) -> Vec<LiveRule> {
    let decided = |counts: &TallyCounts| {
        let changed = counts.refunded + counts.recorded;
        counts.allowed + counts.denied + counts.shadow_denied + changed
    };
    let mut rules: Vec<_> = rules.into_iter().filter(|(_, counts)| decided(counts) > 0).collect();
    rules.sort_unstable_by_key(|(id, counts)| (std::cmp::Reverse(decided(counts)), *id));
    rules.truncate(RULES_MAX);
    let rules = rules.into_iter();
    rules
        .map(|(id, rule_counts)| LiveRule { rule_id: id.to_string(), counts: counts(&rule_counts) })
        .collect()
}
