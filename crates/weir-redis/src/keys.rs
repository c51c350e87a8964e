//! Every key name in the system, one function each.
//!
//! Keys have the form `weir:{tenant}:…`. The tenant in braces puts all keys of one check into one slot of a cluster. A
//! subject is a digest and a rule is an id, so a key contains no text from a caller unhashed.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use weir_domain::id::{RuleId, TenantId};
use weir_domain::subject::SubjectKey;

/// The channel that announces changes of the rulebook.
pub const SIGNAL_CHANNEL: &str = "weir:signal:rules";

/// The channel that announces the digest of a subject to which units were refunded (the script publishes it), or, after
/// [`RESET`], of a subject whose counters were reset.
pub const INVALIDATION_CHANNEL: &str = "weir:signal:forget";

/// A key that exists as long as Redis has its data. It is the only key without an expiry.
pub(crate) const MARKER: &str = "weir:marker";

/// The character before the digest of a subject whose counters were reset.
pub const RESET: char = '!';

/// A subject hash: the counters of one subject, `weir:{tenant}:s:subject`, the same for all rules that count this subject.
pub(crate) fn counter_hash(keys: &mut String, tenant: &str, subject: SubjectKey) {
    prefix(keys, tenant, "s");
    hex16(keys, subject.0.to_be_bytes());
}

/// The log of a limit: `weir:{tenant}:l:rule:slot:subject`.
pub(crate) fn log(keys: &mut String, tenant: &str, rule: &str, slot: u16, subject: SubjectKey) {
    prefix(keys, tenant, "l");
    write!(keys, "{rule}:{slot}:").expect("writing to a string cannot fail");
    hex16(keys, subject.0.to_be_bytes());
}

/// The block of a subject: `weir:{tenant}:b:rule:subject`.
pub(crate) fn block(keys: &mut String, tenant: &str, rule: &str, subject: SubjectKey) {
    prefix(keys, tenant, "b");
    keys.push_str(rule);
    keys.push(':');
    hex16(keys, subject.0.to_be_bytes());
}

/// The name of a limit's counter in a subject hash: the 80 random bits of the rule's id, and the slot.
pub(crate) fn counter(rule: RuleId, slot: u16) -> [u8; 12] {
    let name = rule.to_u128() << 16 | u128::from(slot);
    *name.to_be_bytes().last_chunk().expect("16 bytes have a last 12")
}

fn prefix(keys: &mut String, tenant: &str, kind: &str) {
    keys.push_str("weir:{");
    keys.push_str(tenant);
    keys.push_str("}:");
    keys.push_str(kind);
    keys.push(':');
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

/// A budget of attempts (`attempts`): `weir:{attempts}:name`. One hash tag, so that one script can charge several.
pub(crate) fn attempts(name: [u8; 16]) -> String {
    let mut text = "weir:{attempts}:".to_owned();
    hex16(&mut text, name);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(write: impl FnOnce(&mut String)) -> String {
        let mut key = String::new();
        write(&mut key);
        key
    }

    #[test]
    fn names_are_stable_and_share_the_tenants_slot() {
        let counter_hash = key(|name| counter_hash(name, "tenant_1", SubjectKey(4)));
        assert_eq!(counter_hash, "weir:{tenant_1}:s:00000000000000000000000000000004");
        let log = key(|name| log(name, "tenant_1", "rule_2", 3, SubjectKey(4)));
        assert_eq!(log, "weir:{tenant_1}:l:rule_2:3:00000000000000000000000000000004");
        let block = key(|name| block(name, "tenant_1", "rule_2", SubjectKey(4)));
        assert_eq!(block, "weir:{tenant_1}:b:rule_2:00000000000000000000000000000004");
        let record = idempotency(TenantId::from_u128(1), "}{\r\n*");
        assert!(record.starts_with("weir:{tenant_00000000000000000000000001}:i:"), "{record}");
        assert_eq!(record.len(), 43 + 32, "{record}");
    }

    #[test]
    fn each_random_bit_of_a_rules_id_and_each_of_the_slot_distinguishes_counters() {
        let id = RuleId::from_u128;
        let ids = (0..80).map(|bit| counter(id(1 << bit), 0));
        let slots = (0..16).map(|bit| counter(id(0), 1 << bit));
        let all: std::collections::HashSet<_> = ids.chain(slots).collect();
        assert_eq!(all.len(), 96);
    }
}
