//! The export of spans.

use std::time::{Duration, SystemTime};

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
use opentelemetry_otlp::{
    ExporterBuildError, SpanExporter, WithExportConfig as _, WithTonicConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};

use crate::traces::Traces;

/// The settings of traces.
#[derive(Debug, Clone)]
pub struct TraceSettings {
    /// The address of the receiver, such as `http://127.0.0.1:4317`: OTLP over gRPC.
    pub endpoint: String,
    /// The value of the resource's attribute `service.name`.
    pub service_name: String,
    /// The most traces that are continued in a second.
    pub per_second: u32,
}

/// Exports spans until it is shut down.
#[derive(Debug, Clone)]
pub struct Exporter(SdkTracerProvider);

/// The address of the receiver cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the address of the receiver of traces cannot be used")]
pub struct InvalidEndpoint(#[source] ExporterBuildError);

/// The longest time that one export takes.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time that the end of the process waits for the last spans.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

impl TraceSettings {
    /// Prepares the export. It connects when there are spans. Call it in the runtime that carries the connection. `now` is the
    /// wall clock.
    ///
    /// # Errors
    ///
    /// Fails if `endpoint` is no address.
    pub fn start(&self, now: fn() -> SystemTime) -> Result<(Traces, Exporter), InvalidEndpoint> {
        let exporter = SpanExporter::builder().with_tonic();
        let exporter = if self.endpoint.starts_with("https:") {
            exporter.with_tls_config(ClientTlsConfig::new().with_enabled_roots())
        } else {
            exporter
        };
        let exporter = exporter.with_endpoint(&self.endpoint).with_timeout(EXPORT_TIMEOUT).build();
        let service = KeyValue::new("service.name", self.service_name.clone());
        let provider = SdkTracerProvider::builder()
            .with_sampler(sampler())
            .with_resource(Resource::builder().with_attribute(service).build())
            .with_batch_exporter(exporter.map_err(InvalidEndpoint)?)
            .build();
        let traces = Traces::new(provider.tracer("weir"), self.per_second, now);
        Ok((traces, Exporter(provider)))
    }
}

/// Samples what the parent samples, and starts no traces.
pub(crate) fn sampler() -> Sampler {
    Sampler::ParentBased(Box::new(Sampler::AlwaysOff))
}

impl Exporter {
    /// Exports the last spans, or drops them after two seconds. Blocks the thread.
    pub fn shut_down(&self) {
        // Spans that cannot be exported are dropped, as while the process runs.
        drop(self.0.shutdown_with_timeout(SHUTDOWN_TIMEOUT));
    }
}
