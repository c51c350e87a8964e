//! Answers: the decisions of limits, combined with the names of the limits.
//!
//! A template is an answer without its numbers. Redis stores it with a request that has an idempotency key and returns it
//! for a repeat, so a repeat has the answer of the first request even if the rules have changed since.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use weir_domain::calendar;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::draft;
use weir_domain::limit::Limit;
use weir_domain::request::{Operation, Request};
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::{Micros, Timestamp};
use weir_domain::verdict::{self, Entry};
use weir_wire::check::{CheckAnswer, LeaseAnswer, LimitAnswer};
use weir_wire::limits::AlgorithmName;
use weir_wire::words::Mode;

/// An answer without its numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AnswerTemplate {
    /// The names of `deny` rules that match the request.
    pub(crate) denied_by: Vec<Arc<str>>,
    /// The labels of the limits, in the order of the charges.
    pub(crate) limits: Vec<LimitLabel>,
    /// The version of the rulebook that decided.
    pub(crate) rulebook_version: u64,
    /// Of a reserve: the text of the reservation, but for the numbers of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reservation: Option<String>,
    /// The leases of concurrency limits that the request takes if it is admitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) leases: Vec<LeaseLabel>,
}

/// A lease before Redis has decided whether it is taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeaseLabel {
    /// The id, as the caller gets it.
    pub(crate) id: String,
    /// The position of the limit in the answer.
    pub(crate) limit: usize,
    pub(crate) lease_ms: u64,
}

/// The identity and the fixed numbers of a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LimitLabel {
    pub(crate) rule: Arc<str>,
    pub(crate) rule_id: Arc<str>,
    pub(crate) algorithm: AlgorithmName,
    /// Whether the rule decides alone, and does not affect whether the request is allowed.
    #[serde(rename = "shadow")]
    pub(crate) is_alone: bool,
    /// Whether such a rule is in the mode `report`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) reports: bool,
    pub(crate) limit: u64,
    pub(crate) window_ms: u64,
    pub(crate) refundable: bool,
}

impl AnswerTemplate {
    /// The template of a request that these `deny` rules match.
    pub(crate) fn denied(by: &[Arc<ActiveRule>], rulebook_version: u64) -> Self {
        let denied_by = by.iter().map(|rule| Arc::clone(rule.name())).collect();
        Self {
            denied_by,
            limits: Vec::new(),
            rulebook_version,
            reservation: None,
            leases: Vec::new(),
        }
    }

    /// The template of a request with these charges.
    pub(crate) fn of_charges(
        charges: &[RuleCharge],
        rulebook_version: u64,
        now: Timestamp,
    ) -> Self {
        let limits = charges
            .iter()
            .flat_map(|charge| {
                charge.limits().iter().map(|limit| LimitLabel::new(charge, limit, now))
            })
            .collect();
        Self {
            denied_by: Vec::new(),
            limits,
            rulebook_version,
            reservation: None,
            leases: Vec::new(),
        }
    }

    /// The answer with these decisions, one for each limit.
    pub(crate) fn answer(self, decisions: &[Decision], operation: Operation) -> CheckAnswer {
        let entries = self.limits.iter().zip(decisions).map(|(label, decision)| Entry {
            rule: &label.rule,
            shadow: label.is_alone,
            limit: label.limit,
            decision: *decision,
        });
        let verdict = verdict::combine(&entries.collect::<Vec<_>>());
        let deciding = verdict.deciding.map(|at| (&self.limits[at], decisions[at]));
        let barred = !self.denied_by.is_empty();
        let denied_by = verdict.denied_by.iter().map(|&at| Arc::clone(&self.limits[at].rule));
        let over = self.limits.iter().zip(decisions);
        let over = over.filter(|(label, decision)| label.reports && !decision.allowed);
        let mut over: Vec<_> = over.map(|(label, _)| Arc::clone(&label.rule)).collect();
        over.dedup();
        CheckAnswer {
            allowed: verdict.allowed && !barred,
            denied_by: if barred { self.denied_by } else { denied_by.collect() },
            retry_after_ms: if barred { None } else { verdict.retry_after_ms },
            cache_for_ms: 0,
            delay_ms: verdict.delay_ms,
            limit: deciding.map(|(label, _)| label.limit),
            remaining: deciding.map(|(_, decision)| decision.remaining),
            reset_after_ms: deciding.and_then(|(label, decision)| label.reset_after_ms(&decision)),
            limits: self
                .limits
                .into_iter()
                .zip(decisions)
                .map(|(label, decision)| label.answer(decision, operation))
                .collect(),
            over,
            leases: Vec::new(),
            charge: None,
            degraded: None,
            rulebook_version: self.rulebook_version,
            code: None,
        }
    }

    /// The leases that were taken at `at`, by these decisions: those of enforced rules if the check is admitted, and of a
    /// shadow rule if it would be.
    pub(crate) fn leases(&self, decisions: &[Decision], at: Micros) -> Vec<LeaseAnswer> {
        // The limits that are charged together with this one.
        let together = |own: &LimitLabel, label: &LimitLabel| {
            own.is_alone == label.is_alone && (!own.is_alone || own.rule_id == label.rule_id)
        };
        let taken = |lease: &&LeaseLabel| {
            let Some(own) = self.limits.get(lease.limit) else { return false };
            let mut all = self.limits.iter().zip(decisions);
            all.all(|(label, decision)| decision.allowed || !together(own, label))
        };
        let answer = |lease: &LeaseLabel| LeaseAnswer {
            id: lease.id.clone(),
            rule_id: Arc::clone(&self.limits[lease.limit].rule_id),
            expires_at_ms: at.0 / 1000 + lease.lease_ms,
        };
        self.leases.iter().filter(taken).map(answer).collect()
    }

    /// The text that Redis stores with an idempotency key.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a template is plain data")
    }

    /// Parses the text of [`AnswerTemplate::to_text`].
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

impl LimitLabel {
    fn new(charge: &RuleCharge, limit: &Limit, now: Timestamp) -> Self {
        Self {
            rule: Arc::clone(charge.active.name()),
            rule_id: Arc::clone(charge.active.id_text()),
            algorithm: AlgorithmName::from(&limit.algorithm),
            is_alone: charge.is_alone(),
            reports: charge.mode == draft::Mode::Report,
            limit: limit.algorithm.limit(),
            window_ms: calendar::window_ms(&limit.algorithm, Micros::from_ms(now.as_millis_u64())),
            refundable: limit.algorithm.refundable() && !charge.is_alone(),
        }
    }

    /// `None` of a quota that never renews.
    fn reset_after_ms(&self, decision: &Decision) -> Option<u64> {
        (self.window_ms > 0).then_some(decision.reset_after_ms)
    }

    fn answer(self, decision: &Decision, operation: Operation) -> LimitAnswer {
        let reset_after_ms = self.reset_after_ms(decision);
        LimitAnswer {
            mode: self.mode(),
            rule: self.rule,
            rule_id: self.rule_id,
            algorithm: self.algorithm,
            allowed: decision.allowed,
            limit: self.limit,
            remaining: Some(decision.remaining),
            window_ms: self.window_ms,
            reset_after_ms,
            retry_after_ms: decision.retry_after_ms,
            delay_ms: decision.delay_ms,
            refunded: (operation == Operation::Refund).then_some(self.refundable),
        }
    }

    /// The mode in which the rule decides for the subject.
    pub(crate) fn mode(&self) -> Mode {
        match (self.is_alone, self.reports) {
            (false, _) => Mode::Enforce,
            (true, false) => Mode::Shadow,
            (true, true) => Mode::Report,
        }
    }
}

/// A digest of the request, by which Redis detects that an idempotency key was used for another request.
pub(crate) fn fingerprint(request: &Request) -> String {
    let mut digest = Sha256::new();
    let mut field = |text: &str| {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
    };
    // Requests of other operations with equal fields are different requests.
    match request.operation() {
        Operation::Refund => {
            field("refund");
            if let Some(charged) = request.charged() {
                field(&charged.to_text());
            }
        }
        Operation::Record => field("record"),
        Operation::Reserve(reserve) => {
            field("reserve");
            field(&format!("{} {}", reserve.ttl_ms, reserve.at_most));
        }
        Operation::Exhaust(_) => field("exhaust"),
        // A repeated commit gets the first answer, whatever its cost.
        Operation::Commit(_) => return "commit".to_owned(),
        Operation::Renew(_) | Operation::Release(_) => return "release".to_owned(),
        Operation::Consume | Operation::Peek | Operation::Inspect => {}
    }
    field(request.namespace());
    field(&request.cost().to_string());
    for (name, value) in request.attributes() {
        field(name);
        field(value);
    }
    let digest: [u8; 32] = digest.finalize().into();
    let (half, _) = digest.split_first_chunk().expect("a digest has 32 bytes");
    format!("{:032x}", u128::from_be_bytes(*half))
}
