//! Calls of Envoy's rate limit service: what is charged, the answer, and that no value of a client is an error.

use axum::body::{Body, Bytes};
use futures_util::stream;
use serde_json::{Value, json};
use tonic::{Code, Status};
use weir_http::serve::OverBudget;
use weir_rls::{Descriptor, Entry, Override, RateLimitRequest, RateLimitResponse};

use super::support::{Gate, Keys, stored_profiles};

const OK: u32 = 1;
const OVER_LIMIT: u32 = 2;

fn rule(name: &str, count_by: &[&str], limit: u64) -> Value {
    let limit = json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": 86_400_000 });
    json!({ "name": name, "count_by": count_by, "limits": [limit] })
}

fn descriptor(entries: &[(&str, &str)]) -> Descriptor {
    let entry = |&(key, value): &(&str, &str)| Entry { key: key.into(), value: value.into() };
    Descriptor { entries: entries.iter().map(entry).collect(), ..Descriptor::default() }
}

fn hits(entries: &[(&str, &str)], units: u64) -> Descriptor {
    Descriptor { hits_addend: Some(units), ..descriptor(entries) }
}

fn refund(entries: &[(&str, &str)], units: u64) -> Descriptor {
    Descriptor { is_negative_hits: true, ..hits(entries, units) }
}

fn call(domain: &str, descriptors: Vec<Descriptor>) -> RateLimitRequest {
    RateLimitRequest { domain: domain.to_owned(), descriptors, hits_addend: 0 }
}

async fn ask(gate: &Gate, keys: &Keys, descriptors: Vec<Descriptor>) -> RateLimitResponse {
    gate.rate_limit(&keys.check, call("default", descriptors)).await.expect("no error")
}

/// The overall code, and the code and what is left of each descriptor.
fn shown(answer: &RateLimitResponse) -> (u32, Vec<(u32, u32)>) {
    let each = answer.statuses.iter().map(|status| (status.code, status.limit_remaining));
    (answer.overall_code, each.collect())
}

fn header<'a>(answer: &'a RateLimitResponse, name: &str) -> Option<&'a str> {
    let mut all = answer.response_headers_to_add.iter();
    all.find(|header| header.key == name).map(|header| header.value.as_str())
}

#[tokio::test]
async fn descriptors_are_charged_together_or_not_at_all() {
    let rules = vec![rule("per-user", &["user"], 9), rule("per-path", &["path"], 1)];
    let (gate, keys) = Gate::with_rules(rules).await;
    let both = || vec![descriptor(&[("user", "a")]), descriptor(&[("path", "/x")])];
    assert_eq!(shown(&ask(&gate, &keys, both()).await), (OK, vec![(OK, 8), (OK, 0)]));
    assert_eq!(
        shown(&ask(&gate, &keys, both()).await),
        (OVER_LIMIT, vec![(OK, 8), (OVER_LIMIT, 0)])
    );
    let user = ask(&gate, &keys, vec![hits(&[("user", "a")], 0)]).await;
    assert_eq!(shown(&user), (OK, vec![(OK, 8)]), "the refused call took nothing");
}

#[tokio::test]
async fn subject_of_several_descriptors_is_charged_once_with_the_largest_cost() {
    let (gate, keys) = Gate::with_rules(vec![rule("per-user", &["user"], 9)]).await;
    let user = [("user", "a")];
    let all = vec![hits(&user, 2), hits(&[("user", "a"), ("path", "/x")], 5), descriptor(&user)];
    assert_eq!(shown(&ask(&gate, &keys, all).await), (OK, vec![(OK, 4); 3]));
    let message = RateLimitRequest { hits_addend: 3, ..call("default", vec![descriptor(&user)]) };
    let answer = gate.rate_limit(&keys.check, message).await.expect("no error");
    assert_eq!(shown(&answer), (OK, vec![(OK, 1)]), "the addend of the call");
    assert_eq!(
        shown(&ask(&gate, &keys, vec![hits(&user, 2)]).await),
        (OVER_LIMIT, vec![(OVER_LIMIT, 1)])
    );
}

#[tokio::test]
async fn explicit_zero_looks_and_negative_hits_give_back_also_beside_a_charge() {
    let rules = vec![rule("per-user", &["user"], 3), rule("per-path", &["path"], 9)];
    let (gate, keys) = Gate::with_rules(rules).await;
    let user = [("user", "a")];
    for _ in 0..2 {
        assert_eq!(shown(&ask(&gate, &keys, vec![hits(&user, 0)]).await), (OK, vec![(OK, 3)]));
    }
    assert_eq!(shown(&ask(&gate, &keys, vec![hits(&user, 3)]).await), (OK, vec![(OK, 0)]));
    let look_and_take = || vec![hits(&user, 0), hits(&[("path", "/x")], 2)];
    assert_eq!(
        shown(&ask(&gate, &keys, look_and_take()).await),
        (OVER_LIMIT, vec![(OVER_LIMIT, 0), (OK, 9)]),
        "a look that finds nothing left denies the whole call"
    );
    let back_and_take = vec![hits(&[("path", "/x")], 4), refund(&user, 2)];
    assert_eq!(shown(&ask(&gate, &keys, back_and_take).await), (OK, vec![(OK, 5), (OK, 2)]));
    assert_eq!(shown(&ask(&gate, &keys, look_and_take()).await), (OK, vec![(OK, 2), (OK, 3)]));
}

#[tokio::test]
async fn costs_that_are_known_afterwards_become_debt() {
    let mut budget = rule("tokens", &["user"], 50);
    budget["over"] = json!("debt");
    let (gate, keys) = Gate::with_rules(vec![budget, rule("strict", &["team"], 10)]).await;
    let user = [("user", "a")];
    for left in [33, 16, 0] {
        let peek = ask(&gate, &keys, vec![hits(&user, 0)]).await;
        assert_eq!(peek.overall_code, OK);
        assert_eq!(shown(&ask(&gate, &keys, vec![hits(&user, 17)]).await), (OK, vec![(OK, left)]));
    }
    let peek = ask(&gate, &keys, vec![hits(&user, 0)]).await;
    assert_eq!(shown(&peek), (OVER_LIMIT, vec![(OVER_LIMIT, 0)]));

    let record = || vec![hits(&[("team", "t"), ("weir.operation", "record")], 17)];
    for _ in 0..2 {
        assert_eq!(shown(&ask(&gate, &keys, record()).await), (OK, vec![(OK, 0)]));
    }
    assert_eq!(ask(&gate, &keys, vec![hits(&[("team", "t")], 0)]).await.overall_code, OVER_LIMIT);
    assert!(gate.metrics().contains("weir_rls_descriptors_total{operation=\"record\"} 2\n"));
}

#[tokio::test]
async fn denial_has_headers_a_body_and_metadata() {
    let (gate, keys) = Gate::with_rules(vec![rule("per-user", &["user"], 1)]).await;
    let user = || vec![descriptor(&[("user", "a")])];
    let passed = ask(&gate, &keys, user()).await;
    assert_eq!(header(&passed, "ratelimit-policy"), Some("\"per-user\";q=1;w=86400"));
    assert_eq!((header(&passed, "retry-after"), passed.raw_body.len()), (None, 0));
    let limit = passed.statuses[0].current_limit.as_ref().expect("a limit");
    assert_eq!((limit.name.as_str(), limit.requests_per_unit, limit.unit), ("per-user", 1, 4));
    assert!(passed.statuses[0].duration_until_reset.is_some_and(|reset| reset.seconds > 0));

    let denied = ask(&gate, &keys, user()).await;
    let retry_s = header(&denied, "retry-after").and_then(|text| text.parse::<u64>().ok());
    assert!(retry_s.is_some_and(|seconds| (1..=86_400).contains(&seconds)), "{retry_s:?}");
    assert!(header(&denied, "ratelimit").is_some_and(|text| text.starts_with("\"per-user\";r=0")));
    assert_eq!(header(&denied, "content-type"), Some("application/problem+json"));
    let body: Value = serde_json::from_slice(&denied.raw_body).expect("JSON");
    assert_eq!((&body["status"], &body["code"]), (&json!(429), &json!("too_many_requests")));
    let fields = denied.dynamic_metadata.expect("metadata").fields;
    assert!(fields.contains_key("denied_by") && fields.contains_key("rule_id"), "{fields:?}");
}

#[tokio::test]
async fn rule_that_denies_marks_its_descriptor() {
    let deny = json!({
        "name": "blocked", "action": "deny",
        "match": [{ "attribute": "user", "op": "equals", "value": "b" }],
    });
    let (gate, keys) = Gate::with_rules(vec![deny, rule("per-path", &["path"], 9)]).await;
    let all = vec![descriptor(&[("path", "/x")]), descriptor(&[("user", "b")])];
    assert_eq!(shown(&ask(&gate, &keys, all).await), (OVER_LIMIT, vec![(OK, 0), (OVER_LIMIT, 0)]));
    let path = ask(&gate, &keys, vec![hits(&[("path", "/x")], 0)]).await;
    assert_eq!(shown(&path), (OK, vec![(OK, 9)]), "nothing was taken");
}

#[tokio::test]
async fn domains_have_profiles_and_unknown_ones_no_limits() {
    let profile = |name: &str, domain: &str, more: Value| {
        let mut body = json!({ "name": name, "reads": "rate_limit_service", "domain": domain });
        let fields = more.as_object().expect("an object").clone();
        body.as_object_mut().expect("an object").extend(fields);
        body
    };
    let profiles = vec![
        profile("eg", "eg/default/http", json!({ "rename": { "remote_address": "ip" } })),
        profile("union", "Union", json!({ "descriptors": "merged" })),
    ];
    let rules = vec![rule("per-ip", &["ip"], 5), rule("both", &["ip", "path"], 3)];
    let (gate, keys) = Gate::with_rules_and_profiles(rules, profiles).await;
    let ask = async |domain: &str, descriptors: Vec<Descriptor>| {
        gate.rate_limit(&keys.check, call(domain, descriptors)).await.expect("no error")
    };
    let renamed = ask("eg/default/http", vec![descriptor(&[("Remote_Address", "a")])]).await;
    assert_eq!(shown(&renamed), (OK, vec![(OK, 4)]));
    let union = || vec![descriptor(&[("ip", "a")]), hits(&[("path", "/x")], 2)];
    assert_eq!(shown(&ask("Union", union()).await), (OK, vec![(OK, 1); 2]));
    assert_eq!(shown(&ask("Union", union()).await), (OVER_LIMIT, vec![(OVER_LIMIT, 1); 2]));
    for unknown in ["eg/other", "", "no-such-namespace"] {
        assert_eq!(shown(&ask(unknown, union()).await), (OK, vec![(OK, 0); 2]), "{unknown}");
    }
    assert_eq!(shown(&ask("default", Vec::new()).await), (OK, Vec::new()));
    assert!(gate.metrics().contains("weir_rls_ignored_total{reason=\"unknown_domain\"} 3\n"));

    let (all, keys, _) = Gate::with(|tenant, _| {
        tenant.profiles = stored_profiles(vec![profile("any", "*", json!({}))]);
    })
    .await;
    for left in [1, 0] {
        let message = call("whatever/it.is", vec![descriptor(&[("user", "a")])]);
        let answer = all.rate_limit(&keys.check, message).await.expect("no error");
        assert_eq!(shown(&answer), (OK, vec![(OK, left)]));
    }
}

#[tokio::test]
async fn no_value_of_a_client_is_an_error_or_avoids_its_limit() {
    let (gate, keys) = Gate::with_rules(vec![rule("per-path", &["path"], 1)]).await;
    let long = "/".repeat(600);
    for value in [long.as_str(), "/\0", "\u{85}", ""] {
        let path = || vec![descriptor(&[("PATH", value)])];
        assert_eq!(ask(&gate, &keys, path()).await.overall_code, OK, "{value:?}");
        assert_eq!(ask(&gate, &keys, path()).await.overall_code, OVER_LIMIT, "{value:?}");
    }
    let mut crowded = vec![("path", "/crowded")];
    crowded.extend((0..40).map(|_| ("key", "value")));
    let limited = Descriptor {
        limit: Some(Override { requests_per_unit: 9, unit: 1 }),
        ..hits(&crowded, u64::MAX)
    };
    let answer = ask(&gate, &keys, vec![limited]).await;
    assert_eq!(shown(&answer), (OVER_LIMIT, vec![(OVER_LIMIT, 1)]), "a cost above the limit");
    let binary = || {
        let mut descriptor = descriptor(&[("path", "")]);
        descriptor.entries[0].value = vec![b'/', 0xff];
        vec![descriptor]
    };
    assert_eq!(ask(&gate, &keys, binary()).await.overall_code, OK);
    assert_eq!(ask(&gate, &keys, binary()).await.overall_code, OVER_LIMIT);
    let many = (0..70).map(|at| descriptor(&[("path", &format!("/{at}"))])).collect();
    let answer = ask(&gate, &keys, many).await;
    assert_eq!((answer.overall_code, answer.statuses.len()), (OK, 70));
    for reason in ["too_many_entries", "too_many_descriptors", "caller_limit"] {
        let line = format!("weir_rls_ignored_total{{reason=\"{reason}\"}} 1\n");
        assert!(gate.metrics().contains(&line), "{line}{}", gate.metrics());
    }
}

#[tokio::test]
async fn descriptors_with_too_many_limits_together_are_decided_one_by_one() {
    let limit =
        |n: u64| json!({ "algorithm": "fixed_window", "limit": 2, "window_ms": 86_400_000 + n });
    let eight = |name: String| json!({ "name": name, "count_by": ["user"], "limits": (0..8).map(limit).collect::<Vec<_>>() });
    let rules = (0..8).map(|at| eight(format!("rule-{at}"))).collect();
    let (gate, keys) = Gate::with_rules(rules).await;
    let users = || vec![descriptor(&[("user", "a")]), descriptor(&[("user", "b")])];
    for left in [1, 0] {
        assert_eq!(shown(&ask(&gate, &keys, users()).await), (OK, vec![(OK, left); 2]));
    }
    assert_eq!(shown(&ask(&gate, &keys, users()).await), (OVER_LIMIT, vec![(OVER_LIMIT, 0); 2]));
}

#[tokio::test]
async fn callers_are_refused_with_defined_codes_which_are_counted() {
    let (gate, keys) = Gate::with_rules(vec![rule("per-user", &["user"], 1)]).await;
    let user = || call("default", vec![descriptor(&[("user", "a")])]);
    for (key, code) in [
        ("weir_wrong", Code::Unauthenticated),
        ("", Code::Unauthenticated),
        (&keys.read, Code::PermissionDenied),
    ] {
        let refused = gate.rate_limit(key, user()).await.expect_err("a refusal");
        assert_eq!(refused.code(), code, "{key}");
    }
    let metrics = gate.metrics();
    for line in [
        "weir_rls_calls_total{code=\"unauthenticated\"} 2\n",
        "weir_rls_calls_total{code=\"permission_denied\"} 1\n",
        "weir_refused_callers_total{interface=\"rls\",reason=\"unauthenticated\"} 2\n",
        "weir_refused_callers_total{interface=\"rls\",reason=\"forbidden\"} 1\n",
    ] {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
}

#[tokio::test]
async fn key_is_checked_before_a_byte_of_the_message_is_read() {
    let (gate, keys) = Gate::with_rules(vec![rule("per-user", &["user"], 1)]).await;
    for key in [None, Some("weir_wrong"), Some(keys.read.as_str())] {
        let unread = stream::poll_fn(|_| -> std::task::Poll<Option<Result<Bytes, Status>>> {
            panic!("the message was read")
        });
        let refused = gate.rate_limit_bytes(key, Body::from_stream(unread)).await;
        let code =
            if key == Some(&keys.read) { Code::PermissionDenied } else { Code::Unauthenticated };
        assert_eq!(refused.expect_err("a refusal").code(), code, "{key:?}");
    }
}

#[tokio::test]
async fn messages_that_cannot_be_read_have_defined_codes_which_are_counted() {
    let (gate, keys) = Gate::with_rules(vec![rule("per-user", &["user"], 1)]).await;
    let ask = async |body: Body| {
        gate.rate_limit_bytes(Some(&keys.check), body).await.expect_err("an error").code()
    };
    let too_long = [0, 0, 0x10, 0, 1];
    for bytes in
        [&b"\0\0\0\0\x02\xff\xff"[..], b"\x09\0\0\0\0", b"\x01\0\0\0\0", b"\0\0\0", b"", &too_long]
    {
        assert_eq!(ask(Body::from(bytes.to_vec())).await, Code::InvalidArgument, "{bytes:?}");
    }
    let cut: [Result<&[u8], _>; 2] = [Ok(&[0, 0]), Err(std::io::Error::other("reset"))];
    assert_eq!(ask(Body::from_stream(stream::iter(cut))).await, Code::InvalidArgument);
    let over: [Result<&[u8], _>; 2] = [Ok(&[0, 0]), Err(OverBudget)];
    assert_eq!(ask(Body::from_stream(stream::iter(over))).await, Code::ResourceExhausted);
    let metrics = gate.metrics();
    for line in [
        "weir_rls_calls_total{code=\"invalid_argument\"} 7\n",
        "weir_rls_calls_total{code=\"resource_exhausted\"} 1\n",
    ] {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
}
