//! Decides requests: by what is known here where that is enough, else by Redis, in one call for all.

use std::time::Instant;

use weir_domain::charge::RuleCharge;
use weir_domain::id::TenantId;
use weir_domain::matching::{Matched, matched_in};
use weir_domain::request::{Operation, Request};
use weir_domain::rulebook::Namespace;
use weir_domain::time::Timestamp;
use weir_redis::error::RedisError;
use weir_redis::limiter::{Answer, Asked, Idempotency};
use weir_wire::check::CheckAnswer;

use crate::answer::{self, AnswerTemplate};
use crate::caller::Caller;
use crate::denial_cache::{ChargedRules, Generation};
use crate::lease_keeper;
use crate::leases::{LeaseOutcome, LeaseRequest};
use crate::outage::{self, Unasked};
use crate::state::GateState;
use crate::tally::DecisionEvent;
use crate::turns::Turns;

/// The idempotency key belongs to another request.
#[derive(Debug)]
pub(crate) struct KeyReused;

/// The requests, by position, that meet more limits than one check can.
#[derive(Debug)]
pub(crate) struct TooManyLimits(pub(crate) Vec<usize>);

type Outcome = Result<Decided, KeyReused>;

/// What came of a request.
#[derive(Debug)]
struct Decided {
    answer: CheckAnswer,
    /// Whether this is the first answer to it.
    fresh: bool,
}

/// What the rules say of a request before any counter is asked.
struct Prepared<'a> {
    namespace: Option<&'a Namespace>,
    matched: Matched,
    version: u64,
    now: Timestamp,
}

/// A request on its way to Redis.
struct OnItsWay<'a> {
    /// Its place among the requests.
    at: usize,
    prepared: &'a Prepared<'a>,
    ticket: Option<Generation>,
    lease: Option<LeaseRequest<'a>>,
}

/// Where a request goes.
enum Way<'a> {
    Decided(Decided),
    ToRedis(OnItsWay<'a>, Asked<'a>),
}

/// Decides requests in order and counts them. Takes nothing if one of them meets too many limits.
pub(crate) async fn decide(
    state: &GateState,
    caller: &Caller,
    requests: &[Request],
) -> Result<Vec<Result<CheckAnswer, KeyReused>>, TooManyLimits> {
    let started = Instant::now();
    let now = state.monotonic.at(started);
    let mut turns = Turns::default();
    let mut prepared = Vec::with_capacity(requests.len());
    for request in requests {
        let namespace = caller.book.namespace(caller.tenant, request.namespace());
        let matching = || prepare(caller, namespace, request);
        let matched = state.heavy_matching.run(namespace, matching).await;
        turns.worked(matched.limits()).await;
        prepared.push(matched);
    }
    let excessive = |(_, it): &(usize, &Prepared<'_>)| matches!(it.matched, Matched::TooManyLimits);
    if prepared.iter().enumerate().any(|it| excessive(&it)) {
        let excessive = prepared.iter().enumerate().filter(excessive);
        return Err(TooManyLimits(excessive.map(|(at, _)| at).collect()));
    }
    let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(requests.len());
    let (mut on_their_way, mut asked) = (Vec::new(), Vec::new());
    for (at, (request, prepared)) in requests.iter().zip(&prepared).enumerate() {
        if request.operation() == Operation::Refund {
            return_leases(state, caller.tenant, prepared.charges(), now).await;
        }
        match way(state, caller, request, (at, prepared), now) {
            Way::Decided(decided) => outcomes.push(Some(Ok(decided))),
            Way::ToRedis(it, question) => {
                outcomes.push(None);
                on_their_way.push(it);
                asked.push(question);
            }
        }
    }
    // A denied request for a lease is repeated with the cost of its check alone.
    while !asked.is_empty() {
        (on_their_way, asked) = ask(state, on_their_way, asked, &mut outcomes).await;
    }
    let took = started.elapsed();
    let mut answers = Vec::with_capacity(requests.len());
    let all = requests.iter().zip(&prepared).zip(outcomes.into_iter().flatten());
    for ((request, prepared), outcome) in all {
        let answer = outcome.map(|decided| {
            state.meters.decided(&decided.answer, took);
            if decided.fresh && request.operation() != Operation::Peek {
                record(state, caller, request, prepared, &decided.answer);
            }
            decided.answer
        });
        answers.push(answer);
        turns.worked(prepared.limits()).await;
    }
    Ok(answers)
}

/// Decides a request here, if that is possible.
fn way<'a>(
    state: &'a GateState,
    caller: &Caller,
    request: &Request,
    (at, prepared): (usize, &'a Prepared<'a>),
    now: Instant,
) -> Way<'a> {
    let (rules, operation, cost) = (prepared.charges(), request.operation(), request.cost());
    let idempotency = prepared.idempotency(request);
    let mut question = Asked { tenant: caller.tenant, operation, cost, rules, idempotency };
    let mut it = OnItsWay { at, prepared, ticket: None, lease: None };
    if question.idempotency.is_none() && rules.is_empty() {
        return Way::Decided(Decided::first(prepared.template().answer_without_limits()));
    }
    if question.idempotency.is_none() && operation == Operation::Consume {
        // Units that are here come first: Redis can have denied the last check while they were on their way.
        match state.leases.spend(caller.tenant, rules, cost, now) {
            LeaseOutcome::Spent(decisions) => {
                state.meters.leased();
                return Way::Decided(Decided::first(
                    prepared.template().answer(&decisions, operation),
                ));
            }
            LeaseOutcome::Take(request) => it.lease = Some(request),
            LeaseOutcome::NotLeased => {}
        }
        let met = ChargedRules { tenant: caller.tenant, version: prepared.version, cost, rules };
        if let Some(decisions) = state.denial_cache.get(met, now) {
            if let Some(request) = it.lease.take() {
                request.not_taken();
            }
            state.meters.denied_from_cache();
            return Way::Decided(Decided::first(prepared.template().answer(&decisions, operation)));
        }
        if let Some(request) = &it.lease {
            question.cost = request.units();
            question.idempotency = request.idempotency();
        }
        it.ticket = state.denial_cache.generation(rules, now);
    }
    Way::ToRedis(it, question)
}

type Again<'a> = (Vec<OnItsWay<'a>>, Vec<Asked<'a>>);

/// Asks Redis about all at once, and hands back those that are to be asked again.
async fn ask<'a>(
    state: &'a GateState,
    on_their_way: Vec<OnItsWay<'a>>,
    asked: Vec<Asked<'a>>,
    outcomes: &mut [Option<Outcome>],
) -> Again<'a> {
    let began = Instant::now();
    let results = state.limiter.check(&asked).await;
    state.meters.redis_called(began.elapsed());
    let mut turns = Turns::default();
    let (mut again, mut again_asked) = (Vec::new(), Vec::new());
    for ((mut it, mut question), result) in on_their_way.into_iter().zip(asked).zip(results) {
        turns.worked(it.prepared.limits()).await;
        let at = it.at;
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => {
                state.meters.redis_failed(error.label());
                let nothing_sent = matches!(error, RedisError::Away | RedisError::Overloaded);
                outcomes[at] = Some(Ok(it.unasked(state, &question, nothing_sent)));
                continue;
            }
        };
        if let Some(request) = it.lease.take_if(|it| it.asks_for_more() && denied(&answer)) {
            (question.cost, question.idempotency) = (request.cost(), None);
            request.not_taken();
            again.push(it);
            again_asked.push(question);
        } else {
            outcomes[at] = Some(it.outcome(state, &question, answer));
        }
    }
    (again, again_asked)
}

/// Returns the leases of these subjects before units are refunded to them: a refund of more than was consumed would take
/// what is leased for not taken.
async fn return_leases(state: &GateState, tenant: TenantId, charges: &[RuleCharge], now: Instant) {
    for charge in charges {
        let unsettled = state.leases.end(tenant, charge, now);
        if !unsettled.is_empty() {
            lease_keeper::settle(state, unsettled, now).await;
        }
    }
}

fn prepare<'a>(
    caller: &'a Caller,
    namespace: Option<&'a Namespace>,
    request: &Request,
) -> Prepared<'a> {
    let now = caller.at;
    let matched = match namespace {
        Some(namespace) => matched_in(namespace, request, now),
        None => Matched::Charged(Vec::new()),
    };
    Prepared { namespace, matched, version: caller.book.version(), now }
}

fn record(
    state: &GateState,
    caller: &Caller,
    request: &Request,
    prepared: &Prepared<'_>,
    answer: &CheckAnswer,
) {
    state.tally.record(&DecisionEvent {
        tenant: caller.tenant,
        key: caller.key,
        at: prepared.now,
        known_namespace: prepared.namespace.is_some_and(|it| !it.rules.is_empty()),
        sample: prepared.namespace.and_then(|it| it.sample.as_ref()),
        request,
        matched: &prepared.matched,
        answer,
    });
}

fn denied(answer: &Answer) -> bool {
    matches!(answer, Answer::Decided(_, decisions) if decisions.iter().any(|it| !it.allowed))
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
            Matched::Denied(_) | Matched::Allowed(_) | Matched::TooManyLimits => &[],
        }
    }

    /// How many limits it meets.
    fn limits(&self) -> usize {
        self.charges().iter().map(|charge| charge.limits().len()).sum()
    }

    fn template(&self) -> AnswerTemplate {
        match &self.matched {
            Matched::Denied(by) => AnswerTemplate::denied(by, self.version),
            Matched::Allowed(_) | Matched::TooManyLimits => {
                AnswerTemplate::of_charges(&[], self.version, self.now)
            }
            Matched::Charged(charges) => {
                AnswerTemplate::of_charges(charges, self.version, self.now)
            }
        }
    }

    fn idempotency(&self, request: &Request) -> Option<Idempotency> {
        if !matches!(request.operation(), Operation::Consume | Operation::Refund) {
            return None;
        }
        let key = request.idempotency_key()?.to_owned();
        let fingerprint = answer::fingerprint(request);
        Some(Idempotency { key, fingerprint, text: self.template().to_text() })
    }
}

impl OnItsWay<'_> {
    /// What came of it, by Redis.
    fn outcome(self, state: &GateState, asked: &Asked<'_>, answer: Answer) -> Outcome {
        let template = self.prepared.template();
        match answer {
            Answer::Decided(at, decisions) => {
                let decisions = match self.lease {
                    Some(request) if decisions.iter().all(|it| it.allowed) => {
                        request.given(at, decisions, state.monotonic.now())
                    }
                    Some(request) => {
                        request.not_taken();
                        decisions
                    }
                    None => decisions,
                };
                if let Some(ticket) = self.ticket {
                    let (version, cost, rules) = (self.prepared.version, asked.cost, asked.rules);
                    let met = ChargedRules { tenant: asked.tenant, version, cost, rules };
                    let now = state.monotonic.now();
                    state.denial_cache.insert(ticket, met, &decisions, now);
                }
                if asked.operation == Operation::Refund {
                    state.denial_cache.invalidate_all(asked.rules);
                }
                Ok(Decided::first(template.answer(&decisions, asked.operation)))
            }
            Answer::Repeated(_, text, decisions) => {
                let first = AnswerTemplate::from_text(&text).unwrap_or(template);
                Ok(Decided { answer: first.answer(&decisions, asked.operation), fresh: false })
            }
            Answer::KeyReused => Err(KeyReused),
            Answer::Unreadable(key) => {
                state.unreadable.report(&key, Instant::now());
                state.meters.redis_unreadable();
                Ok(self.unasked(state, asked, true))
            }
        }
    }

    /// The answer without Redis. `nothing_sent` says that Redis cannot have decided it either.
    fn unasked(self, state: &GateState, asked: &Asked<'_>, nothing_sent: bool) -> Decided {
        let cost = self.lease.as_ref().map_or(asked.cost, LeaseRequest::cost);
        if let Some(request) = self.lease.filter(|_| nothing_sent) {
            request.not_taken();
        }
        let (tenant, operation, charges) = (asked.tenant, asked.operation, asked.rules);
        let template = &self.prepared.template();
        let unasked = Unasked { tenant, operation, cost, charges, template };
        Decided::first(outage::answer(&state.local, unasked))
    }
}
