//! A tenant that sends as many checks as the API permits: batches of 100 checks over four connections, without pause.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reqwest::Client;
use serde_json::{Value, json};

use crate::closed::Flood;
use crate::fixture::{Fixture, Tenant};
use crate::numbers::float;
use crate::variants;

#[derive(Debug)]
pub(super) struct Attack {
    pub(super) title: String,
    tenant: Tenant,
}

const CONNECTIONS: u16 = 4;
const BATCH: usize = 100;
/// The number of subjects of a batch whose keys have a wrong type: three in ten.
const DAMAGED: usize = BATCH * 3 / 10;
const PREPARED_AT_A_TIME: usize = 5;
/// The number of rules that a check matches. Together they have as many limits as a check can match.
const RULES_MET: usize = 8;
const LIMITS: u32 = 8;
/// The number of rules of the namespace that do not match.
const COLD_RULES: u32 = 900;
/// The number of rules with the patterns of S-63; each has 16.
const PATTERN_RULES: usize = 300;
const PATTERNS: usize = 16;

impl Attack {
    /// An attack whose checks match 64 limits each.
    pub(super) async fn many_limits(fixture: &Fixture) -> Result<Self> {
        let tenant = with_many_limits(fixture, "limits").await?;
        Ok(Self { title: "64 limits a check".to_owned(), tenant })
    }

    /// The same attack, with a key of a wrong type for three in ten of its subjects.
    pub(super) async fn wrong_types(fixture: &Fixture) -> Result<Self> {
        let tenant = with_many_limits(fixture, "damaged").await?;
        let client = Client::new();
        // Small batches, which Redis decides within the budget of the gate.
        for first in (0..BATCH).step_by(PREPARED_AT_A_TIME) {
            let body = batch(first, PREPARED_AT_A_TIME);
            ask(&client, &batch_url(fixture), &tenant.secret, &body).await?;
        }
        let damaged = damage(fixture, &tenant).await.context("damage keys")?;
        ensure!(damaged == DAMAGED, "{damaged} subjects have a damaged key, not {DAMAGED}");
        Ok(Self { title: format!("64 limits a check, {damaged} damaged subjects of 100"), tenant })
    }

    /// An attack with as many patterns as the API admits, up to 4,800.
    pub(super) async fn many_patterns(fixture: &Fixture) -> Result<Self> {
        let tenant = fixture.tenant("patterns").await?;
        let mut admitted = 0;
        for rule in 0..PATTERN_RULES {
            let conditions: Vec<_> = (0..PATTERNS).map(|at| pattern(rule, at)).collect();
            let mut body = variants::rule(&format!("rule-{rule}"), &[variants::bucket(1_000_000)]);
            body["match"] = conditions.into();
            if fixture.rule(&tenant, &body).await.is_err() {
                break;
            }
            admitted += PATTERNS;
        }
        Ok(Self { title: format!("{admitted} patterns"), tenant })
    }

    /// Sends batches for this time. Returns the number of checks that were answered per second.
    pub(super) async fn run(&self, fixture: &Fixture, length: Duration) -> Result<f64> {
        let flood = Flood {
            label: "attack",
            address: fixture.gate(),
            path: "/check/batch",
            bearer: self.tenant.secret.clone(),
            body: batch(0, BATCH).to_string(),
        };
        let run = flood.run(CONNECTIONS, length, fixture.folder()).await?;
        ensure!(run.refusals == 0, "{} batches were refused", run.refusals);
        Ok(run.per_second * float(BATCH as u64))
    }
}

async fn with_many_limits(fixture: &Fixture, name: &str) -> Result<Tenant> {
    let tenant = fixture.tenant(name).await?;
    for at in 0..RULES_MET {
        let limits: Vec<_> = (1..=LIMITS).map(limit).collect();
        let mut hot = variants::rule(&format!("hot-{at}"), &limits);
        hot["match"] = variants::route("/hot");
        fixture.rule(&tenant, &hot).await?;
    }
    let mut cold = variants::rule("cold-0", &[limit(1)]);
    cold["match"] = variants::route("/cold/0");
    fixture.rule(&tenant, &cold).await?;
    fixture.copy_cold_rule(&tenant, COLD_RULES).await?;
    fixture.served(&tenant.secret, &variants::check("/hot"), RULES_MET * LIMITS as usize).await?;
    Ok(tenant)
}

fn limit(seconds: u32) -> Value {
    json!({ "algorithm": "fixed_window", "limit": 1_000_000_000, "window_ms": 1_000 * seconds })
}

/// A pattern like those of S-63, which does not match in the end.
fn pattern(rule: usize, at: usize) -> Value {
    let last = if at + 1 == PATTERNS { "x" } else { "" };
    json!({
        "attribute": "route", "op": "regex", "value": format!("(.*a){{25}}(z{rule}y{at})?{last}"),
    })
}

/// A batch of checks of consecutive subjects that starts with this number.
fn batch(first: usize, checks: usize) -> Value {
    let check = |at: usize| json!({ "namespace": "api", "attributes": { "user": format!("a-{}", first + at), "route": "/hot" } });
    json!({ "checks": (0..checks).map(check).collect::<Vec<_>>() })
}

fn batch_url(fixture: &Fixture) -> String {
    format!("http://{}/check/batch", fixture.gate())
}

async fn ask(client: &Client, url: &str, secret: &str, body: &Value) -> Result<()> {
    let asked = client.post(url).timeout(Duration::from_mins(1)).bearer_auth(secret).json(body);
    asked.send().await?.bytes().await?;
    Ok(())
}

/// Changes the type of the keys of three in ten subjects. Returns the number of these keys.
async fn damage(fixture: &Fixture, tenant: &Tenant) -> Result<usize> {
    let client = redis::Client::open(fixture.redis_url())?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    let pattern = format!("weir:*:{}:*:s:*", tenant.id);
    let keys: Vec<String> = redis::cmd("KEYS").arg(pattern).query_async(&mut connection).await?;
    let damaged: Vec<_> = keys.iter().take(DAMAGED).collect();
    for key in &damaged {
        redis::cmd("SET").arg(key).arg("not a hash").query_async::<()>(&mut connection).await?;
    }
    Ok(damaged.len())
}
