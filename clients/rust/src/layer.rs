//! Middleware for tower services of HTTP.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Request, Response, StatusCode};
use serde_json::json;
use tower_layer::Layer;
use tower_service::Service;

use crate::answer::{Answer, Degraded};
use crate::client::Weir;
use crate::error::Error;
use crate::options::WrongOption;
use crate::request::{Attributes, CheckRequest, safe_attributes};

type AttributesOf<B> =
    Arc<dyn Fn(&Request<B>) -> Result<Option<Attributes>, WrongOption> + Send + Sync>;
type CostOf<B> = Arc<dyn Fn(&Request<B>) -> u64 + Send + Sync>;
type RefundWhen = Arc<dyn Fn(StatusCode) -> bool + Send + Sync>;
type OnFailure = Arc<dyn Fn(&dyn std::error::Error) + Send + Sync>;

/// How the requests of a service are limited.
pub struct Limits<B> {
    namespace: String,
    attributes: AttributesOf<B>,
    cost: Option<CostOf<B>>,
    refund_when: Option<RefundWhen>,
    on_refund_error: OnFailure,
    on_check_error: OnFailure,
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

    /// Returns the units after a response with such a status: `|status| status.is_success()` counts failed sign-ins only.
    #[must_use]
    pub fn refund_when(
        mut self,
        refund_when: impl Fn(StatusCode) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.refund_when = Some(Arc::new(refund_when));
        self
    }

    /// Called if the units could not be returned.
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

    fn request(&self, request: &Request<B>) -> Result<Option<CheckRequest>, WrongOption> {
        let Some(attributes) = (self.attributes)(request)? else { return Ok(None) };
        let check = CheckRequest::new(&self.namespace).attributes(safe_attributes(attributes));
        Ok(Some(match &self.cost {
            Some(cost) => check.cost(cost(request)),
            None => check,
        }))
    }
}

impl<B> Clone for Limits<B> {
    fn clone(&self) -> Self {
        Self {
            namespace: self.namespace.clone(),
            attributes: Arc::clone(&self.attributes),
            cost: self.cost.clone(),
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

/// A layer that limits requests. A denial is 429, and 503 if [`crate::OnError`] denied. The delay of a leaky bucket is waited for.
#[derive(Debug)]
pub struct WeirLayer<B> {
    weir: Weir,
    limits: Limits<B>,
}

impl<B> WeirLayer<B> {
    /// A layer that asks by this client.
    pub fn new(weir: Weir, limits: Limits<B>) -> Self {
        Self { weir, limits }
    }
}

impl<B> Clone for WeirLayer<B> {
    fn clone(&self) -> Self {
        Self { weir: self.weir.clone(), limits: self.limits.clone() }
    }
}

impl<S, B> Layer<S> for WeirLayer<B> {
    type Service = WeirService<S, B>;

    fn layer(&self, inner: S) -> Self::Service {
        WeirService { inner, layer: self.clone() }
    }
}

/// A service behind a [`WeirLayer`].
#[derive(Debug)]
pub struct WeirService<S, B> {
    inner: S,
    layer: WeirLayer<B>,
}

impl<S: Clone, B> Clone for WeirService<S, B> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<S, B, ResBody> Service<Request<B>> for WeirService<S, B>
where
    S: Service<Request<B>, Response = Response<ResBody>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
    ResBody: From<Vec<u8>> + Send + 'static,
{
    type Response = Response<ResBody>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The service that is ready answers; its clone waits for the next request.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let WeirLayer { weir, limits } = self.layer.clone();
        // The check borrows nothing of the request, whose body need not be `Sync`.
        let check = limits.request(&request);
        Box::pin(async move {
            let check = match check {
                Ok(Some(check)) => check,
                Ok(None) => return inner.call(request).await,
                Err(error) => return Ok(mistake(&limits.on_check_error, &error)),
            };
            let answer = match weir.check(&check).await {
                Ok(answer) if answer.allowed => answer,
                Ok(answer) => return Ok(refusal(&answer)),
                Err(error) => return Ok(mistake(&limits.on_check_error, &error)),
            };
            if answer.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
            }
            let mut response = inner.call(request).await?;
            response.headers_mut().extend(answer.headers());
            if refunds(&limits, &answer, response.status()) {
                // A task of its own, so that a client that goes away does not end it.
                let check = match answer.charge {
                    Some(charge) => check.charge(charge),
                    None => check,
                };
                tokio::spawn(refund(weir, check, limits.on_refund_error));
            }
            Ok(response)
        })
    }
}

fn refunds<B>(limits: &Limits<B>, answer: &Answer, status: StatusCode) -> bool {
    let wanted = limits.refund_when.as_ref().is_some_and(|refund_when| refund_when(status));
    // A degraded answer charged nothing.
    wanted && answer.degraded.is_none()
}

async fn refund(weir: Weir, check: CheckRequest, on_refund_error: OnFailure) {
    if let Err(error) = weir.refund(&check).await {
        on_refund_error(&error as &Error);
    }
}

/// 429 for a denial. 503 if `OnError` denied: the request is not at fault.
fn refusal<ResBody: From<Vec<u8>>>(answer: &Answer) -> Response<ResBody> {
    let (status, code) = if answer.degraded == Some(Degraded::Client) {
        (StatusCode::SERVICE_UNAVAILABLE, "rate_limit_unavailable")
    } else {
        (StatusCode::TOO_MANY_REQUESTS, "rate_limited")
    };
    problem(status, code, answer.headers(), answer.retry_after_ms)
}

/// 500: the program must send another check.
fn mistake<ResBody: From<Vec<u8>>>(
    on_check_error: &OnFailure,
    error: &dyn std::error::Error,
) -> Response<ResBody> {
    on_check_error(error);
    problem(StatusCode::INTERNAL_SERVER_ERROR, "internal", HeaderMap::new(), None)
}

fn problem<ResBody: From<Vec<u8>>>(
    status: StatusCode,
    code: &str,
    headers: HeaderMap,
    retry_after_ms: Option<u64>,
) -> Response<ResBody> {
    let title = status.canonical_reason();
    let body = json!({ "type": "about:blank", "title": title, "status": status.as_u16(), "code": code, "retry_after_ms": retry_after_ms });
    let mut response = Response::new(ResBody::from(body.to_string().into_bytes()));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
