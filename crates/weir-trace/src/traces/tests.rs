use std::time::UNIX_EPOCH;

use opentelemetry::trace::{SpanId, TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};

use super::*;
use crate::export::sampler;
use crate::request_span::SpanDecision;

const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const NOT_SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

fn traces(per_second: u32) -> (Traces, InMemorySpanExporter, SdkTracerProvider) {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder()
        .with_sampler(sampler())
        .with_simple_exporter(exporter.clone())
        .build();
    let now = || UNIX_EPOCH + Duration::from_hours(489_924);
    (Traces::new(provider.tracer("weir"), per_second, now), exporter, provider)
}

fn headers(values: &[&str]) -> HeaderMap {
    let name = || http::HeaderName::from_static("traceparent");
    values.iter().map(|value| (name(), value.parse().expect("a header"))).collect()
}

#[test]
fn only_one_valid_and_sampled_parent_is_continued() {
    let (traces, ..) = traces(100);
    let continued = |values: &[&str]| traces.continued(&headers(values), || "check".to_owned());
    assert!(continued(&[SAMPLED]).is_some());
    let invalid = [
        "",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ];
    for value in invalid {
        assert!(continued(&[value]).is_none(), "{value}");
    }
    for values in [&[][..], &[NOT_SAMPLED], &[SAMPLED, SAMPLED]] {
        assert!(continued(values).is_none(), "{values:?}");
    }
}

#[test]
fn traces_beyond_the_cap_are_not_continued() {
    let (traces, ..) = traces(3);
    let headers = headers(&[SAMPLED]);
    let spans: Vec<_> =
        (0..10).filter_map(|_| traces.continued(&headers, || "check".to_owned())).collect();
    assert_eq!(spans.len(), 3);
}

#[test]
fn script_call_is_a_child_of_the_first_request_and_linked_to_all() {
    let (traces, exporter, _provider) = traces(100);
    let other = SAMPLED.replace("0af7", "1111");
    let first =
        traces.continued(&headers(&[SAMPLED]), || "POST /check".to_owned()).expect("a span");
    let second =
        traces.continued(&headers(&[&other]), || "POST /check".to_owned()).expect("a span");
    let served = [first.context(), second.context()];
    traces.script_called(&served, Duration::from_millis(3), 7, None);
    let decision = SpanDecision {
        namespace: "api",
        allowed: false,
        rulebook_version: 9,
        degraded: Some("local"),
    };
    first.decided(&decision, ["per-user"]);
    drop((first, second));
    let spans = exporter.get_finished_spans().expect("spans");
    let [script, request, _] = &spans[..] else { panic!("three spans: {spans:?}") };
    assert_eq!((&*script.name, &*request.name), ("redis script", "POST /check"));
    assert_eq!(request.parent_span_id, SpanId::from_hex("b7ad6b7169203331").expect("an id"));
    assert_eq!(script.parent_span_id, request.span_context.span_id());
    assert_eq!(script.span_context.trace_id(), request.span_context.trace_id());
    let linked: Vec<_> = script.links.iter().map(|link| link.span_context.clone()).collect();
    assert_eq!(linked, served);
    let took = script.end_time.duration_since(script.start_time).expect("it ends later");
    assert_eq!(took, Duration::from_millis(3));
    let attribute = |name: &str| {
        let found = request.attributes.iter().find(|attribute| attribute.key.as_str() == name);
        found.map(|attribute| attribute.value.to_string())
    };
    let names = ["weir.namespace", "weir.allowed", "weir.denied_by", "weir.degraded"];
    let values = names.map(|name| attribute(name).expect("an attribute"));
    assert_eq!(values, ["api", "false", "[\"per-user\"]", "local"]);
    assert_eq!(attribute("weir.rulebook.version").as_deref(), Some("9"));
}

#[test]
fn script_call_without_traced_checks_has_no_span() {
    let (traces, exporter, _provider) = traces(100);
    traces.script_called(&[], Duration::from_millis(3), 7, None);
    assert!(exporter.get_finished_spans().expect("spans").is_empty());
}
