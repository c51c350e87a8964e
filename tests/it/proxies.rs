//! Real proxies with the documented files, in front of a real gate: the same questions to each, and what clients can send to escape.

mod application;
mod printed;
mod proxy;
mod questions;
mod rate_limit_service;
mod raw;
mod shapes;
mod slow;
mod spellings;
mod strangers;

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
        let not = |route: &str| json!({ "attribute": "route", "op": "not_equals", "value": route });
        let others = json!([not("/short"), not("/unlimited"), not("/over-alone")]);
        let each = json!({
            "name": "per-route", "match": others, "count_by": ["ip", "method", "route", "host"],
            "limits": [{ "algorithm": "sliding_window_log", "limit": 3, "window_ms": 86_400_000 }],
        });
        let short = json!({
            "name": "short",
            "match": [{ "attribute": "route", "op": "equals", "value": "/short" }],
            "limits": [{ "algorithm": "sliding_window_log", "limit": 1, "window_ms": 2_000 }],
        });
        let account = json!({
            "name": "per-account", "count_by": ["account", "plan"],
            "limits": [{ "algorithm": "sliding_window_log", "limit": 1, "window_ms": 86_400_000 }],
        });
        let loud = json!({
            "name": "loud", "mode": "report",
            "match": [{ "attribute": "route", "op": "prefix", "value": "/over" }],
            "limits": [{ "algorithm": "sliding_window_log", "limit": 1, "window_ms": 86_400_000 }],
        });
        Self::with_rules(kind, &[each, short, account, loud]).await
    }

    /// The same with these rules.
    async fn with_rules(kind: Kind, rules: &[Value]) -> Self {
        let stack = shared().await;
        let tenant = Tenant::sign_up(stack).await;
        let gate = stack.gate(GateSettings::default());
        stack.until_ready(&gate).await;
        for rule in rules {
            tenant.rule(rule).await;
        }
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

    /// With a rule that counts each path, and more requests than a test sends.
    async fn counting_paths(kind: Kind) -> Self {
        let rule = json!({
            "name": "per-path", "count_by": ["route"],
            "limits": [{ "algorithm": "sliding_window_log", "limit": COUNTED_MAX, "window_ms": 86_400_000 }],
        });
        Self::with_rules(kind, &[rule]).await
    }

    /// The requests to a path that were counted.
    async fn counted(&self, route: &str) -> u64 {
        let peek = json!({ "attributes": { "route": route }, "mode": "peek" });
        let answer = self.tenant.check(0, &peek).await.expect(200);
        COUNTED_MAX - 1 - answer.number("/remaining")
    }
}

/// The limit of [`Fixture::counting_paths`].
const COUNTED_MAX: u64 = 1000;

/// Envoy names its own address for clients on the same machine.
async fn client(kind: Kind, tenant: &Tenant<'_>, proxy: &Proxy) -> String {
    if kind != Kind::Envoy {
        return "127.0.0.1".to_owned();
    }
    let seen = tenant.http.get(&format!("{}/client", proxy.url)).await.expect(200);
    let forwarded = seen.text("/x-forwarded-for");
    forwarded.rsplit(',').next().expect("an address").trim().to_owned()
}

/// Makes the documented profile, with a parameter of the query and a segment of the path as more attributes. Returns the version from which gates serve it.
async fn make_profile(tenant: &Tenant<'_>, kind: Kind) -> u64 {
    let text = std::fs::read_to_string(documented(kind, "profile.json")).expect("a file of deploy");
    let mut profile: Value = serde_json::from_str(&text).expect("JSON");
    profile["attributes"]["plan"] = json!({ "from": "query", "name": "plan" });
    profile["attributes"]["account"] =
        json!({ "from": "segment", "path": "/accounts/{id}/*", "name": "id" });
    let made = tenant.admin(reqwest::Method::POST, "/profiles", &profile).await.expect(201);
    let version = made.number("/rulebook_version");
    tenant.settled(version).await;
    version
}

/// A test of each proxy.
macro_rules! each_proxy {
    ($check:path: $nginx:ident, $traefik:ident, $caddy:ident, $haproxy:ident, $envoy:ident) => {
        each_proxy!(@ $check, $nginx, Nginx);
        each_proxy!(@ $check, $traefik, Traefik);
        each_proxy!(@ $check, $caddy, Caddy);
        each_proxy!(@ $check, $haproxy, Haproxy);
        each_proxy!(@ $check, $envoy, Envoy);
    };
    (@ $check:path, $name:ident, $kind:ident) => {
        #[tokio::test]
        async fn $name() {
            $check(Kind::$kind).await;
        }
    };
}
use each_proxy;

each_proxy!(questions::ask: nginx_answers_the_questions, traefik_answers_the_questions, caddy_answers_the_questions,
    haproxy_answers_the_questions, envoy_answers_the_questions);
