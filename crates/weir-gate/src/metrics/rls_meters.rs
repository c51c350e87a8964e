//! The metrics of Envoy's rate limit service.

use metrics::Counter;
use tonic::Code;
use weir_domain::request::Operation;

use crate::metrics::registry::Registry;

/// The counters of the service.
pub(crate) struct RlsMeters {
    calls: [Counter; 2],
    errors: [(Code, Counter); 7],
    descriptors: [Counter; 4],
    ignored: [Counter; 4],
}

/// A part of a call that has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ignored {
    /// A call of a domain that the tenant does not have.
    Domain,
    /// Descriptors beyond the most of a call.
    Descriptors,
    /// Entries beyond the most of a descriptor.
    Entries,
    /// A limit of the caller.
    Limit,
}

impl RlsMeters {
    pub(crate) fn new(names: &Registry<'_>) -> Self {
        let call = |code| {
            let help = "Calls of the rate limit service by code: ok, over_limit, or the gRPC code of an error.";
            names.labelled("weir_rls_calls_total", help, &[("code", code)])
        };
        let descriptor = |operation| {
            let help = "Descriptors of calls of the rate limit service by operation. record: charges whose cost is known only afterwards.";
            names.labelled("weir_rls_descriptors_total", help, &[("operation", operation)])
        };
        let ignored = |what| {
            let help = "Calls and descriptors of the rate limit service that were ignored in whole or in part, by reason.";
            names.labelled("weir_rls_ignored_total", help, &[("reason", what)])
        };
        let error = |(code, word)| (code, call(word));
        Self {
            calls: ["ok", "over_limit"].map(call),
            errors: [
                (Code::Unauthenticated, "unauthenticated"),
                (Code::PermissionDenied, "permission_denied"),
                (Code::Unavailable, "unavailable"),
                (Code::FailedPrecondition, "failed_precondition"),
                (Code::InvalidArgument, "invalid_argument"),
                (Code::ResourceExhausted, "resource_exhausted"),
                (Code::DeadlineExceeded, "deadline_exceeded"),
            ]
            .map(error),
            descriptors: ["check", "peek", "refund", "record"].map(descriptor),
            ignored: ["unknown_domain", "too_many_descriptors", "too_many_entries", "caller_limit"]
                .map(ignored),
        }
    }

    /// Counts a call that was allowed or denied.
    pub(crate) fn answered(&self, allowed: bool) {
        self.calls[usize::from(!allowed)].increment(1);
    }

    /// Counts a call that ended with an error.
    pub(crate) fn failed(&self, code: Code) {
        if let Some((_, counter)) = self.errors.iter().find(|(of, _)| *of == code) {
            counter.increment(1);
        }
    }

    pub(crate) fn descriptor(&self, operation: Operation) {
        let place = match operation {
            Operation::Consume | Operation::Reserve(_) => 0,
            Operation::Peek
            | Operation::Inspect
            | Operation::Exhaust(_)
            | Operation::Renew(_)
            | Operation::Release(_) => 1,
            Operation::Refund => 2,
            Operation::Record | Operation::Commit(_) => 3,
        };
        self.descriptors[place].increment(1);
    }

    pub(crate) fn ignored(&self, what: Ignored) {
        self.ignored[what as usize].increment(1);
    }
}
