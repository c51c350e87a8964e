//! Starts spans.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http::HeaderMap;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{
    Link, Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracer;

use crate::cap::Cap;
use crate::request_span::RequestSpan;

/// Starts spans. It is cheap to clone.
#[derive(Debug, Clone)]
pub struct Traces(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    tracer: SdkTracer,
    propagator: TraceContextPropagator,
    cap: Cap,
    now: fn() -> SystemTime,
}

/// The most links of a span. A script call that serves more traced checks names the first of them.
const LINKS_MAX: usize = 128;

impl Traces {
    pub(crate) fn new(tracer: SdkTracer, per_second: u32, now: fn() -> SystemTime) -> Self {
        let (propagator, cap) = (TraceContextPropagator::new(), Cap::new(per_second));
        Self(Arc::new(Parts { tracer, propagator, cap, now }))
    }

    /// Starts the span of a request whose headers name the caller's span (`traceparent` of W3C Trace Context). `None` unless they name
    /// one that is sampled, and while more traces arrive than are continued in a second. The caller must have a valid key.
    pub fn continued(
        &self,
        headers: &HeaderMap,
        name: impl FnOnce() -> String,
    ) -> Option<RequestSpan> {
        let parts = &*self.0;
        let extractor = SingleHeaders(headers);
        extractor.get("traceparent")?;
        let parent = parts.propagator.extract_with_context(&Context::new(), &extractor);
        let is_sampled = parent.span().span_context().is_sampled();
        if !is_sampled || !parts.cap.admits(Instant::now()) {
            return None;
        }
        let span = SpanBuilder::from_name(name())
            .with_kind(SpanKind::Server)
            .with_start_time((parts.now)())
            .start_with_context(&parts.tracer, &parent);
        Some(RequestSpan::new(parent.with_span(span)))
    }

    /// Adds the span of a script call that has just ended after `took`. It is a child of the first request that it served, and
    /// linked to all of them. `failed` is the kind of its error.
    pub fn script_called<'a>(
        &self,
        served: impl IntoIterator<Item = &'a SpanContext>,
        took: Duration,
        checks: usize,
        failed: Option<&'static str>,
    ) {
        let parts = &*self.0;
        let links: Vec<_> = served.into_iter().take(LINKS_MAX).cloned().map(link).collect();
        let Some(first) = links.first() else { return };
        let parent = Context::new().with_remote_span_context(first.span_context.clone());
        let ended = (parts.now)();
        let mut span = SpanBuilder::from_name("redis script")
            .with_kind(SpanKind::Client)
            .with_start_time(ended.checked_sub(took).unwrap_or(ended))
            .with_attributes([
                KeyValue::new("db.system.name", "redis"),
                KeyValue::new("weir.checks", i64::try_from(checks).unwrap_or(i64::MAX)),
            ])
            .with_links(links)
            .start_with_context(&parts.tracer, &parent);
        if let Some(kind) = failed {
            span.set_status(Status::error(kind));
        }
        span.end_with_timestamp(ended);
    }
}

fn link(served: SpanContext) -> Link {
    Link::new(served, Vec::new(), 0)
}

/// Headers that occur once. A second `traceparent` makes both invalid.
struct SingleHeaders<'h>(&'h HeaderMap);

impl Extractor for SingleHeaders<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.get_all(name).iter();
        let only = values.next().filter(|_| values.next().is_none());
        only.and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

#[cfg(test)]
mod tests;
