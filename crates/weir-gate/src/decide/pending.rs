//! A request on its way through the pipeline.

use std::slice;
use std::time::{Duration, Instant};

use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::charged::Charged;
use weir_domain::decide::{Decision, name_charge};
use weir_domain::matching::Matched;
use weir_domain::request::{Operation, Request};
use weir_domain::reservation::Settlement;
use weir_domain::rulebook::Namespace;
use weir_domain::spread::SpreadKey;
use weir_domain::time::Micros;
use weir_redis::limiter::{Idempotency, ScriptCheck};
use weir_wire::check::CheckAnswer;

use crate::decide::merged_check::Origins;
use crate::memory::denial_cache::{ChargedRules, Generation};
use crate::memory::leases::LeaseRequest;
use crate::requests::answer::{self, AnswerTemplate, LeaseLabel};
use crate::requests::caller::Caller;
use crate::requests::lease_text::LeaseText;

/// The longest time for which a caller repeats a denial by itself: it learns of a refund, a reset or an edited rule at most this late.
const CACHE_FOR_MAX_MS: u64 = 1_000;

/// The idempotency key was used for another request.
#[derive(Debug)]
pub(crate) struct KeyReused;

/// A check and the state of its decision.
#[derive(Debug)]
pub(super) struct PendingCheck<'a> {
    pub(super) caller: &'a Caller,
    /// The requests that are decided together. All but the first have the operation of the first, or only look.
    pub(super) requests: &'a [Request],
    /// The first request.
    pub(super) request: &'a Request,
    /// The requests that meet each rule that matches, of several. `None` for a check of one request.
    pub(super) origins: Option<Vec<Origins>>,
    pub(super) namespace: Option<&'a Namespace>,
    /// The start of the decision, by the gate's monotonic clock.
    pub(super) started: Instant,
    /// The rules that match. Empty before the stage `rules`.
    pub(super) matched: Matched,
    /// The generation of the denial cache before the check was sent to Redis.
    pub(super) generation: Option<Generation>,
    /// The request for units of a lease, to be sent to Redis with the check.
    pub(super) lease: Option<LeaseRequest>,
    /// The reason why Redis did not decide the check.
    pub(super) failure: Option<Failure>,
    /// The id of the leases that the check takes of concurrency limits. `None` if it meets none.
    pub(super) lease_id: Option<LeaseId>,
    /// Of a reserve: the text of the reservation, but for the numbers of the answer. A repeat gets that of the first request.
    pub(super) reservation: Option<String>,
    /// The effect of a reserve or commit in Redis.
    pub(super) settlement: Option<Settlement>,
    /// The time of the charge, by which the answer names it.
    pub(super) charged_at: Option<ChargedAt>,
    /// The time for which the answer to the idempotency key is recorded, if it is no denial.
    pub(super) recorded_for: Duration,
    pub(super) outcome: Option<Outcome>,
}

/// A place of counters. They are decided in this order: those in another region first, and those of one subject last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Location {
    pub(super) is_near: bool,
    pub(super) spread: SpreadKey,
}

/// The time of the charge of a check, by Redis' clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChargedAt {
    pub(super) at: Micros,
    /// The same of the common part of a split check.
    pub(super) common_at: Option<Micros>,
    /// Whether the units were taken in advance, so that the decisions are not those of the charge.
    pub(super) in_advance: bool,
}

impl ChargedAt {
    /// The time at which Redis decided.
    pub(super) fn by_redis(at: Micros) -> Self {
        Self { at, common_at: None, in_advance: false }
    }

    /// The time at which a lease got the units that were used.
    pub(super) fn in_advance(at: Micros) -> Self {
        Self { at, common_at: None, in_advance: true }
    }
}

/// The reason why Redis did not decide a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// Redis did not run it.
    NotRun,
    /// Redis possibly ran it.
    PossiblyRun,
    /// A key of its counters holds a value of the wrong type.
    Unreadable,
}

/// The end of a decision.
#[derive(Debug)]
pub(super) enum Outcome {
    Answered(CheckAnswer),
    /// The answer of the first request with the same idempotency key.
    Repeated(CheckAnswer),
    KeyReused,
    /// The reservation to commit is not open.
    NotOpen,
}

/// The checks without an answer: the pending ones, and those that Redis failed to decide.
pub(super) fn unanswered<'c, 'a>(
    checks: &'c mut [PendingCheck<'a>],
) -> impl Iterator<Item = &'c mut PendingCheck<'a>> {
    checks.iter_mut().filter(|check| !check.is_answered())
}

/// The checks that no stage has answered yet, and that Redis can still decide.
pub(super) fn pending<'c, 'a>(
    checks: &'c mut [PendingCheck<'a>],
) -> impl Iterator<Item = &'c mut PendingCheck<'a>> {
    checks.iter_mut().filter(|check| check.is_pending())
}

impl<'a> PendingCheck<'a> {
    /// A check of one request.
    pub(super) fn new(caller: &'a Caller, request: &'a Request, started: Instant) -> Self {
        Self {
            caller,
            requests: slice::from_ref(request),
            request,
            origins: None,
            namespace: caller.book.namespace(caller.tenant, request.namespace()),
            started,
            matched: Matched::Unmatched(None),
            generation: None,
            lease: None,
            failure: None,
            lease_id: None,
            reservation: None,
            settlement: None,
            charged_at: None,
            recorded_for: Idempotency::RECORDED_FOR,
            outcome: None,
        }
    }

    /// A check of requests to one namespace that are decided together.
    pub(super) fn of_several(
        caller: &'a Caller,
        requests: &'a [Request],
        started: Instant,
    ) -> Self {
        let first = requests.first().expect("a check has a request");
        Self { requests, origins: Some(Vec::new()), ..Self::new(caller, first, started) }
    }

    fn is_answered(&self) -> bool {
        self.outcome.is_some()
    }

    /// Whether no stage has answered the check yet, and Redis can still decide it.
    pub(super) fn is_pending(&self) -> bool {
        !self.is_answered() && self.failure.is_none()
    }

    /// The charges to the counters on which the decision depends.
    pub(super) fn charges(&self) -> &[RuleCharge] {
        match &self.matched {
            Matched::Charged(charges) => charges,
            Matched::Denied(_)
            | Matched::Allowed(_)
            | Matched::Unmatched(_)
            | Matched::TooManyLimits => &[],
        }
    }

    /// Whether the counters are at several places: some are in another region, or are spread by values of the request, and
    /// others are not.
    pub(super) fn is_split(&self) -> bool {
        let mut places = self.charges().iter().map(|charge| self.place(charge));
        let first = places.next();
        places.any(|place| Some(place) != first)
    }

    /// The place of the counters of a charge.
    pub(super) fn place(&self, charge: &RuleCharge) -> Location {
        let is_near = !self.caller.book.is_counted_elsewhere(&charge.active.rule);
        Location { is_near, spread: charge.spread }
    }

    /// Whether counters are in another region.
    pub(super) fn is_far(&self) -> bool {
        let book = &self.caller.book;
        book.is_home_elsewhere()
            && self.charges().iter().any(|charge| book.is_counted_elsewhere(&charge.active.rule))
    }

    pub(super) fn limit_count(&self) -> usize {
        self.charges().iter().map(|charge| charge.limits().len()).sum()
    }

    /// Whether the gate can decide the check without Redis: it consumes the same of all rules, and Redis need not recognise a
    /// repeat.
    pub(super) fn is_leasable(&self) -> bool {
        self.request.operation() == Operation::Consume
            && self.idempotency_key().is_none()
            && self.lease_id.is_none()
            && self.charges().iter().all(|charge| charge.own_cost.is_none())
    }

    /// The idempotency key; peeks have none.
    pub(super) fn idempotency_key(&self) -> Option<&str> {
        match self.request.operation() {
            Operation::Consume
            | Operation::Refund
            | Operation::Record
            | Operation::Reserve(_)
            | Operation::Commit(_)
            | Operation::Release(_) => self.request.idempotency_key(),
            Operation::Peek | Operation::Inspect | Operation::Exhaust(_) | Operation::Renew(_) => {
                None
            }
        }
    }

    pub(super) fn charged_rules(&self) -> ChargedRules<'_> {
        ChargedRules {
            tenant: self.caller.tenant,
            version: self.caller.book.tenant_generation(self.caller.tenant),
            cost: self.request.cost(),
            rules: self.charges(),
            is_far: self.is_far(),
        }
    }

    pub(super) fn template(&self) -> AnswerTemplate {
        let version = self.caller.book.version();
        let now = self.caller.at;
        match &self.matched {
            Matched::Denied(by) => AnswerTemplate::denied(by, version),
            Matched::Allowed(_) | Matched::Unmatched(_) | Matched::TooManyLimits => {
                AnswerTemplate::of_charges(&[], version, now)
            }
            Matched::Charged(charges) => AnswerTemplate {
                leases: self.lease_labels(),
                ..AnswerTemplate::of_charges(charges, version, now)
            },
        }
    }

    /// The leases that the check takes if it is admitted.
    fn lease_labels(&self) -> Vec<LeaseLabel> {
        let Some(id) = self.lease_id else { return Vec::new() };
        let namespace = self.request.namespace();
        let limits = self.charges().iter().flat_map(|charge| {
            charge.limits().iter().map(move |limit| LeaseText::new(id, namespace, charge, limit))
        });
        let label = |(limit, text): (usize, Option<LeaseText>)| {
            let text = text?;
            Some(LeaseLabel { id: text.to_text(), limit, lease_ms: text.lease.lease_ms })
        };
        limits.enumerate().filter_map(label).collect()
    }

    /// The time at which Redis gave the leases of the check, if it did.
    pub(super) fn leased_at(&self) -> Option<Micros> {
        match (self.settlement, self.request.operation()) {
            (Some(Settlement::Leased { at }), _) => Some(at),
            (Some(Settlement::Held { units, ends }), Operation::Reserve(reserve)) if units > 0 => {
                Some(Micros(ends.0 - reserve.ttl_ms * 1000))
            }
            _ => None,
        }
    }

    /// Answers the check with one decision for each limit.
    pub(super) fn answer(&mut self, decisions: &[Decision]) {
        let mut answer = self.answer_of(self.template(), decisions);
        answer.cache_for_ms = self.cache_for_ms(&answer);
        self.outcome = Some(Outcome::Answered(answer));
    }

    /// The answer of a template with these decisions, and the leases that were taken.
    pub(super) fn answer_of(
        &self,
        template: AnswerTemplate,
        decisions: &[Decision],
    ) -> CheckAnswer {
        let leases = self.leased_at().map_or_else(Vec::new, |at| template.leases(decisions, at));
        let mut answer = template.answer(decisions, self.request.operation());
        if self.request.charged().is_some() {
            for (limit, decision) in answer.limits.iter_mut().zip(decisions) {
                limit.refunded = limit.refunded.map(|takes_back| takes_back && decision.returned);
            }
        }
        let charge = self.charge_of(&answer, decisions);
        CheckAnswer { leases, charge, ..answer }
    }

    /// The text by which a refund names the charge of the check.
    fn charge_of(&self, answer: &CheckAnswer, decisions: &[Decision]) -> Option<String> {
        let is_charged = match self.request.operation() {
            Operation::Consume => answer.allowed,
            Operation::Record => true,
            _ => false,
        };
        let charged_at = self.charged_at.filter(|_| is_charged && self.origins.is_none())?;
        let charges = self.charges();
        let cost = self.request.cost();
        // The decisions of a first answer can be those of other rules.
        let is_of_charges = !charged_at.in_advance && decisions.len() == self.limit_count();
        let decisions = Some(decisions).filter(|_| is_of_charges);
        let charged = name_charge(charged_at.at, cost, charges, decisions)?;
        Some(Charged { common_at: charged_at.common_at, ..charged }.to_text())
    }

    /// The time for which the caller can repeat this answer by itself: only of a denial, and only if a further check would change
    /// nothing. Shadow rules are charged by denied checks, and a repeat with an idempotency key gets this answer later.
    fn cache_for_ms(&self, answer: &CheckAnswer) -> u64 {
        let changes = |charge: &RuleCharge| {
            let counts_denied = charge.limits().iter().any(|limit| limit.algorithm.counts_denied());
            charge.is_alone() || charge.active.rule.block_ms().is_some() || counts_denied
        };
        if answer.allowed || !self.is_leasable() || self.charges().iter().any(changes) {
            return 0;
        }
        answer.retry_after_ms.map_or(CACHE_FOR_MAX_MS, |ms| ms.min(CACHE_FOR_MAX_MS))
    }

    /// The call that decides the check in Redis.
    pub(super) fn call(&self) -> ScriptCheck<'_> {
        let (cost, idempotency) = match &self.lease {
            Some(lease) => (lease.units(), lease.idempotency()),
            None => (self.request.cost(), self.idempotency()),
        };
        ScriptCheck {
            tenant: self.caller.tenant,
            namespace: self.request.namespace(),
            operation: self.request.operation(),
            cost,
            rules: self.charges(),
            lease_id: self.lease_id.unwrap_or_default(),
            idempotency,
            charged: self.request.charged(),
        }
    }

    pub(super) fn idempotency(&self) -> Option<Idempotency> {
        let key = self.idempotency_key()?.to_owned();
        let fingerprint = answer::fingerprint(self.request);
        let template = AnswerTemplate { reservation: self.reservation.clone(), ..self.template() };
        // A rule with the action `deny` possibly denies no longer when the check is repeated.
        let is_denied = matches!(self.matched, Matched::Denied(_));
        let recorded_for = if is_denied { Duration::ZERO } else { self.recorded_for };
        Some(Idempotency { key, fingerprint, text: template.to_text(), recorded_for })
    }
}
