//! The operation of a check in JSON.

use serde::{Deserialize, Serialize};
use weir_domain::algorithm::LeaseId;
use weir_domain::id::RuleId;
use weir_domain::lease::Lease;
use weir_domain::limit::{EXACT_MAX, LEASE_MS_MAX};
use weir_domain::request::Operation;
use weir_domain::reservation::{
    Commit, Exhaust, RESERVED_MAX_MS, RESERVED_MIN_MS, ReservationId, Reserve,
};
use weir_domain::spread::SpreadKey;
use weir_domain::subject::SubjectKey;
use weir_domain::time::Micros;

use crate::bits::Bits;

/// An operation on counters.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OperationMessage {
    Consume,
    Peek,
    Refund,
    Inspect,
    Record,
    Reserve { id: Bits, ttl_ms: u64, at_most: bool },
    Exhaust { id: Bits, for_ms: u64 },
    Commit { id: Bits, ends_us: u64 },
    Renew(LeaseMessage),
    Release(LeaseMessage),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LeaseMessage {
    id: Bits,
    lease_ms: u64,
    pub(crate) rule: Bits,
    slot: u16,
    subject: Bits,
    spread: u64,
}

impl OperationMessage {
    pub(crate) fn new(operation: Operation) -> Self {
        match operation {
            Operation::Consume => Self::Consume,
            Operation::Peek => Self::Peek,
            Operation::Refund => Self::Refund,
            Operation::Inspect => Self::Inspect,
            Operation::Record => Self::Record,
            Operation::Reserve(Reserve { id, ttl_ms, at_most }) => {
                Self::Reserve { id: Bits(u128::from_be_bytes(id.0)), ttl_ms, at_most }
            }
            Operation::Exhaust(Exhaust { id, for_ms }) => {
                Self::Exhaust { id: Bits(u128::from_be_bytes(id.0)), for_ms }
            }
            Operation::Commit(Commit { id, ends }) => {
                Self::Commit { id: Bits(u128::from_be_bytes(id.0)), ends_us: ends.0 }
            }
            Operation::Renew(lease) => Self::Renew(LeaseMessage::new(lease)),
            Operation::Release(lease) => Self::Release(LeaseMessage::new(lease)),
        }
    }

    /// Whether it is within the bounds of requests.
    pub(crate) fn fits(&self) -> bool {
        match self {
            Self::Reserve { ttl_ms, .. } => (RESERVED_MIN_MS..=RESERVED_MAX_MS).contains(ttl_ms),
            Self::Exhaust { for_ms, .. } => *for_ms <= RESERVED_MAX_MS,
            Self::Commit { ends_us, .. } => *ends_us <= EXACT_MAX,
            Self::Renew(lease) | Self::Release(lease) => lease.lease_ms <= LEASE_MS_MAX,
            Self::Consume | Self::Peek | Self::Refund | Self::Inspect | Self::Record => true,
        }
    }

    pub(crate) fn known(&self) -> Operation {
        match self {
            Self::Consume => Operation::Consume,
            Self::Peek => Operation::Peek,
            Self::Refund => Operation::Refund,
            Self::Inspect => Operation::Inspect,
            Self::Record => Operation::Record,
            Self::Reserve { id, ttl_ms, at_most } => Operation::Reserve(Reserve {
                id: ReservationId(id.0.to_be_bytes()),
                ttl_ms: *ttl_ms,
                at_most: *at_most,
            }),
            Self::Exhaust { id, for_ms } => Operation::Exhaust(Exhaust {
                id: ReservationId(id.0.to_be_bytes()),
                for_ms: *for_ms,
            }),
            Self::Commit { id, ends_us } => Operation::Commit(Commit {
                id: ReservationId(id.0.to_be_bytes()),
                ends: Micros(*ends_us),
            }),
            Self::Renew(lease) => Operation::Renew(lease.known()),
            Self::Release(lease) => Operation::Release(lease.known()),
        }
    }
}

impl LeaseMessage {
    fn new(lease: Lease) -> Self {
        Self {
            id: Bits(u128::from_be_bytes(lease.id.0)),
            lease_ms: lease.lease_ms,
            rule: Bits(lease.rule.to_u128()),
            slot: lease.slot,
            subject: Bits(lease.subject.0),
            spread: lease.spread.to_u64(),
        }
    }

    fn known(&self) -> Lease {
        Lease {
            id: LeaseId(self.id.0.to_be_bytes()),
            lease_ms: self.lease_ms,
            rule: RuleId::from_u128(self.rule.0),
            slot: self.slot,
            subject: SubjectKey(self.subject.0),
            spread: SpreadKey::from_u64(self.spread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_the_same_at_the_other_end() {
        let lease = Lease {
            id: LeaseId([0xFE; 16]),
            lease_ms: 60_000,
            rule: RuleId::from_u128(u128::MAX),
            slot: 3,
            subject: SubjectKey(u128::MAX - 1),
            spread: SpreadKey::from_u64(u64::MAX),
        };
        let id = ReservationId([7; 16]);
        for operation in [
            Operation::Consume,
            Operation::Peek,
            Operation::Refund,
            Operation::Inspect,
            Operation::Record,
            Operation::Reserve(Reserve { id, ttl_ms: 1_000, at_most: true }),
            Operation::Exhaust(Exhaust { id, for_ms: 5 }),
            Operation::Commit(Commit { id, ends: Micros(1_763_726_400_000_000) }),
            Operation::Renew(lease),
            Operation::Release(lease),
        ] {
            let message = OperationMessage::new(operation);
            let text = serde_json::to_string(&message).expect("JSON");
            let message: OperationMessage = serde_json::from_str(&text).expect("the same form");
            assert!(message.fits(), "{operation:?}");
            assert_eq!(message.known(), operation);
        }
    }
}
