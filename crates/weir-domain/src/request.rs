//! Requests: the checks, peeks, refunds, records and reservations that callers send, and inspections.

use std::collections::BTreeMap;

use crate::charged::Charged;
use crate::lease::Lease;
use crate::limit::COST_MAX;
use crate::names::{self, ATTRIBUTES_MAX, InvalidField};
use crate::reservation::{Commit, Exhaust, Reserve};

/// The most bytes of an idempotency key.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 128;
pub use crate::names::DEFAULT_NAMESPACE;

/// A request as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestDraft {
    /// The namespace of the rules.
    pub namespace: String,
    /// The attributes that rules match and count by.
    pub attributes: BTreeMap<String, String>,
    /// The units to take.
    pub cost: u64,
    /// The operation.
    pub operation: Operation,
    /// Identifies the request, so that a repeat takes nothing.
    pub idempotency_key: Option<String>,
}

/// An operation on counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Decide, and take the cost if admitted.
    Consume,
    /// Answer as `Consume` would, and write nothing.
    Peek,
    /// Return units.
    Refund,
    /// Report counters as they are, and write nothing.
    Inspect,
    /// Take the cost, even if that is more than is left.
    Record,
    /// Decide, and hold the cost if admitted, outside the counters.
    Reserve(Reserve),
    /// Let all limits count as exhausted for a time, without a change of the counters.
    Exhaust(Exhaust),
    /// Release what a reservation holds, and take the cost, even if that is more than is left.
    Commit(Commit),
    /// Renew a lease of a concurrency limit. It meets no rules.
    Renew(Lease),
    /// End a lease of a concurrency limit. It meets no rules.
    Release(Lease),
}

impl Operation {
    /// Whether reservations are made or ended.
    pub fn reserves(self) -> bool {
        matches!(self, Self::Reserve(_) | Self::Exhaust(_) | Self::Commit(_))
    }
}

/// A checked request, and the charge that a refund names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request(RequestDraft, Option<Box<Charged>>);

impl Request {
    /// Checks the whole draft and reports everything that is wrong with it.
    pub fn parse(draft: RequestDraft) -> Result<Self, Vec<InvalidField>> {
        let mut wrong = Vec::new();
        if let Err(reason) = names::namespace(&draft.namespace) {
            wrong.push(InvalidField::new("namespace", reason));
        }
        if draft.attributes.len() > ATTRIBUTES_MAX {
            let reason = format!("must hold at most {ATTRIBUTES_MAX} attributes");
            wrong.push(InvalidField::new("attributes", reason));
        }
        for (name, value) in &draft.attributes {
            if let Err(reason) = names::attribute(name) {
                let shown: String = name.chars().take(64).collect();
                let reason = format!("the name {reason}");
                wrong.push(InvalidField::new(
                    format!("attributes.{}", shown.escape_debug()),
                    reason,
                ));
            } else if let Err(reason) = names::value(value) {
                wrong.push(InvalidField::new(format!("attributes.{name}"), reason));
            }
        }
        let charges_all = matches!(draft.operation, Operation::Record | Operation::Commit(_));
        let least = u64::from(!charges_all);
        if !(least..=COST_MAX).contains(&draft.cost) {
            wrong.push(InvalidField::new("cost", format!("must be from {least} to {COST_MAX}")));
        }
        if let Some(key) = &draft.idempotency_key
            && !(1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&key.len())
        {
            let reason = format!("must be from 1 to {IDEMPOTENCY_KEY_BYTES_MAX} bytes");
            wrong.push(InvalidField::new("idempotency_key", reason));
        }
        if wrong.is_empty() { Ok(Self(draft, None)) } else { Err(wrong) }
    }

    /// The same refund, of this charge.
    #[must_use]
    pub fn of_charge(mut self, charged: Charged) -> Self {
        self.1 = Some(Box::new(charged));
        self
    }

    /// The charge that a refund names.
    pub fn charged(&self) -> Option<&Charged> {
        self.1.as_deref()
    }

    /// The namespace of the rules.
    pub fn namespace(&self) -> &str {
        &self.0.namespace
    }

    /// The value of an attribute, if the request has it.
    #[inline]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.0.attributes.get(name).map(String::as_str)
    }

    /// All attributes, by name.
    pub fn attributes(&self) -> &BTreeMap<String, String> {
        &self.0.attributes
    }

    /// The units to take.
    pub fn cost(&self) -> u64 {
        self.0.cost
    }

    /// The operation.
    pub fn operation(&self) -> Operation {
        self.0.operation
    }

    /// Identifies the request, so that a repeat takes nothing.
    pub fn idempotency_key(&self) -> Option<&str> {
        self.0.idempotency_key.as_deref()
    }

    /// The same request without the key, so that it is decided as a request of its own.
    #[must_use]
    pub fn without_idempotency_key(mut self) -> Self {
        self.0.idempotency_key = None;
        self
    }
}
