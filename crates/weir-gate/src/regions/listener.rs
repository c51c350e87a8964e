//! `POST /region/calls`: the internal listener, on which gates of other regions and control planes ask this one.
//!
//! Neither an API key nor a session is accepted here: a call is signed, is for this run of this gate, and is done once.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::HeaderMap;
use axum::routing::post;
use futures_util::future::join_all;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::rulebook::Rulebook;
use weir_domain::time::Micros;
use weir_http::json::Json;
use weir_http::plane::with_fallbacks;
use weir_http::problem::Problem;
use weir_redis::error::RedisError;
use weir_redis::limiter::Answer;
use weir_redis::signal::Signal;
use weir_region::{
    AnswerMessage, Bits, CALL_BYTES_MAX, CHECKS_PER_CALL_MAX, Call, CallAnswer, CheckMessage,
    CounterMessage, KnownCheck, PATH, RegionKeys, SIGNATURE_HEADER, SeenCalls, Unknown, Work,
};

use crate::state::GateState;

/// The parts of an internal listener.
#[derive(Debug, Clone)]
struct Internal {
    state: GateState,
    keys: RegionKeys,
    /// This run of this gate.
    run: Bits,
    seen: Arc<SeenCalls>,
    /// Announces versions of the rulebook to the gates of this region.
    signal: Signal,
}

/// The router of the internal listener of a gate.
pub fn router(state: GateState, keys: RegionKeys, run: u128, signal: Signal) -> Router {
    let run = Bits(run);
    let internal = Internal { state, keys, run, seen: Arc::default(), signal };
    let routes = Router::new().route(PATH, post(call)).with_state(internal);
    with_fallbacks(routes.layer(DefaultBodyLimit::max(CALL_BYTES_MAX)))
}

async fn call(
    State(internal): State<Internal>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<CallAnswer>, Problem> {
    let signature = headers.get(SIGNATURE_HEADER).and_then(|value| value.to_str().ok());
    if !signature.is_some_and(|signature| internal.keys.verifies(&body, signature)) {
        return Err(Problem::unauthenticated());
    }
    let call: Call<'_> = serde_json::from_slice(&body)
        .map_err(|error| Problem::invalid_field("body", format!("is no call: {error}")))?;
    let now_ms = internal.state.clock.now().as_millis();
    if !internal.seen.admits((call.time_ms, call.number.0), now_ms) {
        return Err(Problem::unauthenticated());
    }
    let checks: usize = call.work.iter().map(Work::len).sum();
    if checks > CHECKS_PER_CALL_MAX {
        let reason = format!("must have at most {CHECKS_PER_CALL_MAX} checks");
        return Err(Problem::invalid_field("work", reason));
    }
    let from = internal.run;
    let undone = Json(CallAnswer { from, done: false, answers: Vec::new() });
    let Some(book) = internal.state.held.current() else { return Ok(undone) };
    let is_home = book.regions().home().is_some() && !book.is_home_elsewhere();
    if call.to != Some(from) || (!is_home && call.work.iter().any(Work::is_for_home)) {
        return Ok(undone);
    }
    let each = call.work.into_owned().into_iter().map(|work| done(&internal, &book, work));
    Ok(Json(CallAnswer { from, done: true, answers: join_all(each).await }))
}

/// Does the work that one caller waits for. Returns an answer to each check.
async fn done(internal: &Internal, book: &Rulebook, work: Work) -> Vec<AnswerMessage> {
    let state = &internal.state;
    match work {
        Work::Check(messages) => decided(state, book, messages, None).await,
        Work::GiveBack(ends, messages) => decided(state, book, messages, Some(Micros(ends))).await,
        Work::RecordDenial { tenant, namespace, key, charged } => {
            let tenant = TenantId::from_u128(tenant.0);
            let rule = |id: Bits| RuleId::from_u128(id.0);
            let charged: Vec<_> = charged.into_iter().map(rule).collect();
            let known = book.tenant(tenant).filter(|_| key.fits());
            let is_known =
                known.is_some_and(|rules| charged.iter().all(|id| rules.rule(*id).is_some()));
            let result = if is_known {
                let key = key.known();
                state.limiter.record_denial(tenant, &namespace, &key, &charged).await
            } else {
                Err(RedisError::Away)
            };
            vec![AnswerMessage::new(result.map(|()| Answer::NotOpen))]
        }
        Work::Reset(messages) => {
            join_all(messages.into_iter().map(|message| reset(state, book, message))).await
        }
        Work::WindowUnits(tenant, counters) => {
            let tenant = TenantId::from_u128(tenant.0);
            let counters: Vec<_> = counters.iter().map(CounterMessage::counter).collect();
            let read = match book.tenant(tenant) {
                Some(_) => state.limiter.window_units(tenant, &counters).await,
                None => Err(RedisError::Away),
            };
            match read {
                Ok(units) => units.into_iter().map(AnswerMessage::of_units).collect(),
                Err(error) => {
                    counters.iter().map(|_| AnswerMessage::new(Err(error.clone()))).collect()
                }
            }
        }
        Work::Announce(version) => {
            internal.signal.announce(version);
            vec![AnswerMessage::Announced]
        }
    }
}

/// The check that a call names, with the rules of this rulebook.
fn known(book: &Rulebook, message: CheckMessage) -> Result<KnownCheck, Unknown> {
    let tenant = book.tenant(message.tenant()).ok_or(Unknown)?;
    message.known(tenant)
}

/// Resets the counters of a check's only rule in this region's Redis, which announces it to the gates of this region.
async fn reset(state: &GateState, book: &Rulebook, message: CheckMessage) -> AnswerMessage {
    let tenant = message.tenant();
    let known = known(book, message);
    let Some(charge) = known.as_ref().ok().and_then(KnownCheck::charge) else {
        return AnswerMessage::Failed { possibly_run: false };
    };
    match state.limiter.reset(tenant, charge.active.rule.namespace(), charge).await {
        Ok(counters) => AnswerMessage::Reset(counters),
        Err(error) => AnswerMessage::new(Err(error)),
    }
}

/// Lets this region's Redis decide the checks that this rulebook knows, or takes back their units until `ends`.
async fn decided(
    state: &GateState,
    book: &Rulebook,
    messages: Vec<CheckMessage>,
    ends: Option<Micros>,
) -> Vec<AnswerMessage> {
    let known: Vec<_> = messages.into_iter().map(|message| known(book, message)).collect();
    let calls: Vec<_> = known.iter().flatten().map(KnownCheck::call).collect();
    let results = match ends {
        None => state.limiter.check(&calls).await,
        Some(ends) => {
            let results = state.limiter.give_back(&calls, ends).await;
            results.into_iter().map(|result| result.map(|()| Answer::NotOpen)).collect()
        }
    };
    let mut results = results.into_iter();
    let answer = |known: &Result<_, Unknown>| match known {
        Ok(_) => AnswerMessage::new(results.next().unwrap_or(Err(RedisError::Away))),
        // Nothing ran: the caller's rulebook is newer or older than this one.
        Err(Unknown) => AnswerMessage::Failed { possibly_run: false },
    };
    known.iter().map(answer).collect()
}
