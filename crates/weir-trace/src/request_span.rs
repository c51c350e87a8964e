//! The span of a request.

use opentelemetry::trace::{SpanContext, TraceContextExt as _};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};

/// The span of a request. It ends when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct RequestSpan(Context);

/// The attributes of a span that state how its checks were decided. None of them is a value of a request's attribute.
#[derive(Debug, Clone, Copy)]
pub struct SpanDecision<'a> {
    /// The namespace of the checks.
    pub namespace: &'a str,
    /// Whether all checks are allowed.
    pub allowed: bool,
    /// The version of the rulebook by which they were decided.
    pub rulebook_version: u64,
    /// How they were decided while Redis could not be reached.
    pub degraded: Option<&'static str>,
}

impl RequestSpan {
    /// A span that was started in this context.
    pub(crate) fn new(context: Context) -> Self {
        Self(context)
    }

    /// The id of the span and of its trace.
    pub fn context(&self) -> SpanContext {
        self.0.span().span_context().clone()
    }

    /// The id of the trace.
    pub fn trace_id(&self) -> u128 {
        u128::from_be_bytes(self.0.span().span_context().trace_id().to_bytes())
    }

    /// States how the checks of the request were decided, and the names of the rules that denied them.
    pub fn decided<'a>(
        &self,
        decision: &SpanDecision<'_>,
        denied_by: impl IntoIterator<Item = &'a str>,
    ) {
        let denied_by: Vec<StringValue> =
            denied_by.into_iter().map(|rule| rule.to_owned().into()).collect();
        let version = i64::try_from(decision.rulebook_version).unwrap_or(i64::MAX);
        let span = self.0.span();
        span.set_attribute(KeyValue::new("weir.namespace", decision.namespace.to_owned()));
        span.set_attribute(KeyValue::new("weir.allowed", decision.allowed));
        span.set_attribute(KeyValue::new("weir.rulebook.version", version));
        if !denied_by.is_empty() {
            let rules = Value::Array(Array::String(denied_by));
            span.set_attribute(KeyValue::new("weir.denied_by", rules));
        }
        if let Some(degraded) = decision.degraded {
            span.set_attribute(KeyValue::new("weir.degraded", degraded));
        }
    }
}
