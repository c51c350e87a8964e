//! Middleware for tower services of HTTP.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{Request, Response, StatusCode};
use tower_layer::Layer;
use tower_service::Service;

use crate::answer::Answer;
use crate::client::Weir;
use crate::headers::ShownAnswers;
use crate::held::{Held, LimitedBody};
use crate::limits::{Limits, OnFailure, mistake};
use crate::request::CheckRequest;

/// A layer that limits requests. A denial is 429, and 503 if [`crate::OnError`] denied. The delay of a leaky bucket is waited for. Leases
/// of concurrency limits are renewed until the response has ended or its client has gone away, and then released.
///
/// The request carries the [`Answer`] as an extension. With several layers around a service, `RateLimit` and `RateLimit-Policy` are lists,
/// the outermost limit first, and `X-RateLimit-*` are those of the limit with the least left. Headers of the service and of a refusal stay.
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
    type Response = Response<LimitedBody<ResBody>>;
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
        let check = limits.check(&request);
        Box::pin(async move {
            let check = match check {
                Ok(Some(check)) => check,
                Ok(None) => return Ok(inner.call(request).await?.map(LimitedBody::from_inner)),
                Err(error) => return Ok(mistake(&limits.on_check_error, &error).map(Into::into)),
            };
            let begun = Instant::now();
            let answer = match weir.check(&check).await {
                Ok(answer) => answer,
                Err(error) => return Ok(mistake(&limits.on_check_error, &error).map(Into::into)),
            };
            (limits.on_decision)(&answer, begun.elapsed());
            let held = Held::new(&weir, &answer, &limits.on_refund_error);
            let shown = ShownAnswers::of(&request, &answer, limits.with_headers);
            if !answer.allowed {
                let mut refusal = limits.refusal(&request, &answer);
                shown.add_to(&mut refusal, &answer);
                return Ok(refusal.map(Into::into));
            }
            if answer.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
            }
            let refund = Refund::new(weir, check, &limits, &answer);
            let mut request = request;
            request.extensions_mut().insert(answer.clone());
            request.extensions_mut().insert(shown.clone());
            let outcome = inner.call(request).await;
            refund.after(
                outcome.as_ref().map_or(StatusCode::INTERNAL_SERVER_ERROR, Response::status),
            );
            let mut response = outcome?;
            shown.add_to(&mut response, &answer);
            Ok(response.map(|body| LimitedBody::holding(body, held)))
        })
    }
}

/// The units that a response with some status returns. A service that panics has the status 500.
struct Refund(Option<ToReturn>);

struct ToReturn {
    weir: Weir,
    check: CheckRequest,
    when: Arc<dyn Fn(StatusCode) -> bool + Send + Sync>,
    on_refund_error: OnFailure,
}

impl Refund {
    fn new<B>(weir: Weir, check: CheckRequest, limits: &Limits<B>, answer: &Answer) -> Self {
        // A degraded answer charged nothing.
        let when = limits.refund_when.clone().filter(|_| answer.degraded.is_none());
        Self(when.map(|when| ToReturn {
            weir,
            check: match &answer.charge {
                Some(charge) => check.charge(charge.clone()),
                None => check,
            },
            when,
            on_refund_error: Arc::clone(&limits.on_refund_error),
        }))
    }

    fn after(mut self, status: StatusCode) {
        self.settle(status);
    }

    fn settle(&mut self, status: StatusCode) {
        let Some(units) = self.0.take().filter(|units| (units.when)(status)) else { return };
        // A task of its own, so that a client that goes away does not end it.
        tokio::spawn(async move {
            if let Err(error) = units.weir.refund(&units.check).await {
                (units.on_refund_error)(&error);
            }
        });
    }
}

impl Drop for Refund {
    fn drop(&mut self) {
        // Also dropped if the client goes away; then nobody knows the status, and the service has worked.
        if std::thread::panicking() {
            self.settle(StatusCode::INTERNAL_SERVER_ERROR);
        }
    }
}
