//! Checks that no rule counted, and the ids under which the statistics count them, like decisions of rules.

use crate::fnv::{BASIS, fnv1a};
use crate::id::RuleId;

/// The reason why no rule counted a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmatched<'a> {
    /// The namespace has no rules.
    Namespace,
    /// The request lacks this attribute, by which a rule counts whose conditions hold.
    Attribute(&'a str),
    /// The conditions of no rule hold.
    Conditions,
}

/// The id that counts the checks in namespaces with rules that no rule counted.
pub const UNMATCHED_RULE: RuleId = RuleId::from_u128(u128::MAX - 1);
/// The id that counts the checks in namespaces without rules, by the name that the check gave.
pub const UNKNOWN_NAMESPACE_RULE: RuleId = RuleId::from_u128(u128::MAX - 2);
/// The least of the ids that no rule has.
pub const RESERVED_RULES: RuleId = RuleId::from_u128(RESERVED);

/// Ids begin with a time, and this one is in the year 10889.
const RESERVED: u128 = (u64::MAX as u128) << 64;

/// The id that counts the checks that no rule counted because this attribute was missing.
pub fn missing_attribute_rule(attribute: &str) -> RuleId {
    reserved_rule(fnv1a(BASIS, attribute.as_bytes()))
}

/// The id that no rule has and that this hash chooses; none of the constants above.
pub(crate) fn reserved_rule(hash: u64) -> RuleId {
    RuleId::from_u128(RESERVED | u128::from(hash >> 1))
}

/// Whether an id counts something else than the decisions of a rule.
pub fn is_reserved(id: RuleId) -> bool {
    id.to_u128() >= RESERVED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceilings::TENANT_RATE_RULE;
    use crate::rule::Segment;

    #[test]
    fn ids_differ_and_are_no_ids_of_rules() {
        let ids = [
            TENANT_RATE_RULE,
            UNMATCHED_RULE,
            UNKNOWN_NAMESPACE_RULE,
            missing_attribute_rule("user"),
            missing_attribute_rule("ip"),
            Segment::Variant("a").id(UNMATCHED_RULE),
            Segment::Variant("b").id(UNMATCHED_RULE),
            Segment::Class("a").id(UNMATCHED_RULE),
            Segment::Variant("a").id(TENANT_RATE_RULE),
        ];
        for (at, id) in ids.iter().enumerate() {
            assert!(is_reserved(*id) && !ids[..at].contains(id), "{id}");
        }
        let year_2500 = crate::time::Timestamp::from_millis(16_725_225_600_000);
        assert!(!is_reserved(RuleId::new(year_2500, u128::MAX)));
    }
}
