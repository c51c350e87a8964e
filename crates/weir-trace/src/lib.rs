//! Traces over OTLP: one span for each request of a caller who sampled it, and one for each script call that served such
//! requests.
//!
//! Weir starts no traces of its own. It continues those of callers that have a valid key, up to a number a second. Spans are
//! exported by a thread of its own from a bounded queue; while the receiver is away or the queue is full, spans are dropped.

mod cap;
mod export;
mod request_span;
mod traces;

pub use opentelemetry::trace::SpanContext;

pub use export::{Exporter, InvalidEndpoint, TraceSettings};
pub use request_span::{RequestSpan, SpanDecision};
pub use traces::Traces;
