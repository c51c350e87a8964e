//! Checks to decide, and their answers.

use std::time::Duration;

use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::charged::Charged;
use weir_domain::decide::Decision;
use weir_domain::draft::Over;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_domain::reservation::Settlement;
use weir_domain::spread::SpreadKey;
use weir_domain::time::Micros;

use crate::placement::Bucket;

/// One check to decide.
#[derive(Debug, Clone)]
pub struct ScriptCheck<'a> {
    /// The tenant that owns the counters.
    pub tenant: TenantId,
    /// The namespace of the rules, and the scope of the idempotency key.
    pub namespace: &'a str,
    /// The operation.
    pub operation: Operation,
    /// The units to take.
    pub cost: u64,
    /// The rules that apply. Their counters are spread by the same values, or none of them is.
    pub rules: &'a [RuleCharge],
    /// The id of the leases that a consume takes of concurrency limits.
    pub lease_id: LeaseId,
    /// Identifies the request, so that a repeat takes nothing.
    pub idempotency: Option<Idempotency>,
    /// The charge that a refund names.
    pub charged: Option<&'a Charged>,
}

impl Idempotency {
    /// The time for which answers are recorded, but for deferred jobs.
    pub const RECORDED_FOR: Duration = Duration::from_mins(1);
}

impl ScriptCheck<'_> {
    /// Whether the check takes leases of concurrency limits if it passes.
    pub(super) fn acquires(&self) -> bool {
        self.operation == Operation::Consume && self.rules.iter().any(RuleCharge::has_concurrency)
    }

    /// Whether the check is a consume whose only rule has one limit and nothing else. The script decides it faster.
    pub(super) fn consumes_one(&self) -> bool {
        let [charge] = self.rules else { return false };
        let rule = &charge.active.rule;
        self.operation == Operation::Consume
            && self.idempotency.is_none()
            && charge.limits().len() == 1
            && charge.own_cost.is_none()
            && rule.block_ms().is_none()
            && rule.over() != Over::Debt
            && !charge.has_concurrency()
    }

    /// The bucket of all keys of the check.
    pub(super) fn bucket(&self) -> Bucket {
        let spread = match self.operation {
            Operation::Renew(lease) | Operation::Release(lease) => lease.spread,
            _ => self.rules.first().map_or(SpreadKey::NONE, |charge| charge.spread),
        };
        debug_assert!(self.rules.iter().all(|charge| charge.spread == spread), "one bucket");
        Bucket::of(self.tenant, self.namespace, spread)
    }
}

/// The idempotency key of a check, with the contents of its record.
#[derive(Debug, Clone)]
pub struct Idempotency {
    /// The caller's key.
    pub key: String,
    /// Distinguishes requests that use the same key.
    pub fingerprint: String,
    /// Returned with a repeated answer.
    pub text: String,
    /// The time for which the answer is recorded, unless it is a denial; zero: it is not recorded.
    pub recorded_for: Duration,
}

/// The record of the first answer to a request, beside its decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstAnswer {
    /// The time of the decision. `None` if an earlier release recorded it.
    pub at: Option<Micros>,
    /// The text of [`Idempotency`].
    pub text: String,
}

/// The answer to one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Decided at this time, with one decision for each limit of each rule.
    Decided(Micros, Vec<Decision>),
    /// A reserve or commit, or a check that meets concurrency limits, was decided at this time, or a lease was renewed or
    /// released. A repeat got the first answer.
    Settled(Micros, Option<FirstAnswer>, Vec<Decision>, Settlement),
    /// The reservation to commit, or the lease, is not open. Nothing was written.
    NotOpen,
    /// The first answer to the same request. Nothing was taken.
    Repeated(Micros, FirstAnswer, Vec<Decision>),
    /// The idempotency key was used for another request. Nothing was taken.
    KeyReused,
    /// This key of the check holds a value of the wrong type, so nothing of the check was decided or taken.
    Unreadable(String),
}

impl Answer {
    /// The time of the answer by Redis' clock, if it has one.
    pub fn at(&self) -> Option<Micros> {
        match self {
            Self::Decided(at, _) | Self::Settled(at, ..) | Self::Repeated(at, ..) => Some(*at),
            Self::NotOpen | Self::KeyReused | Self::Unreadable(_) => None,
        }
    }
}
