//! Stored rules outside of a gate: reading them, matching them with subjects, and inspecting their counters.
//!
//! The tester, what-if runs and alerts use rules through this module alone, so none of them needs a handler of another
//! resource.

mod active;
mod counters;
mod exceptions;
mod limit_answer;
mod rule_subject;
mod stored;
mod subject;

pub(crate) use active::{active_rule, spread_by};
pub(crate) use counters::{CountersError, Inspected, inspect, places, reset, window_units};
pub(crate) use exceptions::{Exceptions, plan_problems};
pub(crate) use rule_subject::{RuleSubject, SubjectLimits, limits_of};
pub(crate) use stored::{CheckedRule, UnreadableRule, slots};
pub(crate) use subject::{override_digests, subject_digest, subject_of, subject_values};
pub(crate) use weir_domain::matching::charge_of;
