//! The error envelope of both APIs (`application/problem+json`) and the closed list of its codes.
//!
//! Clients switch on `code`; the status follows from the code by the one table here, so the same code never
//! comes with two statuses. Everything that can go wrong in a handler ends up as one of these codes.

use serde::{Deserialize, Serialize};

/// The body of every answer with a status of 400 or above, except a decision of 429.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProblemBody {
    /// A stable name of the kind of problem, as a URI.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schema(example = "urn:weir:problem:not_found"))]
    pub kind: String,
    /// The kind of problem in words; always the same for the same code.
    pub title: String,
    /// The status of the answer, repeated.
    pub status: u16,
    /// A description of this problem, for people.
    pub detail: String,
    /// The code of the problem, for programs.
    pub code: ErrorCode,
    /// The id of the request in the log; also in the header `X-Request-Id`.
    pub request_id: String,
    /// The refused fields, if the problem is one of fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldProblem>,
}

/// One refused field of a body or a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldProblem {
    /// The path of the field: names joined by dots, positions in brackets, such as `limits[0].window_ms`.
    pub field: String,
    /// The reason why it was refused.
    pub reason: String,
}

impl FieldProblem {
    /// The problems of fields that the domain refused.
    pub fn list(invalid: Vec<weir_domain::names::InvalidField>) -> Vec<Self> {
        invalid
            .into_iter()
            .map(|problem| Self { field: problem.field, reason: problem.reason })
            .collect()
    }

    /// The problem of one field.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

/// All codes. A new kind of failure needs a new row here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The body is not JSON, or the request makes no sense as HTTP.
    Malformed,
    /// There are no valid credentials.
    Unauthenticated,
    /// The password is right, and the account requires a code of its second factor.
    SecondFactor,
    /// The caller has no permission.
    Forbidden,
    /// The object does not exist, or belongs to another tenant.
    NotFound,
    /// The path does not have this method.
    MethodNotAllowed,
    /// The body took too long to arrive.
    BodyTimeout,
    /// The request contradicts the stored state.
    Conflict,
    /// The name is already in use.
    NameTaken,
    /// The version of `If-Match` is no longer the present one.
    Stale,
    /// The body is larger than this operation takes.
    BodyTooLarge,
    /// The body is not `application/json`.
    UnsupportedMediaType,
    /// A field is outside its bounds; `fields` lists the fields.
    Invalid,
    /// `If-Match` is missing.
    PreconditionRequired,
    /// The client sends too many requests; `Retry-After` states the wait.
    TooManyRequests,
    /// The request line and the headers exceed their bounds.
    HeadersTooLarge,
    /// A bug of Weir.
    Internal,
    /// A required part is unavailable; `Retry-After` states the wait.
    Unavailable,
}

impl ErrorCode {
    /// All codes, in the order of their statuses.
    pub const ALL: [Self; 18] = [
        Self::Malformed,
        Self::Unauthenticated,
        Self::SecondFactor,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::BodyTimeout,
        Self::Conflict,
        Self::NameTaken,
        Self::Stale,
        Self::BodyTooLarge,
        Self::UnsupportedMediaType,
        Self::Invalid,
        Self::PreconditionRequired,
        Self::TooManyRequests,
        Self::HeadersTooLarge,
        Self::Internal,
        Self::Unavailable,
    ];

    /// The status of answers with this code.
    pub const fn status(self) -> u16 {
        self.row().0
    }

    /// The code in JSON.
    pub const fn as_str(self) -> &'static str {
        self.row().1
    }

    /// The kind of problem in words.
    pub const fn title(self) -> &'static str {
        self.row().2
    }

    /// The stable name of the kind of problem, as a URI.
    pub fn urn(self) -> String {
        format!("urn:weir:problem:{}", self.as_str())
    }

    const fn row(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::Malformed => (400, "malformed", "Malformed request"),
            Self::Unauthenticated => (401, "unauthenticated", "Not authenticated"),
            Self::SecondFactor => (401, "second_factor", "A code is required"),
            Self::Forbidden => (403, "forbidden", "Not permitted"),
            Self::NotFound => (404, "not_found", "Not found"),
            Self::MethodNotAllowed => (405, "method_not_allowed", "Method not allowed"),
            Self::BodyTimeout => (408, "body_timeout", "Request timed out"),
            Self::Conflict => (409, "conflict", "Conflict with stored data"),
            Self::NameTaken => (409, "name_taken", "The name is in use"),
            Self::Stale => (412, "stale", "Someone else changed this while you were editing"),
            Self::BodyTooLarge => (413, "body_too_large", "The body is too large"),
            Self::UnsupportedMediaType => {
                (415, "unsupported_media_type", "The body must be application/json")
            }
            Self::Invalid => (422, "invalid", "Outside the bounds"),
            Self::PreconditionRequired => (428, "precondition_required", "If-Match is missing"),
            Self::TooManyRequests => (429, "too_many_requests", "Too many requests"),
            Self::HeadersTooLarge => (431, "headers_too_large", "The headers are too large"),
            Self::Internal => (500, "internal", "Internal error"),
            Self::Unavailable => (503, "unavailable", "Temporarily unavailable"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_written_as_they_serialise_and_in_order_of_status() {
        for code in ErrorCode::ALL {
            let json = serde_json::to_string(&code).expect("a unit variant");
            assert_eq!(json, format!("\"{}\"", code.as_str()));
        }
        assert!(ErrorCode::ALL.is_sorted_by_key(|code| code.status()));
    }
}
