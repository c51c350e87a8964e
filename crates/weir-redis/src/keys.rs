//! Every key name in the system, one function each.
//!
//! `weir:{tenant}:…`: the tenant in braces puts all keys of one check into one slot of a cluster. A
//! subject is a digest and a rule is an id, so nothing a caller sends stands in a key as it is.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use weir_domain::counter::{CounterName, CounterPart};
use weir_domain::id::TenantId;
use weir_domain::subject::SubjectKey;

/// The channel on which "the rulebook changed" is said.
pub const SIGNAL_CHANNEL: &str = "weir:signal:rules";

/// The channel on which is said that units were given back to a subject (its digest; the script says it too), or that its
/// counters were reset (its digest after [`RESET`]).
pub const FORGET_CHANNEL: &str = "weir:signal:forget";

/// Before the digest of a subject whose counters were reset.
pub const RESET: char = '!';

/// A counter, or the block of a subject: `weir:{tenant}:c:rule:slot:subject`, `…:b:rule:subject`.
pub fn counter(name: &CounterName) -> String {
    let mut key = String::with_capacity(128);
    let (tenant, rule) = (name.tenant.to_string(), name.rule.to_string());
    write_counter(&mut key, &tenant, &rule, name.part, name.subject);
    key
}

/// The same at the end of `keys`, with the ids as text.
pub(crate) fn write_counter(
    keys: &mut String,
    tenant: &str,
    rule: &str,
    part: CounterPart,
    subject: SubjectKey,
) {
    keys.push_str("weir:{");
    keys.push_str(tenant);
    match part {
        CounterPart::Slot(slot) => {
            keys.push_str("}:c:");
            keys.push_str(rule);
            write!(keys, ":{slot}:").expect("writing to a string cannot fail");
        }
        CounterPart::Block => {
            keys.push_str("}:b:");
            keys.push_str(rule);
            keys.push(':');
        }
    }
    hex16(keys, subject.0.to_be_bytes());
}

fn hex16(text: &mut String, bytes: [u8; 16]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// The record of an idempotency key: `weir:{tenant}:i:digest`.
pub fn idempotency(tenant: TenantId, key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    let mut text = format!("weir:{{{tenant}}}:i:");
    hex16(&mut text, std::array::from_fn(|at| digest[at]));
    text
}

#[cfg(test)]
mod tests {
    use weir_domain::id::RuleId;

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
