//! A trace that the real Envoy starts.

use super::{Fixture, get, rule};
use crate::harness::{ReceivedSpan, SpanReceiver};

/// The part of Envoy's configuration that traces every request.
const TRACING: &str = r#"stat_prefix: web
          tracing:
            random_sampling: { value: 100 }
            provider:
              name: envoy.tracers.opentelemetry
              typed_config:
                "@type": type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig
                grpc_service: { envoy_grpc: { cluster_name: spans }, timeout: 5s }
                service_name: edge"#;

/// The receiver of spans, before the other clusters.
const CLUSTER: &str = r#"  clusters:
  - name: spans
    type: STATIC
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: { http2_protocol_options: {} }
    load_assignment:
      cluster_name: spans
      endpoints: [ { lb_endpoints: [ { endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: PORT } } } } ] } ]
"#;

#[tokio::test]
async fn one_trace_leads_from_envoy_through_the_gate_to_the_script() {
    let receiver = SpanReceiver::start();
    let env = vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url()),
        ("OTEL_BSP_SCHEDULE_DELAY", "50".to_owned()),
    ];
    let rules = [rule("per-user", &["user"], 1)];
    let (fixture, _) = Fixture::start_with(1, &rules, env).await;
    let changes = vec![
        ("stat_prefix: web", TRACING.to_owned()),
        ("  clusters:\n", CLUSTER.replace("PORT", &receiver.port.to_string())),
    ];
    let envoy = fixture.envoy(0, &fixture.tenant.key, changes).await;
    get(&fixture.tenant, &envoy, "/traced", Some("ada")).await.expect(200);
    get(&fixture.tenant, &envoy, "/traced", Some("ada")).await.expect(429);

    let denied = |span: &&ReceivedSpan| {
        span.name.ends_with("/ShouldRateLimit") && span.attribute("weir.allowed") == Some("false")
    };
    let complete = |spans: &[ReceivedSpan]| {
        let request = spans.iter().find(denied);
        request.is_some_and(|request| {
            path(spans, request).is_some() && script_of(spans, request).is_some()
        })
    };
    let spans = receiver.until("the trace of the denied request is complete", complete).await;
    let request = spans.iter().find(denied).expect("it was there");
    assert_eq!(request.service, "weir");
    assert_eq!(request.attribute("weir.namespace"), Some("edge"));
    assert_eq!(request.attribute("weir.denied_by"), Some("per-user"));
    let script = script_of(&spans, request).expect("it was there");
    assert_eq!(script.parent, request.id);
    assert_eq!(script.links, std::slice::from_ref(&request.id));
    let above = path(&spans, request).expect("it was there");
    assert!(above.len() >= 2, "Envoy's span of the request, and that of its call: {above:?}");
    for span in above {
        assert_eq!((span.trace.as_str(), span.service.as_str()), (request.trace.as_str(), "edge"));
    }
}

/// The spans above a span, up to the first of the trace. `None` if one was not received yet.
fn path<'s>(spans: &'s [ReceivedSpan], of: &'s ReceivedSpan) -> Option<Vec<&'s ReceivedSpan>> {
    let (mut above, mut last) = (Vec::new(), of);
    while !last.parent.is_empty() {
        last = spans.iter().find(|span| span.id == last.parent)?;
        above.push(last);
    }
    Some(above)
}

fn script_of<'s>(spans: &'s [ReceivedSpan], request: &ReceivedSpan) -> Option<&'s ReceivedSpan> {
    spans.iter().find(|span| span.trace == request.trace && span.name == "redis script")
}
