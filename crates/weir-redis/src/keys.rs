//! Every key name in the system, one function each.
//!
//! Keys have the form `weir:{tag}:tenant:namespace:…`. The tag puts all keys of one check into one slot of a cluster
//! (`placement`). A subject is a digest and a rule is an id, so a key contains no text from a caller unhashed.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use weir_domain::id::RuleId;
use weir_domain::subject::SubjectKey;

use crate::placement::{Bucket, Owner};

/// The channel that announces changes of the rulebook.
pub const SIGNAL_CHANNEL: &str = "weir:signal:rules";

/// The channel that announces the digest of a subject to which units were refunded (the script publishes it), or a subject
/// whose counters were reset ([`reset_message`]).
pub const INVALIDATION_CHANNEL: &str = "weir:signal:forget";

/// A key that exists as long as Redis has its data. It and those of [`marker_of`] are the only keys without an expiry.
pub(crate) const MARKER: &str = "weir:marker";

/// The same for a primary of a cluster, in its first bucket: `weir:{tag}:marker`.
pub(crate) fn marker_of(bucket: Bucket) -> String {
    format!("weir:{{{}}}:marker", bucket.tag())
}

/// The part of the names of a tenant's deferred jobs where others have the namespace. No namespace has this name.
const DEFERRED: &str = "-";

/// A part of the queue of a tenant's deferred jobs: `weir:{tag}:tenant:-:part`.
pub(crate) fn deferred(bucket: Bucket, tenant: &str, part: &str) -> String {
    format!("weir:{{{}}}:{tenant}:{DEFERRED}:{part}", bucket.tag())
}

/// The tenants with deferred jobs whose queues have this hash tag: `weir:{tag}:deferred`.
pub(crate) fn deferring_tenants(bucket: Bucket) -> String {
    format!("weir:{{{}}}:deferred", bucket.tag())
}

/// The hash tag of the budgets of attempts. One tag, so that one script can charge several.
pub(crate) const ATTEMPTS: &str = "attempts";

/// The first character of [`reset_message`].
pub(crate) const RESET: char = '!';

/// The message that announces a reset, `!tenant:subject`. Other tenants have subjects with the same digest.
pub(crate) fn reset_message(tenant: &str, subject: SubjectKey) -> String {
    format!("{RESET}{tenant}:{}", subject.to_hex())
}

/// A subject hash: the counters and blocks of one subject, `weir:{tag}:tenant:namespace:s:subject`, the same for all rules of
/// the namespace that count this subject.
pub(crate) fn counter_hash(keys: &mut String, owner: Owner<'_>, subject: SubjectKey) {
    prefix(keys, owner, "s");
    hex16(keys, subject.0.to_be_bytes());
}

/// The open reservations of one subject: `weir:{tag}:tenant:namespace:r:subject`. The script derives it from the name of the
/// subject hash.
pub(crate) fn reservations(keys: &mut String, owner: Owner<'_>, subject: SubjectKey) {
    prefix(keys, owner, "r");
    hex16(keys, subject.0.to_be_bytes());
}

/// A limit with a key of its own, which is a log or holds leases: `weir:{tag}:tenant:namespace:l:rule:slot:subject`.
pub(crate) fn limit(
    keys: &mut String,
    owner: Owner<'_>,
    rule: &str,
    slot: u16,
    subject: SubjectKey,
) {
    prefix(keys, owner, "l");
    write!(keys, "{rule}:{slot}:").expect("writing to a string cannot fail");
    hex16(keys, subject.0.to_be_bytes());
}

/// The record of an idempotency key: `weir:{tag}:tenant:namespace:i:digest`.
pub(crate) fn idempotency(keys: &mut String, owner: Owner<'_>, key: &str) {
    let digest = Sha256::digest(key.as_bytes());
    prefix(keys, owner, "i");
    hex16(keys, std::array::from_fn(|at| digest[at]));
}

/// The slot of a rule's block. No limit has it.
pub(crate) const BLOCK_SLOT: u16 = u16::MAX;

/// The name of a limit's counter in a subject hash: the 80 random bits of the rule's id, and the slot.
pub(crate) fn counter(rule: RuleId, slot: u16) -> [u8; 12] {
    let name = rule.to_u128() << 16 | u128::from(slot);
    *name.to_be_bytes().last_chunk().expect("16 bytes have a last 12")
}

fn prefix(keys: &mut String, owner: Owner<'_>, kind: &str) {
    let Owner { bucket, tenant, namespace } = owner;
    for part in ["weir:{", bucket.tag(), "}:", tenant, ":", namespace, ":", kind, ":"] {
        keys.push_str(part);
    }
}

fn hex16(text: &mut String, bytes: [u8; 16]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// A budget of attempts (`attempts`): `weir:{attempts}:name`.
pub(crate) fn attempts(name: [u8; 16]) -> String {
    let mut text = format!("weir:{{{ATTEMPTS}}}:");
    hex16(&mut text, name);
    text
}

#[cfg(test)]
mod tests {
    use weir_domain::id::TenantId;
    use weir_domain::spread::SpreadKey;

    use super::*;

    fn key(write: impl FnOnce(&mut String)) -> String {
        let mut key = String::new();
        write(&mut key);
        key
    }

    #[test]
    fn names_are_stable_and_share_the_tag_of_the_namespace() {
        let tenant = TenantId::from_u128(1);
        let bucket = Bucket::of(tenant, "api", SpreadKey::NONE);
        let owner = Owner { bucket, tenant: "tenant_1", namespace: "api" };
        let begin = format!("weir:{{{}}}:tenant_1:api:", bucket.tag());
        let counter_hash = key(|name| counter_hash(name, owner, SubjectKey(4)));
        assert_eq!(counter_hash, format!("{begin}s:00000000000000000000000000000004"));
        let log = key(|name| limit(name, owner, "rule_2", 3, SubjectKey(4)));
        assert_eq!(log, format!("{begin}l:rule_2:3:00000000000000000000000000000004"));
        let open = key(|name| reservations(name, owner, SubjectKey(4)));
        assert_eq!(open, format!("{begin}r:00000000000000000000000000000004"));
        let record = key(|name| idempotency(name, owner, "}{\r\n*"));
        let digest = record.strip_prefix(&format!("{begin}i:")).expect("the same tag");
        assert!(digest.len() == 32 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
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
