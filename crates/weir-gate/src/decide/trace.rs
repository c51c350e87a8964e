//! States in the span of a request how its checks were decided.

use weir_trace::SpanDecision;
use weir_wire::check::{CheckAnswer, Degraded};

use super::pending::PendingCheck;

/// States the answers to the checks of a traced request, of which `first` is the first. A batch is allowed if all its checks are,
/// and its span has the namespace of the first.
pub(super) fn decided<'a>(
    first: &PendingCheck<'_>,
    answers: impl Iterator<Item = &'a CheckAnswer> + Clone,
) {
    let Some(span) = &first.caller.span else { return };
    let degraded = answers.clone().find_map(|answer| answer.degraded);
    let decision = SpanDecision {
        namespace: first.request.namespace(),
        allowed: answers.clone().all(|answer| answer.allowed),
        rulebook_version: first.caller.book.version(),
        degraded: degraded.map(Degraded::as_str),
    };
    span.decided(&decision, answers.flat_map(|answer| &answer.denied_by).map(AsRef::as_ref));
}
