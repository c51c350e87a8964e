//! Every key name in the system, one function each.
//!
//! `weir:{tenant}:…`: the tenant in braces puts all keys of one check into one slot of a cluster. A
//! subject is a digest and a rule is an id, so nothing a caller sends stands in a key as it is.

use std::fmt::Write as _;

use sha2_digest::hex16;
use weir_domain::counter::{CounterName, CounterPart};
use weir_domain::id::TenantId;

/// The channel on which "the rulebook changed" is said.
pub const SIGNAL_CHANNEL: &str = "weir:signal:rules";

/// A counter, or the block of a subject: `weir:{tenant}:c:rule:slot:subject`, `…:b:rule:subject`.
pub fn counter(name: &CounterName) -> String {
    let mut key = String::with_capacity(128);
    let (tenant, rule) = (name.tenant, name.rule);
    let subject = name.subject.0;
    let written = match name.part {
        CounterPart::Slot(slot) => write!(key, "weir:{{{tenant}}}:c:{rule}:{slot}:{subject:032x}"),
        CounterPart::Block => write!(key, "weir:{{{tenant}}}:b:{rule}:{subject:032x}"),
    };
    written.expect("writing to a string cannot fail");
    key
}

/// The record of an idempotency key: `weir:{tenant}:i:digest`.
pub fn idempotency(tenant: TenantId, key: &str) -> String {
    format!("weir:{{{tenant}}}:i:{}", hex16(key.as_bytes()))
}

mod sha2_digest {
    use sha2::{Digest, Sha256};

    /// The first 128 bits of SHA-256 in hexadecimal.
    pub(super) fn hex16(bytes: &[u8]) -> String {
        let digest = Sha256::digest(bytes);
        digest[..16].iter().fold(String::with_capacity(32), |mut hex, byte| {
            hex.push(char::from_digit(u32::from(byte >> 4), 16).expect("a nibble is a digit"));
            hex.push(char::from_digit(u32::from(byte & 15), 16).expect("a nibble is a digit"));
            hex
        })
    }
}

#[cfg(test)]
mod tests {
    use weir_domain::id::RuleId;
    use weir_domain::subject::SubjectKey;

    use super::*;

    #[test]
    fn names_are_stable_and_share_the_tenants_slot() {
        let name = CounterName {
            tenant: TenantId::from_u128(1),
            rule: RuleId::from_u128(2),
            part: CounterPart::Slot(3),
            subject: SubjectKey(4),
        };
        assert_eq!(
            counter(&name),
            "weir:{tenant_00000000000000000000000001}:c:rule_00000000000000000000000002:3:00000000000000000000000000000004"
        );
        let block = CounterName { part: CounterPart::Block, ..name };
        assert_eq!(
            counter(&block),
            "weir:{tenant_00000000000000000000000001}:b:rule_00000000000000000000000002:00000000000000000000000000000004"
        );
        let record = idempotency(TenantId::from_u128(1), "}{\r\n*");
        assert!(record.starts_with("weir:{tenant_00000000000000000000000001}:i:"), "{record}");
        assert_eq!(record.len(), 43 + 32, "{record}");
    }
}
