//! Settles leases with Redis: returns unused units, and all of them when the gate stops. Takes units early from a far home.
//!
//! Each call has an idempotency key, so a call without an answer is repeated until it has one. Units are lost only if Redis
//! is away for half a minute, or until their window ends.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use weir_domain::draft::Reach;
use weir_domain::time::Micros;
use weir_redis::error::RedisError;
use weir_redis::limiter::{Answer, CallOptions};

use crate::memory::leases::{LeaseRequest, Origin, Unsettled};
use crate::regions;
use crate::state::GateState;

/// The task that settles one gate's leases.
#[derive(Debug)]
pub struct LeaseKeeper(GateState);

const EVERY: Duration = Duration::from_millis(250);
/// The most entries in one call.
const AT_ONCE: usize = 100;
/// The longest time for which a gate that stops tries to return its leases.
const LAST_DEADLINE: Duration = Duration::from_secs(3);
const LAST_EVERY: Duration = Duration::from_millis(50);

impl LeaseKeeper {
    /// A keeper of this gate's leases.
    pub fn new(state: GateState) -> Self {
        Self(state)
    }

    /// Returns idle units until the gate has `drained`, then all units.
    pub async fn run(self, drained: CancellationToken) {
        let Self(state) = self;
        // Apart, because a return to the home takes as long as the way is, and an early request must not wait for it.
        tokio::join!(return_idle(&state, &drained), send_early(&state, &drained));
        settle_all(&state).await;
    }
}

/// Returns idle units in turns.
async fn return_idle(state: &GateState, drained: &CancellationToken) {
    let mut turns = tokio::time::interval(EVERY);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = drained.cancelled() => return,
            _ = turns.tick() => {}
        }
        settle_idle(state, state.monotonic.now()).await;
    }
}

/// Sends requests for units early, without waiting for the answers to those before.
async fn send_early(state: &GateState, drained: &CancellationToken) {
    let mut sent = JoinSet::new();
    while let Some(requests) = drained.run_until_cancelled(state.leases.early_requests()).await {
        sent.spawn(take_early(state.clone(), requests));
        while sent.try_join_next().is_some() {}
    }
    // Each has the deadline of the link.
    sent.join_all().await;
}

/// Sends requests that were made before their units are needed.
pub(crate) async fn take_early(state: GateState, requests: Vec<LeaseRequest>) {
    let calls: Vec<_> = requests.iter().map(LeaseRequest::call).collect();
    let book = state.held.current().unwrap_or_default();
    let results = regions::check(&state, &book, &calls, CallOptions::default()).await;
    drop(calls);
    let now = state.monotonic.now();
    for (request, result) in requests.into_iter().zip(results) {
        match result {
            Ok(Answer::Decided(at, decisions)) => drop(request.settle(at, decisions, now)),
            Err(error) if error.was_not_run() => request.not_taken(),
            // Without an answer, the request is settled later.
            _ => drop(request),
        }
    }
}

/// Returns idle units, and settles entries that could not be settled before.
pub(crate) async fn settle_idle(state: &GateState, now: Instant) {
    let unsettled = state.leases.take_unsettled(false, now);
    settle(state, unsettled, now).await;
    state.meters.lost_units(state.leases.take_lost());
}

/// Stops leasing and returns all units, for at most [`LAST_DEADLINE`].
pub(crate) async fn settle_all(state: &GateState) {
    state.leases.set_connected(weir_redis::placement::Buckets::NONE, state.monotonic.now());
    let deadline = Instant::now() + LAST_DEADLINE;
    loop {
        let now = state.monotonic.now();
        let unsettled = state.leases.take_unsettled(true, now);
        if unsettled.is_empty() {
            break;
        }
        if Instant::now() >= deadline {
            state.leases.lose(unsettled.iter().map(Unsettled::units).sum());
            break;
        }
        if !settle(state, unsettled, now).await {
            tokio::time::sleep(LAST_EVERY).await;
        }
    }
    let lost = state.leases.take_lost();
    state.meters.lost_units(lost);
    if lost > 0 {
        tracing::warn!(units = lost, "could not return leased units");
    }
}

/// Settles entries, and puts back those that Redis did not answer. Returns whether all were settled.
pub(crate) async fn settle(state: &GateState, unsettled: Vec<Unsettled>, now: Instant) -> bool {
    let mut all = true;
    let (mut returns, mut requests): (Vec<_>, Vec<_>) =
        unsettled.into_iter().partition(|entry| ends(entry).is_some());
    while !requests.is_empty() {
        let rest = requests.split_off(requests.len().min(AT_ONCE));
        all &=
            repeat_requests(state, std::mem::replace(&mut requests, rest), now, &mut returns).await;
    }
    // A call holds only units of one place whose windows end together: Redis accepts all units of a call, or none.
    let place = |entry: &Unsettled| (entry.charge.active.rule.reach() == Reach::World, ends(entry));
    returns.sort_by_key(place);
    let mut returns = returns.into_iter().peekable();
    while let Some(first) = returns.next() {
        let (ends_at, of_first) = (ends(&first), place(&first));
        let mut call = vec![first];
        while call.len() < AT_ONCE
            && let Some(next) = returns.next_if(|next| place(next) == of_first)
        {
            call.push(next);
        }
        all &= return_units(state, call, ends_at.unwrap_or_default(), now).await;
    }
    all
}

/// Returns units of windows that end together.
async fn return_units(
    state: &GateState,
    mut call: Vec<Unsettled>,
    ends_at: Micros,
    now: Instant,
) -> bool {
    for entry in &mut call {
        entry.begin(state.leases.ids(), now);
    }
    let calls: Vec<_> = call.iter().map(|entry| entry.call(state.leases.ids())).collect();
    let results = regions::give_back(state, &calls, ends_at).await;
    drop(calls);
    let mut all = true;
    for (entry, result) in call.into_iter().zip(results) {
        match result {
            Ok(()) => {}
            // In the last second of their window units cannot be returned.
            Err(RedisError::WindowOver) => state.leases.lose(entry.units()),
            Err(_) => {
                all = false;
                state.leases.keep_unsettled(entry, now);
            }
        }
    }
    all
}

/// Repeats requests that had no answer, and adds the units that Redis gave to `returns`.
async fn repeat_requests(
    state: &GateState,
    mut requests: Vec<Unsettled>,
    now: Instant,
    returns: &mut Vec<Unsettled>,
) -> bool {
    for request in &mut requests {
        request.begin(state.leases.ids(), now);
    }
    let calls: Vec<_> = requests.iter().map(|request| request.call(state.leases.ids())).collect();
    let book = state.held.current().unwrap_or_default();
    let results = regions::check(state, &book, &calls, CallOptions::default()).await;
    drop(calls);
    let mut all = true;
    for (request, result) in requests.into_iter().zip(results) {
        match result {
            Ok(Answer::Decided(at, decisions)) => {
                returns.extend(request.returned(false, at, &decisions, now));
            }
            Ok(Answer::Repeated(at, _, decisions)) => {
                returns.extend(request.returned(true, at, &decisions, now));
            }
            Ok(_) => {}
            Err(_) => {
                all = false;
                state.leases.keep_unsettled(request, now);
            }
        }
    }
    all
}

fn ends(entry: &Unsettled) -> Option<Micros> {
    match entry.origin {
        Origin::Return { ends, .. } => Some(ends),
        Origin::Unanswered { .. } => None,
    }
}
