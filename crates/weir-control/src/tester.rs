//! Tests a request against the rules, and resets the counters of a subject.

pub(crate) mod inspect;
pub(crate) mod matched_rule;
pub(crate) mod reset;
pub(crate) mod test;
