//! The real Envoy with the documented configuration of the rate limit service.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::{JoinSet, LocalSet};
use weir_local::free_port;

use super::proxy::{Replacements, envoy_addresses};
use super::{Application, Kind, Proxy, Surroundings, documented};
use crate::harness::{
    GateSettings, Reply, Rule, Server, Tenant, seconds, send, shared, until, weir,
};

mod tls;
mod traces;

const FILES: [(&str, &str); 1] = [("rate-limit.yaml", "envoy.yaml")];

/// Gates with the rate limit service, an Envoy before each, and a tenant with the documented profile.
struct Fixture {
    tenant: Tenant<'static>,
    application: Application,
    gates: Vec<Server>,
    services: Vec<String>,
    envoys: Vec<Proxy>,
}

impl Fixture {
    async fn start(count: usize, rules: &[Value]) -> (Self, Vec<Rule>) {
        Self::start_with(count, rules, Vec::new()).await
    }

    /// The same with these settings of the gates.
    async fn start_with(
        count: usize,
        rules: &[Value],
        settings: Vec<(&'static str, String)>,
    ) -> (Self, Vec<Rule>) {
        let stack = shared().await;
        let tenant = Tenant::sign_up(stack).await;
        let mut made = Vec::new();
        for rule in rules {
            let mut rule = rule.clone();
            rule["namespace"] = json!("edge");
            made.push(tenant.rule(&rule).await);
        }
        let text = std::fs::read_to_string(documented(Kind::Envoy, "rate-limit-profile.json"));
        let profile: Value = serde_json::from_str(&text.expect("a file of deploy")).expect("JSON");
        let profile = tenant.admin(Method::POST, "/profiles", &profile).await.expect(201);
        let version = profile.number("/rulebook_version");
        let application = Application::start();
        let mut fixture = Self {
            tenant,
            application,
            gates: Vec::new(),
            services: Vec::new(),
            envoys: Vec::new(),
        };
        for _ in 0..count {
            let service = format!("127.0.0.1:{}", free_port().expect("a port is free"));
            let mut env = settings.clone();
            env.push(("WEIR_RLS_ADDR", service.clone()));
            let gate = stack.gate(GateSettings { env, ..GateSettings::default() });
            stack.until_ready(&gate).await;
            fixture.tenant.settled_on(&gate, version).await;
            fixture.gates.push(gate);
            fixture.services.push(service);
        }
        for at in 0..count {
            let key = fixture.tenant.key.clone();
            let envoy = fixture.envoy(at, &key, Vec::new()).await;
            fixture.envoys.push(envoy);
        }
        (fixture, made)
    }

    /// Starts an Envoy before a gate, with a key and further changes of the file. Returns when it knows that the gate is healthy.
    async fn envoy(&self, gate: usize, key: &str, changes: Replacements) -> Proxy {
        let envoy = self.starting_envoy(gate, key, changes).await;
        self.until_gate_is_healthy(&envoy).await;
        envoy
    }

    /// The same, but returns as soon as Envoy forwards requests.
    async fn starting_envoy(&self, gate: usize, key: &str, changes: Replacements) -> Proxy {
        let around = Surroundings {
            gate: &self.services[gate],
            application: self.application.port,
            key,
            own_timeouts: false,
        };
        Proxy::of_files(Kind::Envoy, &FILES, |_, ports| {
            let mut all = envoy_addresses(&around, "8082", ports);
            all.push(("weir_KEY", key.to_owned()));
            all.push(("timeout: 0.1s", "timeout: 20s".to_owned()));
            all.push(("interval: 5s", "interval: 0.1s".to_owned()));
            all.extend(changes);
            all
        })
        .await
    }

    async fn until_gate_is_healthy(&self, envoy: &Proxy) {
        until(seconds(30), "the gate is healthy", async || {
            let text = page(&self.tenant, &format!("{}/clusters", envoy.admin)).await;
            text.lines().any(|line| line.starts_with("weir::127") && line.ends_with("::healthy"))
        })
        .await;
    }

    async fn get(&self, envoy: usize, path: &str, user: Option<&str>) -> Reply {
        get(&self.tenant, &self.envoys[envoy], path, user).await
    }

    /// A counter of Envoy.
    async fn counter(&self, envoy: &Proxy, name: &str) -> u64 {
        let stats = page(&self.tenant, &format!("{}/stats", envoy.admin)).await;
        let lines = stats.lines().filter_map(|line| line.split_once(": "));
        let values = lines.filter(|(known, _)| known.ends_with(name));
        values.filter_map(|(_, value)| value.parse::<u64>().ok()).sum()
    }

    /// A line of the metrics of a gate.
    async fn metric(&self, gate: usize, line: &str) -> u64 {
        let text = page(&self.tenant, &format!("{}/metrics", self.gates[gate].url)).await;
        let found = text.lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok());
        found.unwrap_or_else(|| panic!("no {line} in {text}"))
    }
}

async fn page(tenant: &Tenant<'_>, url: &str) -> String {
    let response = tenant.http.request(Method::GET, url).send().await.expect("an answer");
    response.text().await.expect("text")
}

async fn get(tenant: &Tenant<'_>, envoy: &Proxy, path: &str, user: Option<&str>) -> Reply {
    let request = tenant.http.request(Method::GET, &format!("{}{path}", envoy.url));
    send(user.into_iter().fold(request, |request, user| request.header("x-user", user))).await
}

fn rule(name: &str, count_by: &[&str], limit: u64) -> Value {
    let limit =
        json!({ "algorithm": "sliding_window_log", "limit": limit, "window_ms": 86_400_000 });
    json!({ "name": name, "count_by": count_by, "limits": [limit] })
}

fn only(mut rule: Value, attribute: &str, value: &str) -> Value {
    rule["match"] = json!([{ "attribute": attribute, "op": "equals", "value": value }]);
    rule
}

/// The remaining units of a user, by a peek over HTTP, which answers as if it took one of them.
async fn remaining(fixture: &Fixture, user: &str) -> u64 {
    let peek = json!({ "namespace": "edge", "attributes": { "user": user }, "mode": "peek" });
    fixture.tenant.check(0, &peek).await.body["remaining"].as_u64().expect("a number") + 1
}

#[test]
fn documented_rules_are_valid() {
    let file = documented(Kind::Envoy, "rate-limit-rules.yaml").display().to_string();
    let checked = weir(&["check", "-f", &file], &[], "");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[tokio::test]
async fn callers_of_two_gates_share_one_exact_limit() {
    let (fixture, _) = Fixture::start(2, &[rule("per-user", &["user"], 100)]).await;
    let mut callers = JoinSet::new();
    let urls: Vec<_> = fixture.envoys.iter().map(|envoy| envoy.url.clone()).collect();
    for caller in 0..64 {
        let (http, url) = (fixture.tenant.http.clone(), urls[caller % 2].clone());
        callers.spawn(async move {
            let mut passed = 0;
            for _ in 0..4 {
                let request = http.request(Method::GET, &url).header("x-user", "shared");
                passed += usize::from(send(request).await.status == 200);
            }
            passed
        });
    }
    assert_eq!(callers.join_all().await.into_iter().sum::<usize>(), 100);
}

#[tokio::test]
async fn report_names_its_rule_to_the_application_and_no_client_can() {
    let mut loud = rule("loud", &["user"], 1);
    loud["mode"] = json!("report");
    let (fixture, _) = Fixture::start(1, &[loud]).await;
    for expected in [None, Some("loud")] {
        let url = format!("{}/page", fixture.envoys[0].url);
        let request = fixture.tenant.http.request(Method::GET, &url).header("x-user", "ada");
        let reply = send(request.header("x-ratelimit-over", "forged")).await.expect(200);
        assert_eq!(reply.body["x-ratelimit-over"].as_str(), expected, "{}", reply.body);
    }
}

#[tokio::test]
async fn denial_reaches_the_client_and_takes_nothing_of_other_descriptors() {
    let rules = [rule("per-path", &["ip", "path"], 1), rule("per-user", &["user"], 9)];
    let (fixture, _) = Fixture::start(1, &rules).await;
    let passed = fixture.get(0, "/page", Some("ada")).await.expect(200);
    assert!(passed.header("ratelimit").is_some_and(|text| text.starts_with("\"per-path\";r=0")));
    assert_eq!(passed.header("ratelimit-policy"), Some("\"per-path\";q=1;w=86400"));
    assert_eq!((passed.header("retry-after"), remaining(&fixture, "ada").await), (None, 8));

    let forwarded = fixture.application.requests();
    let denied = fixture.get(0, "/page", Some("ada")).await.expect(429);
    assert_eq!(fixture.application.requests(), forwarded);
    assert_eq!(denied.header("content-type"), Some("application/problem+json"));
    assert_eq!(denied.body["code"], "too_many_requests");
    assert!(denied.header("x-envoy-ratelimited").is_some());
    assert!(denied.header("x-ratelimit-limit").is_some_and(|text| text.contains("w=86400")));
    assert!(denied.header("ratelimit").is_some_and(|text| text.starts_with("\"per-path\";r=0")));
    let retry_s = denied.header("retry-after").and_then(|text| text.parse::<u64>().ok());
    assert!(retry_s.is_some_and(|seconds| (1..=86_400).contains(&seconds)), "{retry_s:?}");
    assert_eq!(remaining(&fixture, "ada").await, 8, "the other descriptor was not charged");
}

#[tokio::test]
async fn stopped_gate_lets_requests_pass_or_refuses_them_as_configured() {
    let (fixture, _) = Fixture::start(1, &[rule("per-user", &["user"], 1)]).await;
    let closed = vec![("failure_mode_deny: false", "failure_mode_deny: true".to_owned())];
    let closed = fixture.envoy(0, &fixture.tenant.key, closed).await;
    fixture.get(0, "/", Some("ada")).await.expect(200);
    fixture.gates[0].stop();
    let before = fixture.counter(&fixture.envoys[0], "ratelimit.failure_mode_allowed").await;
    fixture.get(0, "/", Some("ada")).await.expect(200);
    let after = fixture.counter(&fixture.envoys[0], "ratelimit.failure_mode_allowed").await;
    assert_eq!(after, before + 1);
    get(&fixture.tenant, &closed, "/", Some("ada")).await.expect(500);
}

#[tokio::test]
async fn envoy_that_started_before_the_gate_asks_it_soon() {
    let (fixture, _) = Fixture::start(1, &[rule("per-user", &["user"], 1)]).await;
    fixture.gates[0].stop();
    let envoy = fixture.starting_envoy(0, &fixture.tenant.key, Vec::new()).await;
    fixture.gates[0].start_again();
    fixture.until_gate_is_healthy(&envoy).await;
    get(&fixture.tenant, &envoy, "/", Some("ada")).await.expect(200);
    get(&fixture.tenant, &envoy, "/", Some("ada")).await.expect(429);
}

#[tokio::test]
async fn wrong_key_lets_requests_pass_and_is_counted() {
    let (fixture, _) = Fixture::start(1, &[rule("per-user", &["user"], 1)]).await;
    let line = "weir_refused_callers_total{interface=\"rls\",reason=\"unauthenticated\"}";
    let before = fixture.metric(0, line).await;
    let envoy = fixture.envoy(0, "weir_another-key", Vec::new()).await;
    for _ in 0..3 {
        get(&fixture.tenant, &envoy, "/", Some("ada")).await.expect(200);
    }
    // Envoy's requests while it started are counted too.
    assert!(fixture.metric(0, line).await >= before + 3);
    assert!(fixture.metric(0, "weir_rls_calls_total{code=\"unauthenticated\"}").await >= 3);
    assert!(fixture.counter(&envoy, "ratelimit.error").await >= 3);
}

#[tokio::test]
async fn long_paths_and_control_characters_are_limited() {
    let (fixture, _) = Fixture::start(1, &[rule("per-path", &["path"], 1)]).await;
    let long = format!("/{}", "a".repeat(600));
    for path in [long.as_str(), "/%00", "/?token=x&namespace=evil"] {
        fixture.get(0, path, None).await.expect(200);
        fixture.get(0, path, None).await.expect(429);
    }
    let user = [b'u', 0xff, b'x'];
    let limited = rule("per-user", &["user"], 1);
    let (fixture, _) = Fixture::start(1, &[limited]).await;
    for status in [200, 429] {
        let request = fixture.tenant.http.request(Method::GET, &fixture.envoys[0].url);
        let value = reqwest::header::HeaderValue::from_bytes(&user).expect("a value");
        assert_eq!(send(request.header("x-user", value)).await.status, status);
    }
}

#[tokio::test]
async fn tokens_of_a_response_are_charged_afterwards_into_debt() {
    let mut budget = only(rule("tokens", &["user"], 50), "budget", "tokens");
    budget["over"] = json!("debt");
    let (fixture, _) = Fixture::start(1, &[budget]).await;
    let charged = "weir_rls_descriptors_total{operation=\"check\"}";
    for calls in 1..=3 {
        let before = fixture.metric(0, charged).await;
        fixture.get(0, "/chat", Some("ada")).await.expect(200);
        until(seconds(30), &format!("call {calls} is charged"), async || {
            fixture.metric(0, charged).await > before
        })
        .await;
    }
    let before = fixture.metric(0, charged).await;
    let denied = fixture.get(0, "/chat", Some("ada")).await.expect(429);
    assert!(denied.header("retry-after").is_some());
    fixture.get(0, "/chat", Some("bob")).await.expect(200);
    until(seconds(30), "bob is charged", async || fixture.metric(0, charged).await > before).await;
    assert_eq!(fixture.metric(0, charged).await, before + 1, "the denied call charged nothing");
}

#[tokio::test]
async fn slots_are_given_back_at_the_end_and_never_exceeded() {
    let slots = only(rule("slots", &["slots"], 3), "slots", "report");
    let (fixture, _) = Fixture::start(1, &[slots]).await;
    let mut clients = JoinSet::new();
    let url = format!("{}/report", fixture.envoys[0].url);
    let local = LocalSet::new();
    // Refused clients ask again, so that a slot which is given back too early would be used.
    for _ in 0..8 {
        let (http, url) = (fixture.tenant.http.clone(), url.clone());
        let ask = async move {
            until(seconds(60), "a request passes", async || {
                send(http.request(Method::GET, &url)).await.status == 200
            })
            .await;
        };
        clients.spawn_local_on(ask, &local);
    }
    let rest = async {
        until(seconds(30), "three requests are at the application", async || {
            fixture.application.reports().0 == 3
        })
        .await;
        until(seconds(30), "requests are refused meanwhile", async || {
            fixture.counter(&fixture.envoys[0], "ratelimit.over_limit").await >= 10
        })
        .await;
        for _ in 0..8 {
            fixture.application.permit_reports(1);
            clients.join_next().await.expect("a client").expect("it is answered");
        }
    };
    local.run_until(rest).await;
    assert_eq!(fixture.application.reports(), (0, 3), "never more than three at a time");
}

#[tokio::test]
async fn changed_rule_is_in_force_without_a_change_of_envoy() {
    let mut limited = rule("per-user", &["user"], 1);
    let (fixture, made) = Fixture::start(1, std::slice::from_ref(&limited)).await;
    fixture.get(0, "/", Some("ada")).await.expect(200);
    fixture.get(0, "/", Some("ada")).await.expect(429);
    limited["namespace"] = json!("edge");
    limited["limits"][0]["limit"] = json!(3);
    let changed = fixture.tenant.put(&made[0], &limited).await;
    fixture.tenant.settled_on(&fixture.gates[0], changed.version).await;
    fixture.get(0, "/", Some("ada")).await.expect(200);
    fixture.get(0, "/", Some("ada")).await.expect(200);
    fixture.get(0, "/", Some("ada")).await.expect(429);
}
