//! What is compared. Every arm is asked by POST with a small JSON body about one of 10,000 subjects.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use crate::service::Service;
use crate::world::{Tenant, World};

/// How many subjects ask.
pub const SUBJECTS: u32 = 10_000;

/// One thing to measure, running.
#[derive(Debug)]
pub struct Arm {
    /// What the tables call it.
    pub label: &'static str,
    pub title: &'static str,
    /// Host and port.
    pub address: String,
    pub path: &'static str,
    pub bearer: String,
    /// The body, with the word `SUBJECT` where the subject's number goes.
    pub body: String,
    /// Whether every answer is to be a refusal.
    pub refuses: bool,
    /// The process that answers.
    pub pid: u32,
    pub kind: Kind,
    /// Kept so that it runs as long as the arm.
    _service: Option<Service>,
}

/// What stands behind an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but HTTP.
    Constant,
    /// Another limiter that asks Redis.
    Plain,
    /// A limiter that asks nobody.
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

/// Starts an arm; `None`: its program is not there.
pub async fn start(
    label: &'static str,
    world: &World,
    programs: Programs<'_>,
) -> Result<Option<Arm>> {
    let log = world.folder().join(format!("{label}.log"));
    Ok(match label {
        "a" | "i" => {
            let start = |address: &str, it: weir_local::Launch| it.args([address]);
            let service = Service::start(programs.constant, &log, start).await?;
            let short = other("a", "the ceiling: the same HTTP set-up, a constant", service);
            Some(if label == "a" { short } else { long(short) })
        }
        "b" => {
            let url = world.redis_url();
            let ourselves = std::env::current_exe()?;
            let start = |address: &str, it: weir_local::Launch| {
                it.args(["plain", "--listen", address]).env("PLAIN_REDIS_URL", url)
            };
            let service = Service::start(&ourselves, &log, start).await?;
            Some(other("b", "a plain limiter: one `EVALSHA` per request", service))
        }
        "c" => match programs.throttlecrab {
            Some(program) => Some(throttlecrab(program, &log).await?),
            None => None,
        },
        _ => Some(weir(label, world).await?),
    })
}

/// All arms, in the order of the table.
pub const LABELS: [&str; 19] = [
    "a", "b", "c", "d", "e", "e2", "f", "g", "h", "i", "fixed", "log", "counter", "token", "leaky",
    "spacing", "quota", "shadow", "block",
];

/// The title of arm (c), which may be missing.
pub const THROTTLECRAB: &str = "throttlecrab-server: in memory, no Redis, no tenants";

async fn throttlecrab(program: &Path, log: &Path) -> Result<Arm> {
    let start = |address: &str, it: weir_local::Launch| {
        let port = address.rsplit(':').next().unwrap_or_default();
        it.args(["--http", "--http-host", "127.0.0.1", "--http-port", port])
            .args(["--log-level", "error"])
    };
    let service = Service::start(program, log, start).await?;
    let body = json!({
        "key": "SUBJECT", "max_burst": 1_000_000, "count_per_period": 1_000_000, "period": 1,
        "quantity": 1,
    });
    let mut arm = other("c", THROTTLECRAB, service);
    arm.kind = Kind::InMemory;
    arm.path = "/throttle";
    arm.body = body.to_string();
    Ok(arm)
}

fn other(label: &'static str, title: &'static str, service: Service) -> Arm {
    Arm {
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

/// The ceiling for answers of a gate's length.
fn long(short: Arm) -> Arm {
    let title = "the same constant, as long as the answer of (d)";
    Arm { label: "i", title, path: "/check/long", ..short }
}

async fn weir(label: &'static str, world: &World) -> Result<Arm> {
    let tenant = world.tenant(&format!("bench {label}")).await?;
    let (title, limits) = match label {
        "d" => {
            world.rule(&tenant, &rule("one", &[bucket(GENEROUS)])).await?;
            ("exact, one rule", 1)
        }
        "e" => {
            for at in 0..5 {
                let limits = [bucket(GENEROUS), window(GENEROUS)];
                world.rule(&tenant, &rule(&format!("rule-{at}"), &limits)).await?;
            }
            ("exact, 5 rules of 2 limits", 10)
        }
        "e2" => {
            for at in 0..5 {
                let limit = |at: usize| {
                    [window(GENEROUS), bucket(GENEROUS), counter(GENEROUS)][at % 3].clone()
                };
                let limits = [limit(2 * at), limit(2 * at + 1)];
                world.rule(&tenant, &rule(&format!("rule-{at}"), &limits)).await?;
            }
            ("exact, 5 rules of 2 limits: fixed window, token bucket, sliding window counter", 10)
        }
        "f" => {
            of_many(world, &tenant).await?;
            ("exact, 20 of 10,000 rules match", 20)
        }
        "g" => {
            world.rule(&tenant, &rule("flood", &[once_a_day()])).await?;
            ("a flood: every check denied", 1)
        }
        "fixed" | "log" | "counter" | "token" | "leaky" | "spacing" | "quota" => {
            let mut rule = rule(label, &[alone(label)]);
            if label == "spacing" {
                // Some subject always asks again too soon.
                rule["mode"] = json!("shadow");
            }
            world.rule(&tenant, &rule).await?;
            ("exact, one rule of one limit of this algorithm", 1)
        }
        "shadow" => {
            world.rule(&tenant, &rule("enforced", &[window(GENEROUS)])).await?;
            let mut shadow = rule("shadow", &[window(GENEROUS)]);
            shadow["mode"] = json!("shadow");
            world.rule(&tenant, &shadow).await?;
            ("a fixed window, and another of a shadow rule", 2)
        }
        "block" => {
            let mut block = rule("block", &[window(GENEROUS)]);
            block["block_ms"] = json!(1_000);
            world.rule(&tenant, &block).await?;
            ("a fixed window of a rule with a block", 1)
        }
        _ => {
            let mut leased = rule("leased", &[a_day(1_000_000_000)]);
            leased["consistency"] = json!("leased");
            world.rule(&tenant, &leased).await?;
            ("leased, one fixed window", 1)
        }
    };
    world.served(&tenant.secret, &check("/hot"), limits).await?;
    Ok(of_gate(label, title, world, &tenant))
}

/// A tenant at the gate.
pub fn of_gate(label: &'static str, title: &'static str, world: &World, tenant: &Tenant) -> Arm {
    Arm {
        label,
        title,
        address: world.gate(),
        path: "/check",
        bearer: tenant.secret.clone(),
        body: check("/hot").to_string(),
        refuses: label == "g",
        pid: world.pid(),
        kind: Kind::Weir,
        _service: None,
    }
}

/// 20 rules that match and 9,980 that do not.
async fn of_many(world: &World, tenant: &Tenant) -> Result<()> {
    for at in 0..20 {
        let mut hot = rule(&format!("hot-{at}"), &[bucket(GENEROUS)]);
        hot["match"] = route("/hot");
        world.rule(tenant, &hot).await?;
    }
    let mut cold = rule("cold-0", &[bucket(GENEROUS)]);
    cold["match"] = route("/cold/0");
    world.rule(tenant, &cold).await?;
    world.copy_cold_rule(tenant, 9_979).await
}

/// More than anybody here asks for.
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

/// The limit of an arm that is named for its algorithm; it denies nothing here.
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
