//! Real proxies with the documented files, in front of a real gate: the same seven questions to each.

mod application;
mod proxy;
mod questions;
mod rate_limit_service;
mod slow;

use serde_json::{Value, json};

use self::application::Application;
pub use self::proxy::nginx_main;
use self::proxy::{Proxy, Surroundings, documented};
use crate::harness::{GateSettings, Server, Tenant, shared};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nginx,
    Traefik,
    Caddy,
    Haproxy,
    Envoy,
}

impl Kind {
    /// The name of the folder, of the profile and of the program.
    fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Traefik => "traefik",
            Self::Caddy => "caddy",
            Self::Haproxy => "haproxy",
            Self::Envoy => "envoy",
        }
    }

    /// The documented files.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Nginx => &["weir.conf"],
            Self::Traefik => &["traefik.yml", "weir.yml"],
            Self::Caddy => &["Caddyfile"],
            Self::Haproxy => &["haproxy.cfg", "weir.lua"],
            Self::Envoy => &["envoy.yaml"],
        }
    }
}

/// A proxy with a gate of its own, and a tenant with the documented profile.
struct Fixture {
    kind: Kind,
    tenant: Tenant<'static>,
    gate: Server,
    application: Application,
    proxy: Proxy,
    /// The client's address, as the proxy sees it.
    client: String,
}

impl Fixture {
    async fn start(kind: Kind) -> Self {
        let stack = shared().await;
        let tenant = Tenant::sign_up(stack).await;
        let gate = stack.gate(GateSettings::default());
        stack.until_ready(&gate).await;
        let others = json!([{ "attribute": "route", "op": "not_equals", "value": "/short" }]);
        let each = json!({
            "name": "per-route", "match": others, "count_by": ["ip", "method", "route", "host"],
            "limits": [{ "algorithm": "sliding_window_log", "limit": 3, "window_ms": 86_400_000 }],
        });
        tenant.rule(&each).await;
        let short = json!({
            "name": "short",
            "match": [{ "attribute": "route", "op": "equals", "value": "/short" }],
            "limits": [{ "algorithm": "sliding_window_log", "limit": 1, "window_ms": 2_000 }],
        });
        tenant.rule(&short).await;
        let version = make_profile(&tenant, kind).await;
        tenant.settled_on(&gate, version).await;
        let application = Application::start();
        let around = Surroundings {
            gate: gate.url.trim_start_matches("http://"),
            application: application.port,
            key: &tenant.key,
            own_timeouts: false,
        };
        let proxy = Proxy::start(kind, &around).await;
        let client = client(kind, &tenant, &proxy).await;
        Self { kind, tenant, gate, application, proxy, client }
    }
}

/// Envoy names its own address for clients on the same machine.
async fn client(kind: Kind, tenant: &Tenant<'_>, proxy: &Proxy) -> String {
    if kind != Kind::Envoy {
        return "127.0.0.1".to_owned();
    }
    let seen = tenant.http.get(&format!("{}/client", proxy.url)).await.expect(200);
    let forwarded = seen.text("/x-forwarded-for");
    forwarded.rsplit(',').next().expect("an address").trim().to_owned()
}

/// Makes the documented profile. Returns the version from which gates serve it.
async fn make_profile(tenant: &Tenant<'_>, kind: Kind) -> u64 {
    let text = std::fs::read_to_string(documented(kind, "profile.json")).expect("a file of deploy");
    let profile: Value = serde_json::from_str(&text).expect("JSON");
    let made = tenant.admin(reqwest::Method::POST, "/profiles", &profile).await.expect(201);
    let version = made.number("/rulebook_version");
    tenant.settled(version).await;
    version
}

#[tokio::test]
async fn nginx_answers_the_seven_questions() {
    questions::ask(&Fixture::start(Kind::Nginx).await).await;
}

#[tokio::test]
async fn traefik_answers_the_seven_questions() {
    questions::ask(&Fixture::start(Kind::Traefik).await).await;
}

#[tokio::test]
async fn caddy_answers_the_seven_questions() {
    questions::ask(&Fixture::start(Kind::Caddy).await).await;
}

#[tokio::test]
async fn haproxy_answers_the_seven_questions() {
    questions::ask(&Fixture::start(Kind::Haproxy).await).await;
}

#[tokio::test]
async fn envoy_answers_the_seven_questions() {
    questions::ask(&Fixture::start(Kind::Envoy).await).await;
}
