//! The variants that are compared. Each gets POST requests with a small JSON body about one of 10,000 subjects.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Tenant};
use crate::service::Service;

/// The number of subjects.
pub const SUBJECTS: u32 = 10_000;

/// A running variant.
#[derive(Debug)]
pub struct Variant {
    /// The label in the tables.
    pub label: &'static str,
    pub title: &'static str,
    /// The host and port.
    pub address: String,
    /// The path, which can contain the same placeholder as the body.
    pub path: &'static str,
    pub bearer: String,
    /// The body, with the word `SUBJECT` as the placeholder of the subject's number.
    pub body: String,
    /// Whether every answer must be a refusal.
    pub refuses: bool,
    /// The id of the process that answers.
    pub pid: u32,
    pub kind: Kind,
    /// The process of the variant, held so that it is not dropped.
    _service: Option<Service>,
}

/// The implementation of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A constant answer over HTTP.
    Constant,
    /// Another limiter that uses Redis.
    Plain,
    /// A limiter that uses no store.
    InMemory,
    /// A gate.
    Weir,
}

/// The programs that are measured.
#[derive(Debug, Clone, Copy)]
pub struct Programs<'a> {
    pub constant: &'a Path,
    pub throttlecrab: Option<&'a Path>,
}

/// Starts a variant. Returns `None` if its program is missing.
pub async fn start(
    label: &'static str,
    fixture: &Fixture,
    programs: Programs<'_>,
) -> Result<Option<Variant>> {
    let log = fixture.folder().join(format!("{label}.log"));
    Ok(match label {
        "a" | "i" => {
            let start = |address: &str, launch: weir_local::Launch| launch.args([address]);
            let service = Service::start(programs.constant, &log, start).await?;
            let short = other("a", "the ceiling: the same HTTP set-up, a constant", service);
            Some(if label == "a" { short } else { long(short) })
        }
        "b" => {
            let url = fixture.redis_url();
            let ourselves = std::env::current_exe()?;
            let start = |address: &str, launch: weir_local::Launch| {
                launch.args(["plain", "--listen", address]).env("PLAIN_REDIS_URL", url)
            };
            let service = Service::start(&ourselves, &log, start).await?;
            Some(other("b", "a plain limiter: one `EVALSHA` per request", service))
        }
        "c" => match programs.throttlecrab {
            Some(program) => Some(throttlecrab(program, &log).await?),
            None => None,
        },
        _ => Some(weir(label, fixture).await?),
    })
}

/// All variants, in the order of the table.
pub const LABELS: [&str; 24] = [
    "a", "b", "c", "d", "e", "e2", "f", "g", "h", "h2", "i", "j", "k", "l", "m", "fixed", "log",
    "counter", "token", "leaky", "spacing", "quota", "shadow", "block",
];

/// The title of variant (c), whose program is possibly not installed.
pub const THROTTLECRAB: &str = "throttlecrab-server: in memory, no Redis, no tenants";

async fn throttlecrab(program: &Path, log: &Path) -> Result<Variant> {
    let start = |address: &str, launch: weir_local::Launch| {
        let port = address.rsplit(':').next().unwrap_or_default();
        launch
            .args(["--http", "--http-host", "127.0.0.1", "--http-port", port])
            .args(["--log-level", "error"])
    };
    let service = Service::start(program, log, start).await?;
    let body = json!({
        "key": "SUBJECT", "max_burst": 1_000_000, "count_per_period": 1_000_000, "period": 1,
        "quantity": 1,
    });
    let mut variant = other("c", THROTTLECRAB, service);
    variant.kind = Kind::InMemory;
    variant.path = "/throttle";
    variant.body = body.to_string();
    Ok(variant)
}

fn other(label: &'static str, title: &'static str, service: Service) -> Variant {
    Variant {
        label,
        title,
        address: service.address.clone(),
        path: "/check",
        bearer: "none".to_owned(),
        body: check("/hot").to_string(),
        refuses: false,
        pid: service.pid(),
        kind: if label == "a" { Kind::Constant } else { Kind::Plain },
        _service: Some(service),
    }
}

/// The variant that measures the ceiling for answers of a gate's length.
fn long(short: Variant) -> Variant {
    let title = "the same constant, as long as the answer of (d)";
    Variant { label: "i", title, path: "/check/long", ..short }
}

async fn weir(label: &'static str, fixture: &Fixture) -> Result<Variant> {
    let tenant = fixture.tenant(&format!("bench {label}")).await?;
    let (title, limits) = match label {
        "d" | "j" | "k" | "l" | "m" => (exact(label, fixture, &tenant).await?, 1),
        "e" => {
            for at in 0..5 {
                let limits = [bucket(GENEROUS), window(GENEROUS)];
                fixture.rule(&tenant, &rule(&format!("rule-{at}"), &limits)).await?;
            }
            ("exact, 5 rules of 2 limits", 10)
        }
        "e2" => {
            for at in 0..5 {
                let limit = |at: usize| {
                    [window(GENEROUS), bucket(GENEROUS), counter(GENEROUS)][at % 3].clone()
                };
                let limits = [limit(2 * at), limit(2 * at + 1)];
                fixture.rule(&tenant, &rule(&format!("rule-{at}"), &limits)).await?;
            }
            ("exact, 5 rules of 2 limits: fixed window, token bucket, sliding window counter", 10)
        }
        "f" => {
            of_many(fixture, &tenant).await?;
            ("exact, 20 of 10,000 rules match", 20)
        }
        "g" => {
            fixture.rule(&tenant, &rule("flood", &[once_a_day()])).await?;
            ("a flood: every check denied", 1)
        }
        "fixed" | "log" | "counter" | "token" | "leaky" | "spacing" | "quota" => {
            let mut rule = rule(label, &[alone(label)]);
            if label == "spacing" {
                // Without the shadow mode, some subject would always exceed the limit.
                rule["mode"] = json!("shadow");
            }
            fixture.rule(&tenant, &rule).await?;
            ("exact, one rule of one limit of this algorithm", 1)
        }
        "shadow" => {
            fixture.rule(&tenant, &rule("enforced", &[window(GENEROUS)])).await?;
            let mut shadow = rule("shadow", &[window(GENEROUS)]);
            shadow["mode"] = json!("shadow");
            fixture.rule(&tenant, &shadow).await?;
            ("a fixed window, and another of a shadow rule", 2)
        }
        "block" => {
            let mut block = rule("block", &[window(GENEROUS)]);
            block["block_ms"] = json!(1_000);
            fixture.rule(&tenant, &block).await?;
            ("a fixed window of a rule with a block", 1)
        }
        _ => (leased(label, fixture, &tenant).await?, 1),
    };
    fixture.served(&tenant.secret, &check("/hot"), limits).await?;
    let variant = of_gate(label, title, fixture, &tenant);
    Ok(match label {
        GRPC => Variant { address: fixture.rls(), path: RLS_PATH, ..variant },
        AUTHORIZE => Variant { path: AUTHORIZE_PATH, body: String::new(), ..variant },
        _ => variant,
    })
}

/// The variant that calls Envoy's rate limit service.
pub const GRPC: &str = "m";
const RLS_PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// The variant that asks as a proxy does.
const AUTHORIZE: &str = "l";
const AUTHORIZE_PATH: &str = "/authorize/bench/u-SUBJECT";

impl Variant {
    /// The name and the value of the header with the key.
    pub fn key_header(&self) -> (&'static str, String) {
        if self.label == AUTHORIZE {
            ("X-Weir-Key", self.bearer.clone())
        } else {
            ("Authorization", format!("Bearer {}", self.bearer))
        }
    }

    /// Whether the variant is called by gRPC.
    pub fn is_grpc(&self) -> bool {
        self.label == GRPC
    }
}

/// Creates a rule of whose limit gates lease units. Returns the title.
async fn leased(label: &str, fixture: &Fixture, tenant: &Tenant) -> Result<&'static str> {
    let (consistency, limit, title) = match label {
        "h2" => ("approximate", bucket(GENEROUS), "approximate, one token bucket"),
        _ => ("leased", a_day(1_000_000_000), "leased, one fixed window"),
    };
    let mut rule = rule(consistency, &[limit]);
    rule["consistency"] = json!(consistency);
    fixture.rule(tenant, &rule).await?;
    Ok(title)
}

/// Creates one rule of one limit. Returns the title.
async fn exact(label: &str, fixture: &Fixture, tenant: &Tenant) -> Result<&'static str> {
    if label == "j" {
        fixture.spread(tenant, "api", &["user"]).await?;
    }
    if label == AUTHORIZE {
        let attributes = json!({ "user": { "from": "path" }, "route": { "from": "method" } });
        let profile = json!({
            "name": "bench", "namespace": "api", "reads": "ext_authz", "attributes": attributes,
        });
        fixture.profile(tenant, &profile).await?;
    }
    fixture.rule(tenant, &rule("one", &[bucket(GENEROUS)])).await?;
    Ok(match label {
        "j" => "exact, one rule, spread by user over a cluster of three primaries",
        "k" => "exact, one rule, a primary that Sentinels name",
        AUTHORIZE => "exact, one rule, by `/authorize`",
        "m" => "exact, one rule, by Envoy's rate limit service over four connections",
        _ => "exact, one rule",
    })
}

/// A tenant at the gate.
pub fn of_gate(
    label: &'static str,
    title: &'static str,
    fixture: &Fixture,
    tenant: &Tenant,
) -> Variant {
    Variant {
        label,
        title,
        address: fixture.gate(),
        path: "/check",
        bearer: tenant.secret.clone(),
        body: check("/hot").to_string(),
        refuses: label == "g",
        pid: fixture.pid(),
        kind: Kind::Weir,
        _service: None,
    }
}

/// Creates 20 rules that match and 9,980 rules that do not.
async fn of_many(fixture: &Fixture, tenant: &Tenant) -> Result<()> {
    for at in 0..20 {
        let mut hot = rule(&format!("hot-{at}"), &[bucket(GENEROUS)]);
        hot["match"] = route("/hot");
        fixture.rule(tenant, &hot).await?;
    }
    let mut cold = rule("cold-0", &[bucket(GENEROUS)]);
    cold["match"] = route("/cold/0");
    fixture.rule(tenant, &cold).await?;
    fixture.copy_cold_rule(tenant, 9_979).await
}

/// A limit that no subject reaches.
const GENEROUS: u32 = 1_000_000;

pub fn rule(name: &str, limits: &[Value]) -> Value {
    json!({ "namespace": "api", "name": name, "count_by": ["user"], "limits": limits })
}

pub fn route(path: &str) -> Value {
    json!([{ "attribute": "route", "op": "equals", "value": path }])
}

pub fn check(route: &str) -> Value {
    json!({ "namespace": "api", "attributes": { "user": "u-SUBJECT", "route": route } })
}

pub fn bucket(per_second: u32) -> Value {
    json!({
        "algorithm": "token_bucket", "capacity": per_second, "refill_tokens": per_second,
        "refill_interval_ms": 1_000,
    })
}

fn window(per_second: u32) -> Value {
    json!({ "algorithm": "fixed_window", "limit": per_second, "window_ms": 1_000 })
}

fn counter(per_second: u32) -> Value {
    json!({ "algorithm": "sliding_window_counter", "limit": per_second, "window_ms": 1_000 })
}

/// A limit of the algorithm that names the variant. It denies nothing here.
fn alone(algorithm: &str) -> Value {
    match algorithm {
        "fixed" => window(GENEROUS),
        "log" => {
            json!({ "algorithm": "sliding_window_log", "limit": 10_000, "window_ms": 1_000 })
        }
        "counter" => counter(GENEROUS),
        "token" => bucket(GENEROUS),
        "leaky" => json!({
            "algorithm": "leaky_bucket", "capacity": GENEROUS, "drain_units": GENEROUS,
            "drain_interval_ms": 1_000,
        }),
        "spacing" => json!({ "algorithm": "spacing", "interval_ms": 1 }),
        _ => json!({
            "algorithm": "quota", "limit": 1_000_000_000, "period": "day", "time_zone": "UTC",
            "anchor_day": 1,
        }),
    }
}

fn a_day(limit: u32) -> Value {
    json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": 86_400_000 })
}

fn once_a_day() -> Value {
    json!({
        "algorithm": "token_bucket", "capacity": 1, "refill_tokens": 1,
        "refill_interval_ms": 86_400_000,
    })
}
