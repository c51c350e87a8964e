//! The reasons why Weir did not decide a proxy's request. The answer is 503: every other status would be passed on to the
//! client as a denial.

use std::borrow::Cow;

use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use weir_domain::matching::LIMITS_PER_CHECK_MAX;
use weir_domain::profile::Reads;
use weir_http::problem::Problem;
use weir_wire::problem::ErrorCode;

/// The header that names the reason.
const ERROR_HEADER: HeaderName = HeaderName::from_static("x-weir-error");

/// A reason.
#[derive(Debug)]
pub(crate) struct AuthorizeError {
    /// The name of the reason, one of [`AUTHORIZE_ERRORS`].
    pub(crate) word: &'static str,
    detail: Cow<'static, str>,
}

impl AuthorizeError {
    /// The tenant has no profile with this name.
    pub(crate) fn unknown_profile(name: &str) -> Self {
        let shown: String = name.chars().take(64).collect();
        let detail =
            format!("there is no profile `{}` that this gate can read", shown.escape_debug());
        Self { word: UNKNOWN_PROFILE, detail: detail.into() }
    }

    /// The proxy does not send a header of the profile's family.
    pub(crate) fn missing_header(name: &str, reads: Reads) -> Self {
        let detail =
            format!("the profile reads `{}`, but the proxy sends no `{name}`", reads.as_str());
        Self { word: MISSING_HEADER, detail: detail.into() }
    }

    /// The request matches more limits than a check can have.
    pub(crate) fn too_many_limits() -> Self {
        let detail = format!("the request matches more than {LIMITS_PER_CHECK_MAX} limits");
        Self { word: TOO_MANY_LIMITS, detail: detail.into() }
    }
}

/// The names of all reasons.
pub(crate) const AUTHORIZE_ERRORS: [&str; 6] = [
    ErrorCode::Unauthenticated.as_str(),
    ErrorCode::Forbidden.as_str(),
    ErrorCode::Unavailable.as_str(),
    UNKNOWN_PROFILE,
    MISSING_HEADER,
    TOO_MANY_LIMITS,
];

const UNKNOWN_PROFILE: &str = "unknown_profile";
const MISSING_HEADER: &str = "missing_header";
const TOO_MANY_LIMITS: &str = "too_many_limits";

impl From<Problem> for AuthorizeError {
    fn from(problem: Problem) -> Self {
        let detail = match problem.code() {
            ErrorCode::Unauthenticated => "send a key of Weir as `X-Weir-Key`".into(),
            _ => problem.body("").detail.into(),
        };
        Self { word: problem.code().as_str(), detail }
    }
}

impl IntoResponse for AuthorizeError {
    fn into_response(self) -> Response {
        let mut response = Problem::unavailable(self.detail).into_response();
        response.headers_mut().insert(ERROR_HEADER, HeaderValue::from_static(self.word));
        response
    }
}
