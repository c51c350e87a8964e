//! A receiver of spans: OTLP over gRPC.

use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use tokio::task::AbortHandle;
use tonic::transport::Server;
use tonic::{Request, Response, Status};
use weir_local::free_port;

use super::{seconds, until};

/// A receiver of one test. It ends with it.
pub struct SpanReceiver {
    /// Its port on this machine.
    pub port: u16,
    spans: Spans,
    task: AbortHandle,
}

/// A span that was received. Ids are hexadecimal digits.
#[derive(Debug, Clone)]
pub struct ReceivedSpan {
    pub service: String,
    pub name: String,
    pub trace: String,
    pub id: String,
    pub parent: String,
    /// The ids of the spans to which it is linked.
    pub links: Vec<String>,
    pub attributes: Vec<(String, String)>,
}

#[derive(Debug, Clone, Default)]
struct Spans(Arc<Mutex<Vec<ReceivedSpan>>>);

impl SpanReceiver {
    pub fn start() -> Self {
        let port = free_port().expect("a port is free");
        let spans = Spans::default();
        let service = TraceServiceServer::new(spans.clone());
        let address = ([127, 0, 0, 1], port).into();
        let served = Server::builder().add_service(service).serve(address);
        let task = tokio::spawn(async move { served.await.expect("the receiver serves") });
        Self { port, spans, task: task.abort_handle() }
    }

    /// The address for `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The spans so far.
    pub fn spans(&self) -> Vec<ReceivedSpan> {
        self.spans.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until spans hold a condition, and returns them.
    pub async fn until(
        &self,
        what: &str,
        holds: impl Fn(&[ReceivedSpan]) -> bool,
    ) -> Vec<ReceivedSpan> {
        until(seconds(30), what, async || holds(&self.spans())).await;
        self.spans()
    }
}

impl Drop for SpanReceiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ReceivedSpan {
    /// The text of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

#[tonic::async_trait]
impl TraceService for Spans {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut spans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for of_service in request.into_inner().resource_spans {
            let attributes = of_service.resource.map(|resource| resource.attributes);
            let attributes = texts(attributes.unwrap_or_default());
            let service = attributes.into_iter().find(|(name, _)| name == "service.name");
            let service = service.map_or_else(String::new, |(_, name)| name);
            for span in of_service.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                spans.push(ReceivedSpan {
                    service: service.clone(),
                    name: span.name,
                    trace: hex::encode(&span.trace_id),
                    id: hex::encode(&span.span_id),
                    parent: hex::encode(&span.parent_span_id),
                    links: span.links.iter().map(|link| hex::encode(&link.span_id)).collect(),
                    attributes: texts(span.attributes),
                });
            }
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn texts(attributes: Vec<KeyValue>) -> Vec<(String, String)> {
    let text = |pair: KeyValue| (pair.key, pair.value.map(text).unwrap_or_default());
    attributes.into_iter().map(text).collect()
}

fn text(value: AnyValue) -> String {
    match value.value {
        Some(Value::StringValue(text)) => text,
        Some(Value::BoolValue(value)) => value.to_string(),
        Some(Value::IntValue(value)) => value.to_string(),
        Some(Value::ArrayValue(array)) => {
            array.values.into_iter().map(text).collect::<Vec<_>>().join(",")
        }
        other => format!("{other:?}"),
    }
}
