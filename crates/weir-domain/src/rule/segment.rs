//! Segments: parts of a rule's checks which the statistics count apart, each under an id of its own.

use crate::fnv::{BASIS, fnv1a};
use crate::id::RuleId;
use crate::unmatched::reserved_rule;

/// A part of the checks of a rule with variants, with classes or with a share of enforced subjects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment<'r> {
    /// The checks of subjects that have this variant.
    Variant(&'r str),
    /// The checks of subjects for which the rule is enforced.
    Enforced,
    /// The checks of subjects for which the rule only counts what it would deny.
    Shadow,
    /// The checks of a listed class.
    Class(&'r str),
    /// The checks of classes that are not listed.
    OtherClasses,
    /// The checks without a class.
    NoClass,
}

impl Segment<'_> {
    /// The id under which the statistics count the segment of a rule. No rule has it.
    pub fn id(&self, rule: RuleId) -> RuleId {
        let (kind, name) = match self {
            Self::Variant(name) => (0, *name),
            Self::Enforced => (1, ""),
            Self::Shadow => (2, ""),
            Self::Class(name) => (3, *name),
            Self::OtherClasses => (4, ""),
            Self::NoClass => (5, ""),
        };
        let hash = fnv1a(BASIS, &rule.to_u128().to_be_bytes());
        reserved_rule(fnv1a(fnv1a(hash, &[kind]), name.as_bytes()))
    }
}
