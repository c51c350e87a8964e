//! A Weir of our own (`weir dev`, with its Postgres and Redis) and what is made in it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use reqwest::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;
use weir_local::{Guarded, Launch, ScratchDir, StopSignal, free_port, postgres_folder};

use crate::service::POLL;

/// A running Weir; dropping it stops it and leaves nothing behind.
#[derive(Debug)]
pub struct World {
    process: Guarded,
    client: Client,
    token: String,
    addresses: Addresses,
    scratch: ScratchDir,
}

/// What `weir dev --json` prints.
#[derive(Debug, Deserialize)]
struct Addresses {
    control: String,
    gates: Vec<String>,
    email: String,
    password: String,
    database_url: String,
    redis_url: String,
}

/// A tenant made for one arm.
#[derive(Debug, Clone)]
pub struct Tenant {
    pub id: String,
    pub name: String,
    /// Of its API key.
    pub secret: String,
}

impl World {
    pub async fn start(weir: &Path) -> Result<Self> {
        let scratch = ScratchDir::create()?;
        let (process, line) = launch(weir, scratch.path()).await?;
        let addresses: Addresses = serde_json::from_str(&line).context("read weir dev's line")?;
        let client = Client::builder().timeout(Duration::from_mins(1)).build()?;
        let mut world = Self { process, client, token: String::new(), addresses, scratch };
        let login = json!({ "email": world.addresses.email, "password": world.addresses.password });
        world.token = text(&world.post("/auth/login", &login).await?, "access_token")?;
        Ok(world)
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn redis_url(&self) -> &str {
        &self.addresses.redis_url
    }

    /// Host and port of the gate.
    pub fn gate(&self) -> String {
        let url = self.addresses.gates.first().map_or("", String::as_str);
        url.replacen("http://localhost", "127.0.0.1", 1)
    }

    /// A folder for scripts and logs.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    pub async fn tenant(&self, name: &str) -> Result<Tenant> {
        let made = self.post("/tenants", &json!({ "name": name })).await?;
        let id = text(&made, "id")?;
        let key = json!({ "name": "bench", "scopes": ["check"] });
        let key = self.post(&format!("/tenants/{id}/keys"), &key).await?;
        Ok(Tenant { id, name: name.to_owned(), secret: text(&key, "secret")? })
    }

    pub async fn rule(&self, tenant: &Tenant, rule: &Value) -> Result<()> {
        self.post(&format!("/tenants/{}/rules", tenant.id), rule).await.map(drop)
    }

    /// Copies the rule `cold-0`, which asks for route `/cold/0`, so many times, with routes and
    /// names of their own, in one change: through the API each would be a change.
    pub async fn copy_cold_rule(&self, tenant: &Tenant, copies: u32) -> Result<()> {
        let name = &tenant.name;
        self.sql(&format!(
            "BEGIN;
            UPDATE rulebook_versions SET version = version + 1;
            INSERT INTO rules SELECT (jsonb_populate_record(r, jsonb_build_object(
                'id', gen_random_uuid(), 'name', 'cold-' || n,
                'spec', r.spec || jsonb_build_object('name', 'cold-' || n)
                    || jsonb_build_object('match', jsonb_build_array(
                        (r.spec -> 'match' -> 0) || jsonb_build_object('value', '/cold/' || n))))
                )).*
            FROM rules r JOIN tenants t ON t.id = r.tenant_id, generate_series(1, {copies}) n
            WHERE t.name = '{name}' AND r.name = 'cold-0';
            UPDATE tenants SET version = (SELECT version FROM rulebook_versions)
            WHERE name = '{name}';
            COMMIT;"
        ))
        .await
        .map(drop)
    }

    /// Waits until the gate answers this check with so many limits, none of them degraded.
    pub async fn served(&self, secret: &str, check: &Value, limits: usize) -> Result<()> {
        let url = format!("http://{}/check?deny_status=200", self.gate());
        let mut last = Value::Null;
        for _ in 0..SERVED_POLLS {
            let asked = self.client.post(&url).bearer_auth(secret).json(check).send().await?;
            last = asked.json().await?;
            let found = last["limits"].as_array().map_or(0, Vec::len);
            if found == limits && last["degraded"].is_null() {
                return Ok(());
            }
            tokio::time::sleep(POLL).await;
        }
        bail!("the gate does not serve {limits} limits: {last}")
    }

    /// The gate's metrics, as text.
    pub async fn metrics(&self) -> Result<String> {
        let url = format!("http://{}/metrics", self.gate());
        Ok(self.client.get(url).send().await?.text().await?)
    }

    /// Runs SQL as the owner of the database; answers what it printed.
    pub async fn sql(&self, sql: &str) -> Result<String> {
        let psql = postgres_folder()?.join("psql");
        let output = Command::new(psql)
            .args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-c", sql, &self.addresses.database_url])
            .output()
            .await
            .context("start psql")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "psql: {said}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let url = format!("{}/api/v1{path}", self.addresses.control);
        let asked = self.client.post(&url).bearer_auth(&self.token).json(body).send().await?;
        let status = asked.status();
        let answer = asked.text().await?;
        ensure!(status.is_success(), "POST {url} answered {status}: {answer}");
        serde_json::from_str(&answer).with_context(|| format!("read the answer of {url}"))
    }
}

async fn launch(weir: &Path, folder: &Path) -> Result<(Guarded, String)> {
    let base_port = two_free_ports()?;
    let printed: PathBuf = folder.join("weir.json");
    let launch = Launch::new(weir, folder, &folder.join("weir.log"))
        .args(["dev", "--json", "--gates", "1", "--redis-budget-ms", "1000", "--data-dir"])
        .args([folder.join("data")])
        .args(["--base-port", &base_port.to_string()])
        .stdout(&printed)
        .stop_by(StopSignal::Interrupt, Duration::from_secs(30));
    let process = Guarded::spawn(launch)?;
    for _ in 0..SERVED_POLLS {
        if let Some(line) = process.stdout().lines().next().filter(|it| it.ends_with('}')) {
            return Ok((process, line.to_owned()));
        }
        if let Some(code) = process.exit_code() {
            bail!("weir dev ended with {code}: {}", process.last_words());
        }
        tokio::time::sleep(POLL).await;
    }
    bail!("weir dev is not ready: {}", process.last_words())
}

fn two_free_ports() -> Result<u16> {
    for _ in 0..100 {
        let port = free_port()?;
        if std::net::TcpListener::bind(("127.0.0.1", port + 1)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no two free ports beside each other")
}

fn text(value: &Value, field: &str) -> Result<String> {
    value[field].as_str().map(str::to_owned).with_context(|| format!("no {field} in {value}"))
}

const SERVED_POLLS: u32 = 3_000;
