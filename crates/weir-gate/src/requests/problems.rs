//! The problems of requests that the decision pipeline refused.

use weir_domain::matching::LIMITS_PER_CHECK_MAX;
use weir_http::problem::Problem;
use weir_wire::problem::FieldProblem;

use crate::decide::Refused;

/// The problem of a refused request. The fields are those of too many limits and of a reused key.
pub(crate) fn refused(refused: &Refused, limits: &str, key: &str) -> Problem {
    match refused {
        Refused::TooManyLimits => Problem::invalid(vec![too_many_limits(limits)]),
        Refused::Split => Problem::invalid_field(
            "namespace",
            "has counters at several places: all rules that match a reservation must have one `reach`, and count by the attributes of `spread_by`",
        ),
        Refused::KeyReused => key_reused(key),
        Refused::NotOpen => Problem::not_found(),
    }
}

/// The problem of a namespace with rules of too many limits.
pub(crate) fn too_many_limits(field: &str) -> FieldProblem {
    let reason = format!(
        "has rules that match this request with more than {LIMITS_PER_CHECK_MAX} limits, the most that one check can match"
    );
    FieldProblem::new(field, reason)
}

/// The problem of an idempotency key that was used for another request.
pub(crate) fn key_reused(field: &str) -> Problem {
    Problem::invalid_field(field, "was used for another request within the last 60 seconds")
}
