//! How the requests of a service are limited.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use serde_json::json;

use crate::answer::{Answer, Degraded};
use crate::options::WrongOption;
use crate::request::{Attributes, CheckRequest, safe_attributes};

type AttributesOf<B> =
    Arc<dyn Fn(&Request<B>) -> Result<Option<Attributes>, WrongOption> + Send + Sync>;
type CostOf<B> = Arc<dyn Fn(&Request<B>) -> u64 + Send + Sync>;
type RefundWhen = Arc<dyn Fn(StatusCode) -> bool + Send + Sync>;
type SkipIf<B> = Arc<dyn Fn(&Request<B>) -> bool + Send + Sync>;
type OnRefused<B> = Arc<dyn Fn(&Request<B>, &Answer) -> Response<Vec<u8>> + Send + Sync>;
type OnDecision = Arc<dyn Fn(&Answer, Duration) + Send + Sync>;
pub(crate) type OnFailure = Arc<dyn Fn(&dyn std::error::Error) + Send + Sync>;

/// How the requests of a service are limited.
pub struct Limits<B> {
    namespace: String,
    attributes: AttributesOf<B>,
    cost: Option<CostOf<B>>,
    skip: Option<SkipIf<B>>,
    on_refused: Option<OnRefused<B>>,
    pub(crate) with_headers: bool,
    pub(crate) on_decision: OnDecision,
    pub(crate) refund_when: Option<RefundWhen>,
    pub(crate) on_refund_error: OnFailure,
    pub(crate) on_check_error: OnFailure,
}

impl<B> Limits<B> {
    /// By the rules of a namespace. `attributes` returns the names and values by which they test and count; `None` passes the request
    /// unlimited. Values that a gate would refuse, because they are longer than 512 bytes or contain control characters, are replaced
    /// by their SHA-256.
    pub fn new(
        namespace: impl Into<String>,
        attributes: impl Fn(&Request<B>) -> Result<Option<Attributes>, WrongOption>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            namespace: namespace.into(),
            attributes: Arc::new(attributes),
            cost: None,
            skip: None,
            on_refused: None,
            with_headers: true,
            on_decision: Arc::new(|_, _| {}),
            refund_when: None,
            on_refund_error: Arc::new(|_| {}),
            on_check_error: Arc::new(|_| {}),
        }
    }

    /// The number of units of a request; 1 if not given.
    #[must_use]
    pub fn cost(mut self, cost: impl Fn(&Request<B>) -> u64 + Send + Sync + 'static) -> Self {
        self.cost = Some(Arc::new(cost));
        self
    }

    /// Passes the requests for which this is true without a check.
    #[must_use]
    pub fn skip(mut self, skip: impl Fn(&Request<B>) -> bool + Send + Sync + 'static) -> Self {
        self.skip = Some(Arc::new(skip));
        self
    }

    /// The response to a refused request, to which the headers of the limits are added. Without it, the response is a problem document
    /// with the status 429, or 503 if [`crate::OnError`] denied.
    #[must_use]
    pub fn on_refused(
        mut self,
        respond: impl Fn(&Request<B>, &Answer) -> Response<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        self.on_refused = Some(Arc::new(respond));
        self
    }

    /// Whether responses have `RateLimit`, `RateLimit-Policy` and `X-RateLimit-*`; they have if not given. A refusal has `Retry-After`
    /// either way.
    #[must_use]
    pub fn headers(mut self, with_headers: bool) -> Self {
        self.with_headers = with_headers;
        self
    }

    /// Called with each answer and the time that it took: for metrics.
    #[must_use]
    pub fn on_decision(mut self, call: impl Fn(&Answer, Duration) + Send + Sync + 'static) -> Self {
        self.on_decision = Arc::new(call);
        self
    }

    /// Returns the units after a response with such a status: `|status| status.is_success()` counts failed sign-ins only.
    #[must_use]
    pub fn refund_when(
        mut self,
        refund_when: impl Fn(StatusCode) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.refund_when = Some(Arc::new(refund_when));
        self
    }

    /// Called if the units could not be returned, or a lease could not be renewed or released.
    #[must_use]
    pub fn on_refund_error(
        mut self,
        call: impl Fn(&dyn std::error::Error) + Send + Sync + 'static,
    ) -> Self {
        self.on_refund_error = Arc::new(call);
        self
    }

    /// Called if there are no attributes or the gate refuses the check itself. The response is 500.
    #[must_use]
    pub fn on_check_error(
        mut self,
        call: impl Fn(&dyn std::error::Error) + Send + Sync + 'static,
    ) -> Self {
        self.on_check_error = Arc::new(call);
        self
    }

    /// The check of a request; `None` if it passes without one.
    pub(crate) fn check(&self, request: &Request<B>) -> Result<Option<CheckRequest>, WrongOption> {
        if self.skip.as_ref().is_some_and(|skip| skip(request)) {
            return Ok(None);
        }
        let Some(attributes) = (self.attributes)(request)? else { return Ok(None) };
        let check = CheckRequest::new(&self.namespace).attributes(safe_attributes(attributes));
        Ok(Some(match &self.cost {
            Some(cost) => check.cost(cost(request)),
            None => check,
        }))
    }

    /// The response to a refused request, without the headers of the limits.
    pub(crate) fn refusal(&self, request: &Request<B>, answer: &Answer) -> Response<Vec<u8>> {
        let mut response = match &self.on_refused {
            Some(respond) => respond(request, answer),
            None => refusal(answer),
        };
        response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        response
    }
}

impl<B> Clone for Limits<B> {
    fn clone(&self) -> Self {
        Self {
            namespace: self.namespace.clone(),
            attributes: Arc::clone(&self.attributes),
            cost: self.cost.clone(),
            skip: self.skip.clone(),
            on_refused: self.on_refused.clone(),
            with_headers: self.with_headers,
            on_decision: Arc::clone(&self.on_decision),
            refund_when: self.refund_when.clone(),
            on_refund_error: Arc::clone(&self.on_refund_error),
            on_check_error: Arc::clone(&self.on_check_error),
        }
    }
}

impl<B> fmt::Debug for Limits<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limits").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

/// 429 for a denial. 503 if `OnError` denied: the request is not at fault.
fn refusal(answer: &Answer) -> Response<Vec<u8>> {
    let (status, code) = if answer.degraded == Some(Degraded::Client) {
        (StatusCode::SERVICE_UNAVAILABLE, "rate_limit_unavailable")
    } else {
        (StatusCode::TOO_MANY_REQUESTS, "rate_limited")
    };
    problem(status, code, answer.retry_after_ms)
}

/// 500: the program must send another check.
pub(crate) fn mistake(
    on_check_error: &OnFailure,
    error: &dyn std::error::Error,
) -> Response<Vec<u8>> {
    on_check_error(error);
    problem(StatusCode::INTERNAL_SERVER_ERROR, "internal", None)
}

fn problem(status: StatusCode, code: &str, retry_after_ms: Option<u64>) -> Response<Vec<u8>> {
    let title = status.canonical_reason();
    let body = json!({ "type": "about:blank", "title": title, "status": status.as_u16(), "code": code, "retry_after_ms": retry_after_ms });
    let mut response = Response::new(body.to_string().into_bytes());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
