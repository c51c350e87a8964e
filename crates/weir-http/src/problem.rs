//! A failed request as an answer: `application/problem+json`.
//!
//! Handlers return a `Problem`; [`crate::plane::Plane`] puts the request id into the body and logs internal errors, once,
//! with their causes.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use weir_wire::problem::{ErrorCode, FieldProblem, ProblemBody};

/// The reason why a request was not served, with a constructor for each common kind.
#[derive(Debug, Clone)]
pub struct Problem {
    code: ErrorCode,
    detail: Cow<'static, str>,
    fields: Vec<FieldProblem>,
    retry_after_s: Option<u32>,
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl Problem {
    /// A problem of this kind, with a sentence for people.
    pub fn new(code: ErrorCode, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { code, detail: detail.into(), fields: Vec::new(), retry_after_s: None, cause: None }
    }

    /// A body or query that is valid JSON or a valid query, but has these fields outside the bounds.
    pub fn invalid(fields: Vec<FieldProblem>) -> Self {
        let detail: String = match fields.as_slice() {
            [one] => format!("{}: {}", one.field, one.reason),
            _ => format!("{} fields are outside the bounds", fields.len()),
        };
        Self { fields, ..Self::new(ErrorCode::Invalid, detail) }
    }

    /// One field outside the bounds.
    pub fn invalid_field(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::invalid(vec![FieldProblem::new(field, reason)])
    }

    /// The problem of a part of a body, as one of the body. Fields get the path of the part. A refusal without fields becomes
    /// one of the part.
    #[must_use]
    pub fn below(mut self, path: &str) -> Self {
        if matches!(self.code, ErrorCode::Internal | ErrorCode::Unavailable) {
            return self;
        }
        for field in &mut self.fields {
            field.field = format!("{path}.{}", field.field);
        }
        if self.fields.is_empty() {
            self.fields.push(FieldProblem::new(path, self.detail.clone()));
        }
        let Some(first) = self.fields.first() else { return self };
        self.detail = format!("{}: {}", first.field, first.reason).into();
        self
    }

    /// Missing or invalid credentials. The text is always the same, so it reveals nothing.
    pub fn unauthenticated() -> Self {
        Self::new(ErrorCode::Unauthenticated, "send valid credentials as `Authorization: Bearer …`")
    }

    /// A caller that is authenticated but not permitted.
    pub fn forbidden(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::Forbidden, detail)
    }

    /// An object that is absent or belongs to another tenant. The text is always the same, so it reveals nothing.
    pub fn not_found() -> Self {
        Self::new(ErrorCode::NotFound, "this does not exist, or you have no access to it")
    }

    /// An internal error. The cause is logged, never shown.
    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let detail = "this was our mistake; name the request id when you report it";
        Self::new(ErrorCode::Internal, detail).caused_by(cause)
    }

    /// A dependency is unavailable.
    pub fn unavailable(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::Unavailable, detail).retry_after_s(1)
    }

    /// Sets the time after which to retry.
    #[must_use]
    pub fn retry_after_s(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Sets the cause, which is only logged.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(Arc::from(cause.into()));
        self
    }

    /// The kind of problem.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The body as it is sent.
    pub fn body(&self, request_id: &str) -> ProblemBody {
        ProblemBody {
            kind: self.code.urn(),
            title: self.code.title().to_owned(),
            status: self.code.status(),
            detail: self.detail.clone().into_owned(),
            code: self.code,
            request_id: request_id.to_owned(),
            fields: self.fields.clone(),
        }
    }

    /// The causes, joined with the outermost first, if there are any.
    pub fn cause_chain(&self) -> Option<String> {
        let mut cause: &dyn Error = self.cause.as_deref()?;
        let mut chain = cause.to_string();
        while let Some(next) = cause.source() {
            chain.push_str(": ");
            chain.push_str(&next.to_string());
            cause = next;
        }
        Some(chain)
    }

    /// The body as bytes, for the layer that knows the request id.
    pub(crate) fn rendered(&self, request_id: &str) -> Body {
        let body = self.body(request_id);
        Body::from(serde_json::to_vec(&body).expect("a body of texts and numbers serialises"))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(self.rendered(""));
        *response.status_mut() =
            StatusCode::from_u16(self.code.status()).expect("the table holds valid statuses");
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if matches!(self.code, ErrorCode::BodyTooLarge | ErrorCode::BodyTimeout) {
            // The rest of the body was not read, so the connection cannot carry another request.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if self.code == ErrorCode::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(self);
        response
    }
}
