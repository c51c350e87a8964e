//! `GET /tenants/{tenant}/stats/live`: what happens now, once a second, as server-sent events.
//!
//! One task reads for all who watch a tenant, and ends some seconds after the last of them left. A
//! stream lasts a minute; asking again is how the end of a session or a membership takes hold.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderName;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::broadcast;
use tokio::time::{Instant, MissedTickBehavior};
use weir_domain::id::{DenialId, RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{DenialFilter, Page, Scope, StoreError, TallyCounts};
use weir_wire::stats::{LiveRule, LiveTick};

use crate::actor::{By, Viewer};
use crate::error::ControlError;
use crate::state::ControlState;
use crate::stats::counts;
use crate::stats::denials::entry;

const EVERY: Duration = Duration::from_secs(1);
const STREAM_LASTS: Duration = Duration::from_mins(1);
const HEARTBEAT: Duration = Duration::from_secs(10);
/// Turns without anybody watching, after which the task ends; whoever asks again meets it still there.
const LONELY_TURNS_MAX: u32 = 10;
const WATCHERS_MAX: usize = 1_000;
const WATCHERS_OF_TENANT_MAX: usize = 50;
const RULES_MAX: usize = 50;
const DENIALS_MAX: u32 = 50;
/// A slow gate's entries come so much after those of others.
const DENIALS_LATE_MS: i64 = 5_000;
const MINUTE_MS: i64 = 60_000;

/// Who watches which tenant.
#[derive(Debug, Default)]
pub(crate) struct Live(Mutex<HashMap<TenantId, Ticks>>);

type Ticks = broadcast::Sender<Arc<str>>;

/// What happens now, once a second: events named `tick`, each with a `LiveTick`. The stream ends after a
/// minute with an event named `end`: ask again. Lines that begin with a colon are heartbeats.
#[utoipa::path(get, path = "/tenants/{tenant}/stats/live", operation_id = "stats_live", tag = "stats",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    responses((status = 200, description = "Events", body = LiveTick, content_type = "text/event-stream")))]
pub(crate) async fn live(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
) -> Result<Response, ControlError> {
    let ticks = control.live.watch(&control, caller.tenant_id)?;
    let until = Instant::now() + STREAM_LASTS;
    let events = stream::unfold(Some((ticks, control)), move |watching| async move {
        let (mut ticks, control) = watching?;
        let next = tokio::select! {
            next = next(&mut ticks) => next,
            () = tokio::time::sleep_until(until) => None,
            () = control.stop.cancelled() => None,
        };
        let (event, watching) = match next {
            Some(tick) => (Event::default().event("tick").data(tick), Some((ticks, control))),
            None => (Event::default().event("end").data("{}"), None),
        };
        Some((Ok::<_, Infallible>(event), watching))
    });
    // Without the header a proxy may keep events until there are many.
    let unbuffered = [(HeaderName::from_static("x-accel-buffering"), "no")];
    let events = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    Ok((unbuffered, events).into_response())
}

/// The next tick; whoever was too slow for some goes on with the oldest that is left.
async fn next(ticks: &mut broadcast::Receiver<Arc<str>>) -> Option<Arc<str>> {
    loop {
        match ticks.recv().await {
            Ok(tick) => return Some(tick),
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return None,
        }
    }
}

impl Live {
    fn watch(
        &self,
        control: &ControlState,
        tenant_id: TenantId,
    ) -> Result<broadcast::Receiver<Arc<str>>, Problem> {
        let mut tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = tenants.values().map(broadcast::Sender::receiver_count).sum();
        let of_tenant = tenants.get(&tenant_id).map_or(0, broadcast::Sender::receiver_count);
        if all >= WATCHERS_MAX || of_tenant >= WATCHERS_OF_TENANT_MAX {
            return Err(Problem::unavailable("too many are watching; try again later"));
        }
        let ticks = tenants.entry(tenant_id).or_insert_with(|| {
            let (ticks, _) = broadcast::channel(16);
            tokio::spawn(tell(control.clone(), tenant_id, ticks.clone()));
            ticks
        });
        Ok(ticks.subscribe())
    }

    /// How many watch.
    pub(crate) fn watchers(&self) -> usize {
        let tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tenants.values().map(broadcast::Sender::receiver_count).sum()
    }

    /// Forgets a tenant that nobody watches; whether it is forgotten.
    fn leave(&self, tenant_id: TenantId, ticks: &Ticks) -> bool {
        let mut tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lonely = ticks.receiver_count() == 0;
        if lonely {
            tenants.remove(&tenant_id);
        }
        lonely
    }
}

/// Tells everybody who watches a tenant, until nobody does.
async fn tell(control: ControlState, tenant_id: TenantId, ticks: Ticks) {
    let mut turns = tokio::time::interval(EVERY);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut reading = Reading::default();
    let mut lonely_turns = 0;
    loop {
        tokio::select! {
            () = control.stop.cancelled() => return,
            _ = turns.tick() => {}
        }
        lonely_turns = if ticks.receiver_count() == 0 { lonely_turns + 1 } else { 0 };
        if lonely_turns > LONELY_TURNS_MAX && control.live.leave(tenant_id, &ticks) {
            return;
        }
        match reading.next(&control, tenant_id).await {
            Ok(Some(tick)) => {
                let text = serde_json::to_string(&tick).expect("a tick is plain data");
                // An error says that nobody listens at the moment.
                let _ = ticks.send(text.into());
            }
            Ok(None) => {}
            Err(error) => tracing::debug!(%error, "what happens now could not be read"),
        }
    }
}

/// What was read last, to tell what is new.
#[derive(Debug, Default)]
struct Reading {
    at: Option<Timestamp>,
    counted: HashMap<(Option<RuleId>, Timestamp), TallyCounts>,
    /// Newest first.
    told: Vec<DenialId>,
}

impl Reading {
    /// What is new; nothing the first time.
    async fn next(
        &mut self,
        control: &ControlState,
        tenant_id: TenantId,
    ) -> Result<Option<LiveTick>, StoreError> {
        let now = control.clock.now();
        let this_minute = now.as_millis().div_euclid(MINUTE_MS) * MINUTE_MS;
        let since = Timestamp::from_millis(this_minute - 2 * MINUTE_MS);
        let newer_than = DenialId::new(now.plus_ms(-DENIALS_LATE_MS), 0);
        let filter = DenialFilter { tenant_id, rule_id: None, newer_than: Some(newer_than) };
        let page = Page { limit: DENIALS_MAX, after: None };
        let mut tx = control.store.begin("stats.live", Scope::Tenant(tenant_id)).await?;
        let rows = tx.tallies().recent(tenant_id, since).await?;
        let denials = tx.denials().list(&filter, &page).await?.counts.items;
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
        let ids = denials.iter().map(|it| it.id).collect();
        let fresh = denials.into_iter().filter(|it| !self.told.contains(&it.id));
        let denials = fresh.map(entry).collect();
        self.told = ids;
        let Some(before) = self.at.replace(now) else { return Ok(None) };
        let span_ms = u32::try_from(now.as_millis() - before.as_millis()).unwrap_or(0);
        let requests = counts(&requests);
        Ok(Some(LiveTick { at: now.into(), span_ms, requests, rules: busiest(rules), denials }))
    }
}

fn grown(counts: &TallyCounts, before: &TallyCounts) -> TallyCounts {
    TallyCounts {
        allowed: counts.allowed.saturating_sub(before.allowed),
        denied: counts.denied.saturating_sub(before.denied),
        shadow_denied: counts.shadow_denied.saturating_sub(before.shadow_denied),
        degraded: counts.degraded.saturating_sub(before.degraded),
        refunded: counts.refunded.saturating_sub(before.refunded),
    }
}

fn busiest(rules: HashMap<RuleId, TallyCounts>) -> Vec<LiveRule> {
    let decided = |it: &TallyCounts| it.allowed + it.denied + it.shadow_denied + it.refunded;
    let mut rules: Vec<_> = rules.into_iter().filter(|(_, it)| decided(it) > 0).collect();
    rules.sort_unstable_by_key(|(id, it)| (std::cmp::Reverse(decided(it)), *id));
    rules.truncate(RULES_MAX);
    let rules = rules.into_iter();
    rules.map(|(id, it)| LiveRule { rule_id: id.to_string(), counts: counts(&it) }).collect()
}
