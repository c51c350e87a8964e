//! `weir dev --demo`: a tenant with rules, a day of generated statistics, and live traffic.

mod callers;
mod history;
mod live;
mod rules;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use axum::Router;
use axum::http::StatusCode;
use reqwest::Client;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::net::TcpListener;
use weir_domain::id::{GateId, RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_store::{Flush, PoolSettings, Role, Store};
use weir_wire::time::DateTime;

use self::history::History;
use self::rules::DemoRule;
use super::addresses::Addresses;
use super::admin::{Admin, text};
use super::demo::{self, Demo};
use super::private_file::write_private;
use crate::edge;
use crate::running::Running;

/// The name says which of its statistics are not real.
pub const TENANT_NAME: &str = "Demo, generated past";
/// The time after the start at which a limit is edited, once.
const EDIT_AFTER: Duration = Duration::from_secs(30);
const FIRST_REVISION: u64 = 1;
const TIMEOUT: Duration = Duration::from_secs(10);
const READY_DEADLINE: Duration = Duration::from_secs(30);

/// The tenant that has traffic.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TrafficTenant {
    pub tenant: String,
    pub api_key: String,
    /// Statistics before this time are generated.
    pub generated_until: DateTime,
}

/// Makes the tenant of this data folder at first use, and starts its traffic, which ends with the process.
pub async fn start(
    addresses: &Addresses,
    demo: &Demo,
    data_dir: &Path,
    receiver: TcpListener,
    running: &Running,
) -> anyhow::Result<TrafficTenant> {
    let client = Client::builder().timeout(TIMEOUT).build()?;
    let port = receiver.local_addr().context("read the address of the receiver")?.port();
    receive(receiver, running);
    let file = data_dir.join("demo-traffic.json");
    let tenant: TrafficTenant = match fs::read_to_string(&file) {
        Ok(text) => {
            serde_json::from_str(&text).with_context(|| format!("read {}", file.display()))?
        }
        Err(_) => {
            let admin = demo::sign_in(&client, &addresses.control, demo).await?;
            let (made, edited) =
                make(&admin, addresses, port).await.context("make the tenant with traffic")?;
            write_private(&file, &serde_json::to_string(&made)?)?;
            edit_later(
                &client,
                addresses,
                demo,
                format!("/tenants/{}/rules/{edited}", made.tenant),
                running,
            );
            made
        }
    };
    let sending =
        live::send(client, addresses.gates.clone(), tenant.api_key.clone(), edge::clock());
    let stop = running.stop.clone();
    running.spawn("traffic of the demo", async move {
        stop.run_until_cancelled(sending).await;
    });
    Ok(tenant)
}

/// Accepts the messages of the tenant's alerts.
fn receive(listener: TcpListener, running: &Running) {
    let router = Router::new().fallback(async || StatusCode::NO_CONTENT);
    let stop = running.stop.clone();
    running.spawn("receiver of the demo's alerts", async move {
        stop.run_until_cancelled(axum::serve(listener, router).into_future()).await;
    });
}

/// Edits the first rule when its first revision has decided some checks.
fn edit_later(
    client: &Client,
    addresses: &Addresses,
    demo: &Demo,
    rule: String,
    running: &Running,
) {
    let (client, control, demo) = (client.clone(), addresses.control.clone(), demo.clone());
    running.spawn_check("edit of the demo", async move {
        tokio::time::sleep(EDIT_AFTER).await;
        let edited = async {
            let admin = demo::sign_in(&client, &control, &demo).await?;
            admin.put(&rule, &rules::edited_rule(), FIRST_REVISION).await
        };
        if let Err(error) = edited.await {
            tracing::warn!(error = format!("{error:#}"), "could not edit a rule of the demo");
        }
        Ok(())
    });
}

/// Returns the tenant, and the id of the rule to edit.
async fn make(
    admin: &Admin<'_>,
    addresses: &Addresses,
    receiver_port: u16,
) -> anyhow::Result<(TrafficTenant, RuleId)> {
    let tenant = text(&admin.post("/tenants", &json!({ "name": TENANT_NAME })).await?, "/id")?;
    let home = format!("/tenants/{tenant}");
    let mut rules = Vec::new();
    for rule in rules::rules() {
        let made = admin.post(&format!("{home}/rules"), &rule.body).await?;
        let id = text(&made, "/id")?;
        for own in &rule.overrides {
            let mut body = own.body.clone();
            body["rule_id"] = json!(id);
            body["subject"] = json!({ rule.count_by: own.value });
            admin.post(&format!("{home}/overrides"), &body).await?;
        }
        rules.push((id.parse::<RuleId>().map_err(|error| anyhow!("the rule's id {error}"))?, rule));
    }
    make_alerts(admin, &home, &rules, receiver_port).await?;
    let key = json!({ "name": "traffic", "scopes": ["check"] });
    let api_key = text(&admin.post(&format!("{home}/keys"), &key).await?, "/secret")?;
    let peek = json!({ "namespace": "api", "mode": "peek", "attributes": { "customer": "ready" } });
    for gate in &addresses.gates {
        let ready = demo::until_ready(admin.client, gate, &api_key, &peek);
        tokio::time::timeout(READY_DEADLINE, ready).await.context("wait for the gates")?;
    }
    record_tokens(admin.client, addresses, &api_key).await?;
    let generated_until = write_history(addresses, &tenant, &rules).await?;
    let edited = rules.first().map(|(id, _)| *id).context("there are rules")?;
    Ok((TrafficTenant { tenant, api_key, generated_until: generated_until.into() }, edited))
}

async fn make_alerts(
    admin: &Admin<'_>,
    home: &str,
    rules: &[(RuleId, DemoRule)],
    receiver_port: u16,
) -> anyhow::Result<()> {
    let url = format!("http://127.0.0.1:{receiver_port}/");
    let webhook = json!({ "name": "on call", "url": url });
    let webhook = text(&admin.post(&format!("{home}/webhooks"), &webhook).await?, "/webhook/id")?;
    let tokens = rules.iter().find(|(_, rule)| rule.name() == "tokens-per-team");
    let tokens = tokens.map(|(id, _)| id.to_string());
    for (mut alert, rule) in [(rules::denial_alert(), None), (rules::token_alert(), tokens)] {
        alert["webhook_ids"] = json!([webhook]);
        alert["rule_id"] = json!(rule);
        admin.post(&format!("{home}/alerts"), &alert).await?;
    }
    Ok(())
}

/// Records what each team has used in this month, so that the counters have it.
async fn record_tokens(
    client: &Client,
    addresses: &Addresses,
    api_key: &str,
) -> anyhow::Result<()> {
    let gate = addresses.gates.first().context("there is a gate")?;
    for (team, cost) in rules::TOKENS_USED {
        let body = json!({ "namespace": "models", "attributes": { "team": team }, "cost": cost });
        let request = client.post(format!("{gate}/record")).bearer_auth(api_key).json(&body);
        let status = request.send().await.context("record tokens")?.status();
        if !status.is_success() {
            bail!("the gate answered {status} to a record of tokens");
        }
    }
    Ok(())
}

/// Writes the statistics of the day before this minute. Returns its start.
async fn write_history(
    addresses: &Addresses,
    tenant: &str,
    rules: &[(RuleId, DemoRule)],
) -> anyhow::Result<Timestamp> {
    let tenant: TenantId = tenant.parse().map_err(|error| anyhow!("the tenant's id {error}"))?;
    let now = edge::clock().now();
    let until = Timestamp::from_millis(now.as_millis().div_euclid(60_000) * 60_000);
    let flush = Flush {
        gate_id: GateId::new(now, edge::random_u128()),
        boot_id: edge::random_u128(),
        region: None,
        oldest_minute: History::oldest_minute(until),
        age: Duration::ZERO,
    };
    // The machine is busy while everything starts.
    let settings =
        PoolSettings { begin_timeout: TIMEOUT, answer_timeout: TIMEOUT, ..PoolSettings::default() };
    let store = Store::connect(&addresses.gate_database_url, Role::Gate, &settings)
        .context("read the address of postgres")?;
    let written = History::generate(tenant, rules, until).write(&store, &flush).await;
    store.close().await;
    written.context("write the generated statistics")?;
    Ok(until)
}
