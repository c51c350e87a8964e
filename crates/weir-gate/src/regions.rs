//! Rules that hold in all regions: their counters are in the home, and gates of other regions ask a gate of the home.

pub(crate) mod listener;

use std::time::{Duration, Instant};

use futures_util::future::join;
use weir_domain::charge::RuleCharge;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::request::Operation;
use weir_domain::rulebook::Rulebook;
use weir_domain::time::Micros;
use weir_redis::error::RedisError;
use weir_redis::limiter::{Answer, CallOptions, Idempotency, ScriptCheck};
use weir_region::{AnswerMessage, Bits, CheckMessage, IdempotencyMessage, Link, Work};

use crate::rulebook::clock::ClockSource;
use crate::state::GateState;

type Results = Vec<Result<Answer, RedisError>>;

/// Whether the counters of a check are in another region.
fn is_far(book: &Rulebook, check: &ScriptCheck<'_>) -> bool {
    match check.operation {
        Operation::Renew(lease) | Operation::Release(lease) => {
            let rule = book.tenant(check.tenant).and_then(|tenant| tenant.rule(lease.rule));
            rule.is_some_and(|active| book.is_counted_elsewhere(&active.rule))
        }
        _ => {
            check.rules.first().is_some_and(|charge| book.is_counted_elsewhere(&charge.active.rule))
        }
    }
}

/// Decides checks where their counters are: in this region's Redis, or in the home. Returns one result for each, in order.
pub(crate) async fn check(
    state: &GateState,
    book: &Rulebook,
    asked: &[ScriptCheck<'_>],
    options: CallOptions<'_>,
) -> Results {
    if !book.is_home_elsewhere() {
        return check_near(state, asked, options).await;
    }
    let far: Vec<_> =
        asked.iter().filter(|check| is_far(book, check)).map(CheckMessage::new).collect();
    if far.is_empty() {
        return check_near(state, asked, options).await;
    }
    let count = far.len();
    let far = ask(state, Work::Check(far), count, options);
    let near: Vec<_> = asked.iter().filter(|check| !is_far(book, check)).cloned().collect();
    if near.is_empty() {
        return far.await;
    }
    let (near, far) = join(check_near(state, &near, options), far).await;
    let (mut near, mut far) = (near.into_iter(), far.into_iter());
    let result = |check| if is_far(book, check) { far.next() } else { near.next() };
    asked.iter().filter_map(result).collect()
}

/// Lets this region's Redis decide checks, measures the call, and counts its failures. A call of the home is not measured here:
/// neither its time nor the clock there says anything about this Redis.
async fn check_near(
    state: &GateState,
    asked: &[ScriptCheck<'_>],
    options: CallOptions<'_>,
) -> Results {
    let began = Instant::now();
    let results = state.limiter.check_with(asked, options).await;
    let took = began.elapsed();
    state.meters.redis_called(took);
    state.round_trip.add(took);
    if let Some(at) = results.iter().find_map(|result| result.as_ref().ok()?.at()) {
        state.clock.correct(ClockSource::Redis, at.timestamp(), took);
    }
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        state.meters.redis_failed(error.label());
    }
    results
}

/// Returns units to where they were taken: the counters of all checks are in one place.
pub(crate) async fn give_back(
    state: &GateState,
    asked: &[ScriptCheck<'_>],
    ends: Micros,
) -> Vec<Result<(), RedisError>> {
    let book = state.held.current();
    let is_far = |book: &Rulebook| asked.first().is_some_and(|check| is_far(book, check));
    if !book.is_some_and(|book| book.is_home_elsewhere() && is_far(&book)) {
        return state.limiter.give_back(asked, ends).await;
    }
    let checks: Vec<_> = asked.iter().map(CheckMessage::new).collect();
    let work = Work::GiveBack(ends.0, checks);
    let results = ask(state, work, asked.len(), CallOptions::default()).await;
    results.into_iter().map(|result| result.map(|_| ())).collect()
}

/// Replaces the record of an admitted check by that of a denial, where its counters are.
pub(crate) async fn record_denial(
    state: &GateState,
    is_far: bool,
    (tenant, namespace): (TenantId, &str),
    idempotency: &Idempotency,
    charged: &[RuleId],
) -> Result<(), RedisError> {
    if !is_far {
        return state.limiter.record_denial(tenant, namespace, idempotency, charged).await;
    }
    let work = Work::RecordDenial {
        tenant: Bits(tenant.to_u128()),
        namespace: namespace.to_owned(),
        key: IdempotencyMessage::new(idempotency),
        charged: charged.iter().map(|rule| Bits(rule.to_u128())).collect(),
    };
    let results = ask(state, work, 1, CallOptions::default()).await;
    results.into_iter().next().unwrap_or(Err(RedisError::Away)).map(|_| ())
}

async fn ask(state: &GateState, work: Work, count: usize, options: CallOptions<'_>) -> Results {
    let began = state.monotonic.now();
    let answers = match state.home.get() {
        Some(link) => link.ask(work, options.wait_max).await,
        None => Err(RedisError::Away),
    };
    let results: Results = match answers {
        Ok(answers) => {
            let ended = state.monotonic.now();
            state.home_round_trip.add(ended.saturating_duration_since(began));
            answers.into_iter().map(AnswerMessage::into_result).collect()
        }
        Err(error) => vec![Err(error); count],
    };
    let failed = results.iter().filter(|result| result.is_err()).count();
    state.meters.home_asked(count, failed);
    results
}

/// Takes units for a lease from the home before the check that needs them, if they last for less than two round trips. So a
/// subject with a steady rate never waits for the home.
pub(crate) fn take_early(
    state: &GateState,
    book: &Rulebook,
    (tenant, charges): (TenantId, &[RuleCharge]),
    now: Instant,
) {
    // A lease is of one rule.
    let [charge] = charges else { return };
    if !book.is_counted_elsewhere(&charge.active.rule) || !state.home.get().is_some_and(Link::up) {
        return;
    }
    if let Some(round_trip_us) = state.home_round_trip.get_us() {
        let wait = Duration::from_micros(round_trip_us * 2);
        state.leases.take_early(tenant, charge, wait, now);
    }
}

/// Lets the link ask the gates of the home that a rulebook names.
pub(crate) fn follow_home(link: &Link, book: &Rulebook) {
    let home = book.regions().home().filter(|_| book.is_home_elsewhere());
    link.set_gates(home.map_or(&[], |home| home.gates.as_slice()));
}
