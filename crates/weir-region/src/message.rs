//! A call from one region to another, and its answer, in JSON.
//!
//! A check names its rules, subjects and overrides. The limits are those of the home's rulebook, so a call can charge nothing
//! that this rulebook does not know.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::charged::Charged;
use weir_domain::draft::Reach;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::limit::COST_MAX;
use weir_domain::matching::LIMITS_PER_CHECK_MAX;
use weir_domain::rulebook::TenantRules;
use weir_domain::spread::SpreadKey;
use weir_domain::subject::SubjectKey;
use weir_redis::limiter::{Idempotency, ScriptCheck, WindowCounter};

use crate::answer::AnswerMessage;
use crate::bits::Bits;
use crate::operation::OperationMessage;

/// The most checks in one call.
pub const CHECKS_PER_CALL_MAX: usize = 512;
/// The most bytes of a call and of its answer.
pub const CALL_BYTES_MAX: usize = 4 << 20;
/// The most bytes of an idempotency key with its marks, and of a fingerprint.
const RECORD_KEY_BYTES_MAX: usize = 1024;
/// The most bytes of a recorded answer.
const RECORD_TEXT_BYTES_MAX: usize = 64 << 10;
/// The longest time for which an answer is recorded: that of a deferred job and its admission, in milliseconds.
const RECORDED_MAX_MS: u64 = 8 * 24 * 60 * 60 * 1000;

/// A call. Its body is signed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call<'w> {
    /// The run of the gate that the call is for. `None` in a call that asks for it and does nothing else.
    pub to: Option<Bits>,
    /// The time of the call by the caller's clock, in milliseconds since 1970.
    pub time_ms: i64,
    /// A number of its own: that of the sender's run, and the number of its calls before this one.
    pub number: Bits,
    /// The work, decided independently of one another.
    pub work: Cow<'w, [Work]>,
}

/// The work that one caller waits for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Work {
    /// Decide checks in order.
    Check(Vec<CheckMessage>),
    /// Return units that were taken before this time, in microseconds.
    GiveBack(u64, Vec<CheckMessage>),
    /// Replace the recorded answer to an idempotency key by that of a denial, which charged only these rules.
    RecordDenial { tenant: Bits, namespace: String, key: IdempotencyMessage, charged: Vec<Bits> },
    /// Reset the counters of a check's only rule, in this region.
    Reset(Vec<CheckMessage>),
    /// Read the stored units of windows of a tenant, in this region.
    WindowUnits(Bits, Vec<CounterMessage>),
    /// Announce a version of the rulebook to the gates of this region.
    Announce(u64),
}

/// The counter of a window or quota.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterMessage {
    namespace: String,
    spread: u64,
    subject: Bits,
    rule: Bits,
    slot: u16,
}

/// The answer to a call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallAnswer {
    /// The run of the gate that answers.
    pub from: Bits,
    /// Whether it did the work: it was the gate that the call was for, and its region is the home if the work is for that.
    pub done: bool,
    /// The answers, one for each check of the work, in order.
    pub answers: Vec<Vec<AnswerMessage>>,
}

/// A check as a gate sends it to its limiter.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckMessage {
    tenant: Bits,
    namespace: String,
    operation: OperationMessage,
    cost: u64,
    rules: Vec<ChargeMessage>,
    #[serde(default, skip_serializing_if = "is_none")]
    lease_id: Bits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    idempotency: Option<IdempotencyMessage>,
    /// The text of the charge that a refund names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    charged: Option<String>,
}

/// A rule that applies to a check.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargeMessage {
    rule: Bits,
    subject: Bits,
    #[serde(default, skip_serializing_if = "is_zero")]
    spread: u64,
    /// The number of the override or the plan whose limits apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    override_id: Option<Bits>,
    #[serde(default, skip_serializing_if = "is_even")]
    keep_share: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own_cost: Option<u64>,
}

/// An idempotency key with the contents of its record.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdempotencyMessage {
    key: String,
    fingerprint: String,
    text: String,
    recorded_for_ms: u64,
}

/// Something that a call names and the rulebook does not know, or that does not hold in all regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the call names an object that this rulebook does not know")]
pub struct Unknown;

/// A check that a call names, with the rules of this rulebook.
#[derive(Debug)]
pub struct KnownCheck {
    tenant: TenantId,
    message: CheckMessage,
    rules: Vec<RuleCharge>,
    charged: Option<Charged>,
}

impl Work {
    /// The number of checks, for each of which there is an answer.
    pub fn len(&self) -> usize {
        match self {
            Self::Check(checks) | Self::GiveBack(_, checks) | Self::Reset(checks) => checks.len(),
            Self::WindowUnits(_, counters) => counters.len(),
            Self::RecordDenial { .. } | Self::Announce(_) => 1,
        }
    }

    /// Whether only the home may do it. Control planes read and reset the counters of each region.
    pub fn is_for_home(&self) -> bool {
        match self {
            Self::Check(checks) => !checks.iter().all(CheckMessage::inspects),
            Self::GiveBack(..) | Self::RecordDenial { .. } => true,
            Self::Reset(_) | Self::WindowUnits(..) | Self::Announce(_) => false,
        }
    }

    /// Whether it is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl CheckMessage {
    /// The message of a check.
    pub fn new(check: &ScriptCheck<'_>) -> Self {
        Self {
            tenant: Bits(check.tenant.to_u128()),
            namespace: check.namespace.to_owned(),
            operation: OperationMessage::new(check.operation),
            cost: check.cost,
            rules: check.rules.iter().map(ChargeMessage::new).collect(),
            lease_id: Bits(u128::from_be_bytes(check.lease_id.0)),
            idempotency: check.idempotency.as_ref().map(IdempotencyMessage::new),
            charged: check.charged.map(Charged::to_text),
        }
    }

    /// The tenant of the check.
    pub fn tenant(&self) -> TenantId {
        TenantId::from_u128(self.tenant.0)
    }

    fn inspects(&self) -> bool {
        matches!(self.operation, OperationMessage::Inspect)
    }

    /// The check with the rules of the tenant. Rules that hold in each region alone can only be inspected.
    pub fn known(self, tenant: &TenantRules) -> Result<KnownCheck, Unknown> {
        if self.rules.len() > LIMITS_PER_CHECK_MAX {
            return Err(Unknown);
        }
        let rules: Vec<_> =
            self.rules.iter().map(|rule| rule.known(tenant)).collect::<Result<_, _>>()?;
        let is_world = |charge: &RuleCharge| charge.active.rule.reach() == Reach::World;
        if !(self.inspects() || rules.iter().all(is_world)) {
            return Err(Unknown);
        }
        let limits: usize = rules.iter().map(|charge| charge.limits().len()).sum();
        let spread = rules.first().map(|charge| charge.spread);
        let fits = limits <= LIMITS_PER_CHECK_MAX
            && self.cost <= COST_MAX
            && self.operation.fits()
            && self.idempotency.as_ref().is_none_or(IdempotencyMessage::fits)
            && rules.iter().all(|charge| Some(charge.spread) == spread)
            && rules.iter().all(|charge| charge.active.rule.namespace() == self.namespace);
        let lease_is_known = match &self.operation {
            OperationMessage::Renew(lease) | OperationMessage::Release(lease) => {
                tenant.rule(RuleId::from_u128(lease.rule.0)).is_some_and(|active| {
                    active.rule.reach() == Reach::World && active.rule.namespace() == self.namespace
                })
            }
            _ => !rules.is_empty(),
        };
        if !(fits && lease_is_known) {
            return Err(Unknown);
        }
        let charged = match &self.charged {
            None => None,
            Some(text) => Some(Charged::parse(text).ok_or(Unknown)?),
        };
        Ok(KnownCheck { tenant: self.tenant(), message: self, rules, charged })
    }
}

impl CounterMessage {
    /// The message of a counter.
    pub fn new(counter: &WindowCounter<'_>) -> Self {
        Self {
            namespace: counter.namespace.to_owned(),
            spread: counter.spread.to_u64(),
            subject: Bits(counter.subject.0),
            rule: Bits(counter.rule.to_u128()),
            slot: counter.slot,
        }
    }

    /// The counter for the limiter.
    pub fn counter(&self) -> WindowCounter<'_> {
        WindowCounter {
            namespace: &self.namespace,
            spread: SpreadKey::from_u64(self.spread),
            subject: SubjectKey(self.subject.0),
            rule: RuleId::from_u128(self.rule.0),
            slot: self.slot,
        }
    }
}

impl KnownCheck {
    /// The charge of a check with one rule.
    pub fn charge(&self) -> Option<&RuleCharge> {
        let [charge] = self.rules.as_slice() else { return None };
        Some(charge)
    }

    /// The check for the limiter.
    pub fn call(&self) -> ScriptCheck<'_> {
        ScriptCheck {
            tenant: self.tenant,
            namespace: &self.message.namespace,
            operation: self.message.operation.known(),
            cost: self.message.cost,
            rules: &self.rules,
            lease_id: LeaseId(self.message.lease_id.0.to_be_bytes()),
            idempotency: self.message.idempotency.as_ref().map(IdempotencyMessage::known),
            charged: self.charged.as_ref(),
        }
    }
}

impl ChargeMessage {
    fn new(charge: &RuleCharge) -> Self {
        let overrides = &charge.active.overrides;
        let limits = charge.override_limits.as_ref().filter(|_| charge.variant.is_none());
        let override_id = limits.and_then(|limits| overrides.number_of(charge.subject, limits));
        Self {
            rule: Bits(charge.active.id.to_u128()),
            subject: Bits(charge.subject.0),
            spread: charge.spread.to_u64(),
            override_id: override_id.map(Bits),
            keep_share: charge.keep_share,
            own_cost: charge.own_cost,
        }
    }

    fn known(&self, tenant: &TenantRules) -> Result<RuleCharge, Unknown> {
        let active = tenant.rule(RuleId::from_u128(self.rule.0)).ok_or(Unknown)?;
        let subject = SubjectKey(self.subject.0);
        let spread = SpreadKey::from_u64(self.spread);
        let mut charge = RuleCharge::new(active.clone(), subject, spread);
        if let Some(id) = self.override_id {
            let limits = active.overrides.limits_of(subject, id.0);
            charge = charge.with_override(limits.ok_or(Unknown)?);
        }
        let (keep_share, own_cost) = (self.keep_share, self.own_cost);
        let fits = keep_share <= 1_000 && own_cost.is_none_or(|cost| cost <= COST_MAX);
        if fits { Ok(RuleCharge { keep_share, own_cost, ..charge }) } else { Err(Unknown) }
    }
}

impl IdempotencyMessage {
    /// The message of a record.
    pub fn new(idempotency: &Idempotency) -> Self {
        Self {
            key: idempotency.key.clone(),
            fingerprint: idempotency.fingerprint.clone(),
            text: idempotency.text.clone(),
            recorded_for_ms: u64::try_from(idempotency.recorded_for.as_millis()).unwrap_or(0),
        }
    }

    /// Whether it is within the bounds of what gates write.
    pub fn fits(&self) -> bool {
        self.key.len() <= RECORD_KEY_BYTES_MAX
            && self.fingerprint.len() <= RECORD_KEY_BYTES_MAX
            && self.text.len() <= RECORD_TEXT_BYTES_MAX
            && self.recorded_for_ms <= RECORDED_MAX_MS
    }

    /// The record for the limiter.
    pub fn known(&self) -> Idempotency {
        Idempotency {
            key: self.key.clone(),
            fingerprint: self.fingerprint.clone(),
            text: self.text.clone(),
            recorded_for: Duration::from_millis(self.recorded_for_ms),
        }
    }
}

fn is_none(id: &Bits) -> bool {
    id.0 == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(spread: &u64) -> bool {
    *spread == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_even(keep_share: &u16) -> bool {
    *keep_share == 0
}
