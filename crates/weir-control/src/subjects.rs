//! Subjects: the counters of one subject across all rules, and temporary overrides for it.

pub(crate) mod block;
mod history;
pub(crate) mod inspect;
pub(crate) mod raise;
mod temporary;
