//! The problems that every operation about checks can return, for the OpenAPI document.

use utoipa::IntoResponses;
use weir_wire::problem::ProblemBody;

/// The problems by status.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only described: the answers are problems")]
pub(crate) enum Refusals {
    /// Not JSON
    #[response(status = 400, content_type = "application/problem+json")]
    NotJson(ProblemBody),
    /// No valid key
    #[response(status = 401, content_type = "application/problem+json")]
    NoValidKey(ProblemBody),
    /// The key lacks the scope `check`
    #[response(status = 403, content_type = "application/problem+json")]
    NoScope(ProblemBody),
    /// The body did not arrive in ten seconds
    #[response(status = 408, content_type = "application/problem+json")]
    TooSlow(ProblemBody),
    /// Over 64 KiB
    #[response(status = 413, content_type = "application/problem+json")]
    TooLarge(ProblemBody),
    /// Not `application/json`
    #[response(status = 415, content_type = "application/problem+json")]
    NotSaidToBeJson(ProblemBody),
    /// Outside the bounds; nothing was taken
    #[response(status = 422, content_type = "application/problem+json")]
    OutsideBounds(ProblemBody),
    /// No rulebook has been loaded
    #[response(status = 503, content_type = "application/problem+json")]
    NoRulebook(ProblemBody),
}
