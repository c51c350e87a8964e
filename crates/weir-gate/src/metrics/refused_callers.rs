//! Counts of callers that were refused, by interface and reason.
//!
//! A proxy that lets requests pass while Weir refuses it enforces no limit. Its tenant is unknown, so only metrics show it.

use metrics::Counter;
use weir_wire::problem::ErrorCode;

use crate::metrics::registry::Registry;

/// An interface of the gate that has callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interface {
    /// `/check`, `/check/batch`, `/record` and `/refund`.
    Check,
    /// `/authorize/{profile}`.
    Authorize,
    /// Envoy's rate limit service.
    RateLimitService,
}

/// One counter for each interface and reason.
pub(crate) struct RefusedCallers(Vec<(Interface, ErrorCode, Counter)>);

const INTERFACES: [(Interface, &str); 3] = [
    (Interface::Check, "check"),
    (Interface::Authorize, "authorize"),
    (Interface::RateLimitService, "rls"),
];
const REASONS: [ErrorCode; 3] =
    [ErrorCode::Unauthenticated, ErrorCode::Forbidden, ErrorCode::Unavailable];
const NAME: &str = "weir_refused_callers_total";
const HELP: &str = "Requests that were refused because of their key or because the gate has no \
                    rulebook to check it, by interface and reason.";

impl RefusedCallers {
    pub(crate) fn new(names: &Registry<'_>) -> Self {
        let counters = INTERFACES.iter().flat_map(|&(interface, word)| {
            REASONS.map(|reason| {
                let labels = [("interface", word), ("reason", reason.as_str())];
                (interface, reason, names.labelled(NAME, HELP, &labels))
            })
        });
        Self(counters.collect())
    }

    /// Counts a caller that was refused with this code. Other codes are no reasons to refuse a caller.
    pub(crate) fn count(&self, interface: Interface, code: ErrorCode) {
        let found = self.0.iter().find(|(own, reason, _)| *own == interface && *reason == code);
        if let Some((_, _, counter)) = found {
            counter.increment(1);
        }
    }
}
