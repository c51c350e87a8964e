//! Trying a request against the rules, and letting a subject start again.

pub(crate) mod inspect;
pub(crate) mod matched_rule;
pub(crate) mod reset;
pub(crate) mod test;
