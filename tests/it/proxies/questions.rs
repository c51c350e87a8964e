//! The questions.

use reqwest::Method;
use serde_json::json;

use super::{Fixture, Kind};
use crate::harness::{Reply, seconds, send, until};

pub async fn ask(kind: Kind) {
    let fixture = &Fixture::start(kind).await;
    passes_and_counts_once(fixture).await;
    refuses(fixture).await;
    retry_after_can_be_obeyed(fixture).await;
    spoofed_headers_change_nothing(fixture).await;
    constant_ids_change_nothing(fixture).await;
    reports_reach_the_application(fixture).await;
    unlimited_requests_have_no_headers(fixture).await;
    queries_change_nothing(fixture).await;
    parameters_and_segments_are_counted(fixture).await;
    credentials_of_the_client_change_nothing(fixture).await;
    weir_is_down(fixture).await;
}

/// The documented limit for each route.
const LIMIT: u64 = 3;

impl Fixture {
    pub async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        let url = format!("{}{path}", self.proxy.url);
        let request =
            self.tenant.http.request(Method::GET, &url).header("host", "Shop.Example:8443");
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        send(request).await
    }

    /// The units that are left for a route. A peek answers as if it took one of them.
    async fn remaining(&self, route: &str) -> u64 {
        let attributes =
            json!({ "ip": self.client, "method": "GET", "route": route, "host": "shop.example" });
        let peek = json!({ "attributes": attributes, "mode": "peek" });
        let answer = self.tenant.check(0, &peek).await;
        let limits = answer.body["limits"].as_array().expect("limits").iter();
        let mut limits = limits.filter(|limit| limit["rule"] == "per-route");
        limits.next().expect("the rule")["remaining"].as_u64().expect("a number") + 1
    }
}

/// nginx asks twice, for `try_files` and for the application.
async fn passes_and_counts_once(fixture: &Fixture) {
    let passed = fixture.get("/pass", &[]).await.expect(200);
    let seen = passed.body.as_object().expect("the headers that the application got");
    assert!(!passed.body.to_string().contains(&fixture.tenant.key), "the application got the key");
    let remaining = fixture.remaining("/pass").await;
    assert_eq!(remaining, LIMIT - 1);
    let state = match fixture.kind {
        Kind::Traefik => seen["ratelimit"].as_str(),
        _ => passed.header("ratelimit"),
    };
    let expected = format!("\"per-route\";r={remaining};t=");
    assert!(state.is_some_and(|text| text.starts_with(&expected)), "{state:?}");
}

async fn refuses(fixture: &Fixture) {
    for _ in 0..LIMIT {
        fixture.get("/refuse", &[]).await.expect(200);
    }
    let forwarded = fixture.application.requests();
    let refused = fixture.get("/refuse", &[]).await.expect(429);
    assert_eq!(fixture.application.requests(), forwarded);
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert_eq!(
        (&refused.body["status"], &refused.body["title"]),
        (&json!(429), &json!("Too many requests"))
    );
    assert!(refused.header("ratelimit").is_some_and(|text| text.starts_with("\"per-route\";r=0")));
    let retry_s: u64 =
        refused.header("retry-after").and_then(|text| text.parse().ok()).expect("seconds");
    assert!((1..=86_400).contains(&retry_s), "{retry_s}");
}

/// A limit of one in two seconds. On a busy machine the second request can come too late to be denied.
async fn retry_after_can_be_obeyed(fixture: &Fixture) {
    until(seconds(60), "a request is denied", async || {
        let reply = fixture.get("/short", &[]).await;
        let retry_s = reply.header("retry-after").map(str::parse::<u64>);
        assert_eq!(reply.status == 429, retry_s.is_some());
        retry_s.is_some_and(|retry_s| matches!(retry_s, Ok(1 | 2)))
    })
    .await;
    until(seconds(60), "a request passes again", async || {
        fixture.get("/short", &[]).await.status == 200
    })
    .await;
}

/// The client sends all families of headers, a key, and the ids by which a proxy is recognised.
async fn spoofed_headers_change_nothing(fixture: &Fixture) {
    let spoofed = [
        ("x-weir-key", "weir_of-the-client"),
        ("forwarded", "for=6.6.6.6;host=evil.example"),
        ("x-forwarded-for", "6.6.6.6"),
        ("x-real-ip", "6.6.6.6"),
        ("x-forwarded-method", "PUT"),
        ("x-forwarded-uri", "/evil"),
        ("x-forwarded-host", "evil.example"),
        ("x-original-method", "PUT"),
        ("x-original-uri", "/evil"),
        ("x-original-url", "/evil"),
        ("x-original-host", "evil.example"),
        ("idempotency-key", "always-the-same"),
        ("x-request-id", "always-the-same"),
    ];
    for used in 1..=2 {
        fixture.get("/spoof", &spoofed).await.expect(200);
        assert_eq!(fixture.remaining("/spoof").await, LIMIT - used);
    }
}

/// A client cannot have all its requests counted as one, by any name of an id.
async fn constant_ids_change_nothing(fixture: &Fixture) {
    let names = ["idempotency-key", "x-request-id", "x-weir-request-id", "x-correlation-id"];
    let ids = names.map(|name| (name, "always-the-same"));
    for _ in 0..LIMIT {
        fixture.get("/constant", &ids).await.expect(200);
    }
    fixture.get("/constant", &ids).await.expect(429);
}

/// The application learns which report a request exceeds, beside a limit and without one, and never from the client.
async fn reports_reach_the_application(fixture: &Fixture) {
    let forged = [("x-ratelimit-over", "forged")];
    let over = |reply: &Reply| reply.body["x-ratelimit-over"].as_str().map(str::to_owned);
    let below = fixture.get("/over", &forged).await.expect(200);
    assert_eq!(over(&below), None);
    for path in ["/over", "/over-alone"] {
        let above = fixture.get(path, &forged).await.expect(200);
        assert_eq!(over(&above).as_deref(), Some("loud"), "{path}: {}", above.body);
    }
}

async fn unlimited_requests_have_no_headers(fixture: &Fixture) {
    let passed = fixture.get("/unlimited", &[]).await.expect(200);
    for name in ["ratelimit", "ratelimit-policy", "retry-after"] {
        assert_eq!(passed.header(name), None, "no rule matches");
    }
}

async fn queries_change_nothing(fixture: &Fixture) {
    let path = "/query?token=x&key=y&namespace=evil&deny_status=200&profile=other";
    fixture.get(path, &[]).await.expect(200);
    assert_eq!(fixture.remaining("/query").await, LIMIT - 1);
}

/// By attributes that the profile reads from the query and the path, however the client spells them.
async fn parameters_and_segments_are_counted(fixture: &Fixture) {
    for (target, status) in [
        ("/accounts/7/a?plan=gold", 200),
        ("/accounts/7/b?x=1&plan=gold", 429),
        ("/%61ccounts//7/c?pl%61n=g%6Fld", 429),
        ("/accounts/7/d?PLAN=gold&plan=gold", 429),
        ("/accounts/7/e?plan=free", 200),
        ("/accounts/8/f?plan=gold", 200),
        ("/accounts/7/g?plan=x&plan=y", 200),
        ("/accounts/7/h?plan=z&plan=gold", 429),
        ("/accounts/7/i", 200),
    ] {
        let reply = fixture.get(target, &[]).await;
        assert_eq!(reply.status, status, "{target}: {}", reply.body);
    }
}

async fn credentials_of_the_client_change_nothing(fixture: &Fixture) {
    let headers = [
        ("authorization", "Basic d2VpcjprZXk="),
        ("x-api-key", "weir_of-the-client"),
        ("cookie", "token=x"),
    ];
    let passed = fixture.get("/credentials", &headers).await.expect(200);
    assert_eq!(passed.body["authorization"], "Basic d2VpcjprZXk=", "it is the application's");
    assert_eq!(fixture.remaining("/credentials").await, LIMIT - 1);
}

/// The files let requests pass, except those of Traefik, which cannot.
async fn weir_is_down(fixture: &Fixture) {
    fixture.gate.stop();
    let reply = fixture.get("/down", &[]).await;
    match fixture.kind {
        Kind::Traefik => assert_eq!(reply.status, 500),
        _ => assert!(reply.expect(200).body["host"].is_string()),
    }
    assert_eq!(fixture.remaining("/down").await, LIMIT);
}
