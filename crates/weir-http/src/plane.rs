//! A plane: a router with request ids, a deadline, the handling of panics, security headers and one log line for each
//! request.
//!
//! Problems get their request id here, and internal errors are logged here, once, with their causes. The plane calls the
//! router and is no layer of it: a layer would be cloned, boxed and dropped for each request.

use std::any::Any;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http_body_util::BodyExt as _;
use tokio_util::sync::CancellationToken;
use tower::Service;
use weir_wire::problem::ErrorCode;

use crate::exposition;
use crate::failure_log::FailureLog;
use crate::problem::Problem;
use crate::request_id::{RequestId, RequestIds};
use crate::serve::meters::ListenerMeters;

/// The settings of a plane.
#[derive(Debug, Clone)]
pub struct PlaneSettings {
    /// The source of request ids.
    pub request_ids: RequestIds,
    /// The longest time for a request, body included; beyond it the answer is 503. `None` if everything that the routes
    /// wait for has its own deadline: the timer alone uses 2 % of a gate's time.
    pub request_deadline: Option<Duration>,
}

/// A router with its settings.
#[derive(Debug, Clone)]
pub struct Plane {
    router: Router,
    settings: PlaneSettings,
    surface: Surface,
    audience: Audience,
    leaving: CancellationToken,
    meters: Vec<(&'static str, Arc<ListenerMeters>)>,
    failures: Arc<FailureLog>,
}

/// The paths of its router that a plane serves; the others are 404.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// All paths.
    Everything,
    /// All paths except `/metrics`, `/openapi.json` and `/docs`, for a public address.
    WithoutOperations,
    /// These three paths, `/healthz` and `/readyz`.
    OperationsOnly,
}

/// The programs that read the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// Browsers that show pages.
    Any,
    /// Programs, which show no pages: a short policy permits nothing.
    Programs,
    /// No browser, so headers that only browsers obey are left out.
    Proxies,
}

impl Surface {
    fn serves(self, path: &str) -> bool {
        let is_operational =
            || matches!(path, "/metrics" | "/openapi.json" | "/docs") || path.starts_with("/docs/");
        match self {
            Self::Everything => true,
            Self::WithoutOperations => !is_operational(),
            Self::OperationsOnly => is_operational() || matches!(path, "/healthz" | "/readyz"),
        }
    }
}

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The policy of every answer whose route sets no other, in a plane with pages.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; \
     object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The policy of every answer whose route sets no other, in a plane without pages.
pub const POLICY_WITHOUT_PAGES: &str = "default-src 'none'; frame-ancestors 'none'";

/// Adds the problems for unknown paths and methods to a router. Add layers that answer requests themselves after this.
pub fn with_fallbacks(router: Router) -> Router {
    router
        .fallback(|| async { Problem::not_found() })
        .method_not_allowed_fallback(method_not_allowed)
}

impl Plane {
    /// A plane with a router that has its fallbacks.
    pub fn new(router: Router, settings: PlaneSettings) -> Self {
        Self {
            router,
            settings,
            surface: Surface::Everything,
            audience: Audience::Any,
            leaving: CancellationToken::new(),
            meters: Vec::new(),
            failures: Arc::default(),
        }
    }

    /// The same plane with some of its paths.
    #[must_use]
    pub fn serving(self, surface: Surface) -> Self {
        Self { surface, ..self }
    }

    /// The same plane without pages, with a policy that is shorter by 94 bytes an answer.
    #[must_use]
    pub fn for_programs(self) -> Self {
        Self { audience: Audience::Programs, ..self }
    }

    /// The same plane without the headers that only browsers obey.
    #[must_use]
    pub fn for_proxies(self) -> Self {
        Self { audience: Audience::Proxies, ..self }
    }

    /// Answers `/readyz` with 503 once `leaving` is cancelled, so that load balancers stop sending requests to a process that
    /// is about to stop.
    #[must_use]
    pub fn unready_after(self, leaving: CancellationToken) -> Self {
        Self { leaving, ..self }
    }

    /// Adds a listener's counters to the plane's own at `/metrics`.
    #[must_use]
    pub fn with_meters(mut self, listener: &'static str, meters: Arc<ListenerMeters>) -> Self {
        self.meters.push((listener, meters));
        self
    }

    /// Answers a request.
    pub async fn answer(&self, mut request: Request) -> Response {
        let id = self.settings.request_ids.next();
        request.extensions_mut().insert(id);
        let method = request.method().clone();
        let uri = request.uri().clone();
        let mut response = if uri.path() == "/readyz" && self.leaving.is_cancelled() {
            Problem::unavailable("the process is stopping").into_response()
        } else if self.surface.serves(uri.path()) {
            self.answer_or_problem(request).await
        } else {
            Problem::not_found().into_response()
        };
        if uri.path() == "/metrics" && response.status().is_success() {
            response = self.with_listener_metrics(response).await;
        }
        self.finish(response, &id, &method, uri.path())
    }

    async fn with_listener_metrics(&self, response: Response) -> Response {
        let (mut head, body) = response.into_parts();
        let Ok(body) = body.collect().await else {
            return Problem::internal("the metrics could not be read").into_response();
        };
        let mut text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        text.extend(self.meters.iter().map(|(listener, meters)| meters.render(listener)));
        head.headers.remove(header::CONTENT_LENGTH);
        Response::from_parts(head, Body::from(exposition::joined(&text)))
    }

    /// Answers a request that does not reach the router.
    pub(crate) fn refuse(&self, problem: Problem) -> Response {
        let id = self.settings.request_ids.next();
        self.finish(problem.into_response(), &id, &Method::default(), "")
    }

    /// Adds the headers of every answer, and logs internal errors.
    fn finish(
        &self,
        mut response: Response,
        id: &RequestId,
        method: &Method,
        path: &str,
    ) -> Response {
        if let Some(problem) = response.extensions_mut().remove::<Problem>() {
            *response.body_mut() = problem.rendered(id.as_str());
            response.headers_mut().remove(header::CONTENT_LENGTH);
            let cause = problem.cause_chain();
            let admitted = |cause: &String| self.failures.admit(cause, Instant::now());
            if let Some(suppressed) = cause.as_ref().and_then(admitted) {
                let code = problem.code().as_str();
                tracing::error!(request.id = %id, %method, path, code, cause, suppressed, "request failed");
            }
        }
        tracing::debug!(request.id = %id, %method, path, status = response.status().as_u16(), "request served");
        let headers = response.headers_mut();
        let mut id = id.header_value();
        // No other answer has this value, so HTTP/2 must not add it to the table of headers, where it would replace others.
        id.set_sensitive(true);
        headers.insert(X_REQUEST_ID, id);
        match self.audience {
            Audience::Any => add_security_headers(headers, PAGES),
            Audience::Programs => add_security_headers(headers, NO_PAGES),
            Audience::Proxies => {}
        }
        response
    }

    /// The router's answer, or a problem if it takes too long or panics.
    async fn answer_or_problem(&self, request: Request) -> Response {
        let mut router = self.router.clone();
        let answer = AssertUnwindSafe(async move { router.call(request).await }).catch_unwind();
        let answered = match self.settings.request_deadline {
            None => answer.await,
            Some(deadline) => match tokio::time::timeout(deadline, answer).await {
                Ok(answered) => answered,
                Err(_) => {
                    let detail = "the request took too long";
                    return Problem::unavailable(detail).into_response();
                }
            },
        };
        match answered {
            Ok(Ok::<_, Infallible>(response)) => response,
            Err(panic) => panicked(panic.as_ref()).into_response(),
        }
    }
}

/// The answer to a method that a path does not have.
pub async fn method_not_allowed() -> Problem {
    Problem::new(ErrorCode::MethodNotAllowed, "the header `Allow` names the methods of this path")
}

fn panicked(payload: &(dyn Any + Send)) -> Problem {
    let message = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = message.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    Problem::internal(format!("panic: {message}"))
}

// Constants: made for each answer, the values would be validated each time.
const PAGES: HeaderValue = HeaderValue::from_static(CONTENT_SECURITY_POLICY);
const NO_PAGES: HeaderValue = HeaderValue::from_static(POLICY_WITHOUT_PAGES);

fn add_security_headers(headers: &mut HeaderMap, policy: HeaderValue) {
    const ALWAYS: [(HeaderName, HeaderValue); 4] = [
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            HeaderValue::from_static("same-origin"),
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            HeaderValue::from_static("same-origin"),
        ),
    ];
    const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
    for (name, value) in ALWAYS {
        headers.insert(name, value);
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    headers.entry(header::CACHE_CONTROL).or_insert(NO_STORE);
}

#[cfg(test)]
mod tests;
