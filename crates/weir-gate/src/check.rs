//! `/check`, `/check/batch` and `/refund`: requests in, verdicts out.

use std::time::Instant;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use weir_domain::charge::RuleCharge;
use weir_domain::matching::{Matched, matched_in};
use weir_domain::request::{Act, Request};
use weir_domain::rulebook::Namespace;
use weir_domain::time::Timestamp;
use weir_http::json::{Json, StrictJson};
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_redis::error::RedisError;
use weir_redis::limiter::{Answer, Asked, Idempotency};
use weir_wire::check::{BATCH_MAX, BatchAnswer, BatchBody, CheckAnswer, CheckBody, RefundBody};
use weir_wire::problem::{FieldProblem, ProblemBody};

use crate::answer::{self, Skeleton};
use crate::caller::Caller;
use crate::headers;
use crate::outage::{self, Unasked};
use crate::remembered::Met;
use crate::state::GateState;
use crate::tally::Seen;

/// Options of a check in the address.
#[derive(Debug, Clone, Copy, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CheckOptions {
    /// `200`: answer a denied check with 200 too, for clients that treat 429 as an error.
    deny_status: Option<u16>,
}

/// Decide a check and take what was admitted.
#[utoipa::path(
    post, path = "/check", tag = "checks", operation_id = "check",
    params(CheckOptions), request_body = CheckBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "Allowed", body = CheckAnswer),
        (status = 429, description = "Denied", body = CheckAnswer),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 401, description = "No valid key", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "The key lacks the scope `check`", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Over 64 KiB", body = ProblemBody, content_type = "application/problem+json"),
        (status = 415, description = "Not `application/json`", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "Outside the bounds", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "No rulebook was ever loaded", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn check(
    State(state): State<GateState>,
    caller: Caller,
    Query(options): Query<CheckOptions>,
    StrictJson(body): StrictJson<CheckBody>,
) -> Result<Response, Problem> {
    let denied = match options.deny_status {
        None | Some(429) => StatusCode::TOO_MANY_REQUESTS,
        Some(200) => StatusCode::OK,
        Some(_) => return Err(Problem::invalid_field("deny_status", "must be 200 or 429")),
    };
    let request = body.parse().map_err(Problem::invalid)?;
    let answer = decide_one(&state, &caller, request).await?;
    let status = if answer.allowed { StatusCode::OK } else { denied };
    Ok((status, headers::of(&answer), Json(answer)).into_response())
}

/// Decide up to 100 checks, independently and in order.
#[utoipa::path(
    post, path = "/check/batch", tag = "checks", operation_id = "check_batch",
    request_body = BatchBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "One answer for each check, allowed or denied", body = BatchAnswer),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 401, description = "No valid key", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "The key lacks the scope `check`", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Over 64 KiB", body = ProblemBody, content_type = "application/problem+json"),
        (status = 415, description = "Not `application/json`", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "One of them is outside the bounds; nothing was taken", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "No rulebook was ever loaded", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn batch(
    State(state): State<GateState>,
    caller: Caller,
    Json(body): Json<BatchBody>,
) -> Result<Json<BatchAnswer>, Problem> {
    if !(1..=BATCH_MAX).contains(&body.checks.len()) {
        let reason = format!("must hold from 1 to {BATCH_MAX} checks");
        return Err(Problem::invalid_field("checks", reason));
    }
    let mut requests = Vec::with_capacity(body.checks.len());
    let mut wrong = Vec::new();
    for (at, check) in body.checks.into_iter().enumerate() {
        match check.parse() {
            Ok(request) => requests.push(request),
            Err(fields) => wrong.extend(
                fields
                    .into_iter()
                    .map(|it| FieldProblem::new(format!("checks[{at}].{}", it.field), it.reason)),
            ),
        }
    }
    if !wrong.is_empty() {
        return Err(Problem::invalid(wrong));
    }
    let results = decide(&state, &caller, &requests).await;
    let results: Result<_, Problem> = results
        .into_iter()
        .enumerate()
        .map(|(at, result)| {
            result.map_err(|KeyReused| key_reused(&format!("checks[{at}].idempotency_key")))
        })
        .collect();
    Ok(Json(BatchAnswer { results: results? }))
}

/// Give units back, never above full.
#[utoipa::path(
    post, path = "/refund", tag = "checks", operation_id = "refund",
    request_body = RefundBody, security(("api_key" = [])),
    responses(
        (status = 200, description = "The limits as they stand now; `refunded` says which took units back", body = CheckAnswer),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 401, description = "No valid key", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "The key lacks the scope `check`", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Over 64 KiB", body = ProblemBody, content_type = "application/problem+json"),
        (status = 415, description = "Not `application/json`", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "Outside the bounds", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "No rulebook was ever loaded", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(crate) async fn refund(
    State(state): State<GateState>,
    caller: Caller,
    StrictJson(body): StrictJson<RefundBody>,
) -> Result<Json<CheckAnswer>, Problem> {
    let request = body.parse().map_err(Problem::invalid)?;
    decide_one(&state, &caller, request).await.map(Json)
}

/// The idempotency key belongs to another request.
#[derive(Debug)]
struct KeyReused;

/// What the rules say of a request before any counter is asked.
struct Prepared<'a> {
    namespace: Option<&'a Namespace>,
    matched: Matched,
    now: Timestamp,
}

/// What came of a request.
struct Decided {
    answer: CheckAnswer,
    /// Whether this is the first answer to it.
    fresh: bool,
}

async fn decide_one(
    state: &GateState,
    caller: &Caller,
    request: Request,
) -> Result<CheckAnswer, Problem> {
    let mut results = decide(state, caller, &[request]).await;
    let result = results.pop().expect("one request has one result");
    result.map_err(|KeyReused| key_reused("idempotency_key"))
}

fn key_reused(field: &str) -> Problem {
    Problem::invalid_field(field, "was used for another request within the last 60 seconds")
}

/// Decides requests in order, with one call to Redis at most, and counts them.
async fn decide(
    state: &GateState,
    caller: &Caller,
    requests: &[Request],
) -> Vec<Result<CheckAnswer, KeyReused>> {
    let started = Instant::now();
    let at = state.clock.now();
    let prepared: Vec<_> = requests.iter().map(|it| prepare(caller, it, at)).collect();
    let results = ask(state, caller, requests, &prepared, started).await;
    let took = started.elapsed();
    let mut answers = Vec::with_capacity(results.len());
    for ((request, prepared), result) in requests.iter().zip(&prepared).zip(results) {
        answers.push(result.map(|decided| {
            state.meters.decided(&decided.answer, took);
            if decided.fresh && request.act() != Act::Peek {
                state.tally.record(&Seen {
                    tenant: caller.tenant,
                    key: caller.key,
                    at,
                    known_namespace: prepared.namespace.is_some_and(|it| !it.rules.is_empty()),
                    sample: prepared.namespace.and_then(|it| it.sample.as_ref()),
                    request,
                    matched: &prepared.matched,
                    answer: &decided.answer,
                });
            }
            decided.answer
        }));
    }
    answers
}

/// One result for each request; those that no counter decides are not asked about, nor those whose denial is known.
async fn ask(
    state: &GateState,
    caller: &Caller,
    requests: &[Request],
    prepared: &[Prepared<'_>],
    started: Instant,
) -> Vec<Result<Decided, KeyReused>> {
    let version = caller.book.version();
    let mut results: Vec<Option<Result<Decided, KeyReused>>> = Vec::with_capacity(requests.len());
    let (mut on_their_way, mut asked) = (Vec::new(), Vec::new());
    for (at, (request, prepared)) in requests.iter().zip(prepared).enumerate() {
        let (rules, act, cost) = (prepared.charges(), request.act(), request.cost());
        let idempotency = prepared.idempotency(request, version);
        let mut ticket = None;
        results.push(None);
        if idempotency.is_none() && rules.is_empty() {
            results[at] = Some(Ok(Decided::first(prepared.outright(version))));
            continue;
        } else if idempotency.is_none() && act == Act::Consume {
            let met = Met { version, cost, rules };
            if let Some(decisions) = state.remembered.recall(met, started) {
                state.meters.remembered();
                let answer = prepared.skeleton(version).answer(&decisions, act);
                results[at] = Some(Ok(Decided::first(answer)));
                continue;
            }
            ticket = state.remembered.ticket(rules, started);
        }
        asked.push(Asked { tenant: caller.tenant, act, cost, rules, idempotency });
        on_their_way.push((at, ticket));
    }
    if asked.is_empty() {
        return results.into_iter().flatten().collect();
    }
    let began = Instant::now();
    let answered = state.limiter.check(&asked).await;
    let failed = answered.as_ref().err().map(RedisError::label);
    state.meters.redis_asked(began.elapsed(), failed);
    let mut answers = answered.map(Vec::into_iter);
    for ((at, ticket), asked) in on_their_way.into_iter().zip(&asked) {
        let prepared = &prepared[at];
        results[at] = Some(match answers.as_mut().map(Iterator::next) {
            Ok(Some(answer)) => {
                if let (Some(ticket), Answer::Decided(_, decisions)) = (ticket, &answer) {
                    let met = Met { version, cost: asked.cost, rules: asked.rules };
                    state.remembered.remember(ticket, met, decisions);
                }
                if asked.act == Act::Refund {
                    state.remembered.forget_all(asked.rules);
                }
                compose(prepared.skeleton(version), asked.act, answer)
            }
            Ok(None) | Err(_) => {
                let skeleton = &prepared.skeleton(version);
                let (tenant, act, cost) = (asked.tenant, asked.act, asked.cost);
                let unasked = Unasked { tenant, act, cost, charges: asked.rules, skeleton };
                Ok(Decided::first(outage::answer(&state.local, unasked)))
            }
        });
    }
    results.into_iter().flatten().collect()
}

fn prepare<'a>(caller: &'a Caller, request: &Request, now: Timestamp) -> Prepared<'a> {
    let namespace = caller.book.namespace(caller.tenant, request.namespace());
    let matched = match namespace {
        Some(namespace) => matched_in(namespace, request, now),
        None => Matched::Charged(Vec::new()),
    };
    Prepared { namespace, matched, now }
}

impl Decided {
    fn first(answer: CheckAnswer) -> Self {
        Self { answer, fresh: true }
    }
}

impl Prepared<'_> {
    /// On whose counters it depends.
    fn charges(&self) -> &[RuleCharge] {
        match &self.matched {
            Matched::Charged(charges) => charges,
            Matched::Denied(_) | Matched::Allowed(_) => &[],
        }
    }

    /// The answer when no limit is asked.
    fn outright(&self, version: u64) -> CheckAnswer {
        self.skeleton(version).answer_without_limits()
    }

    fn skeleton(&self, version: u64) -> Skeleton {
        match &self.matched {
            Matched::Denied(by) => Skeleton::denied(by, version),
            Matched::Allowed(_) => Skeleton::of_charges(&[], version, self.now),
            Matched::Charged(charges) => Skeleton::of_charges(charges, version, self.now),
        }
    }

    fn idempotency(&self, request: &Request, version: u64) -> Option<Idempotency> {
        let key = request.idempotency_key().filter(|_| request.act() == Act::Consume)?.to_owned();
        let fingerprint = answer::fingerprint(request);
        Some(Idempotency { key, fingerprint, text: self.skeleton(version).to_text() })
    }
}

fn compose(skeleton: Skeleton, act: Act, answer: Answer) -> Result<Decided, KeyReused> {
    match answer {
        Answer::Decided(_, decisions) => Ok(Decided::first(skeleton.answer(&decisions, act))),
        Answer::Repeated(_, text, decisions) => {
            let first = Skeleton::from_text(&text);
            let answer = first.unwrap_or(skeleton).answer(&decisions, act);
            Ok(Decided { answer, fresh: false })
        }
        Answer::KeyReused => Err(KeyReused),
    }
}
