//! The processes to measure (a control plane, a gate, Postgres and Redis), with their tenants and rules.
//!
//! The gate is a separate process, so that its processor time and memory can be measured.

mod processes;
mod regions;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tokio::process::Command;
use weir_local::{Redis, Relay, ScratchDir, free_port, postgres_folder};

use self::processes::{
    DATABASE, STATE, Servers, ToRedis, migrate, secret, start_control, start_gate,
};
pub use self::regions::Regions;
use crate::redis_servers::Topology;
use crate::service::{POLL, Service};

/// A running installation. Dropping it stops it and removes its data.
#[derive(Debug)]
pub struct Fixture {
    weir: PathBuf,
    client: Client,
    /// The e-mail address and the password of the account that owns the tenants, as the body of a sign-in.
    login: Value,
    token: String,
    /// The key of the control plane, in base64.
    signing_key: String,
    // The fields are dropped in this order, which stops the processes in this order.
    gate: Service,
    control: Service,
    servers: Servers,
    scratch: ScratchDir,
    to_redis: ToRedis,
    /// The address of the gate's rate limit service.
    rls: String,
}

/// A tenant for one variant.
#[derive(Debug, Clone)]
pub struct Tenant {
    pub id: String,
    pub name: String,
    /// The secret of its API key.
    pub secret: String,
}

impl Fixture {
    /// Starts an installation whose gate waits up to a second for Redis, because the benchmark keeps the machine busy.
    pub async fn start(weir: &Path) -> Result<Self> {
        Self::with_budget(weir, 1_000).await
    }

    /// Starts the same with Redis of another kind.
    pub async fn of(weir: &Path, topology: Topology) -> Result<Self> {
        Self::with(weir, topology, Some(1_000), None).await
    }

    /// Starts an installation whose gate waits `budget_ms` for Redis.
    pub async fn with_budget(weir: &Path, budget_ms: u64) -> Result<Self> {
        Self::with(weir, Topology::Server, Some(budget_ms), None).await
    }

    /// Starts an installation whose gate has the default budget and reaches Redis and back in this time.
    pub async fn distant(weir: &Path, round_trip: Duration) -> Result<Self> {
        Self::with(weir, Topology::Server, None, Some(round_trip)).await
    }

    async fn with(
        weir: &Path,
        topology: Topology,
        budget_ms: Option<u64>,
        round_trip: Option<Duration>,
    ) -> Result<Self> {
        let scratch = ScratchDir::create()?;
        let folder = scratch.path().to_owned();
        let start = move || Servers::start(topology, &folder);
        let servers = tokio::task::spawn_blocking(start).await??;
        migrate(weir, &servers).await?;
        let signing_key = secret()?;
        let control = start_control(weir, scratch.path(), &servers, &signing_key).await?;
        let relay = round_trip.map(|round_trip| {
            let [redis] = servers.redis.primaries() else { bail!("Redis must be one server") };
            let relay = Relay::start(redis.port())?;
            relay.set_round_trip(round_trip);
            anyhow::Ok(relay)
        });
        let to_redis = ToRedis { budget_ms, relay: relay.transpose()? };
        let rls = format!("127.0.0.1:{}", free_port()?);
        let gate = start_gate(weir, scratch.path(), &servers, &to_redis, &rls).await?;
        let client = Client::builder().timeout(Duration::from_mins(1)).build()?;
        let login = json!({ "email": "bench@example.com", "password": secret()? });
        let mut signup = login.clone();
        signup["tenant_name"] = json!("Bench");
        let (weir, token) = (weir.to_owned(), String::new());
        let mut fixture = Self {
            weir,
            client,
            login,
            token,
            signing_key,
            gate,
            control,
            servers,
            scratch,
            to_redis,
            rls,
        };
        fixture.token = text(&fixture.post("/auth/signup", &signup).await?, "access_token")?;
        Ok(fixture)
    }

    /// The process id of the gate.
    pub fn pid(&self) -> u32 {
        self.gate.pid()
    }

    pub fn redis_url(&self) -> String {
        self.servers.redis.url()
    }

    /// The servers of Redis that decide checks.
    pub fn redis_primaries(&self) -> &[Redis] {
        self.servers.redis.primaries()
    }

    /// The host and port of the gate.
    pub fn gate(&self) -> String {
        self.gate.address.clone()
    }

    /// The host and port of the gate's rate limit service.
    pub fn rls(&self) -> String {
        self.rls.clone()
    }

    /// A folder for scripts and logs.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Stops the gate and deletes its snapshot.
    pub fn stop_gate(&mut self) -> Result<()> {
        self.gate.stop();
        fs::remove_dir_all(self.scratch.path().join(STATE)).context("delete the snapshot")
    }

    /// Starts another gate after [`Fixture::stop_gate`]. Returns the time until it serves this version of the rulebook.
    pub async fn start_gate(&mut self, version: u64) -> Result<Duration> {
        let begun = Instant::now();
        self.gate =
            start_gate(&self.weir, self.scratch.path(), &self.servers, &self.to_redis, &self.rls)
                .await?;
        self.until_served(version).await?;
        Ok(begun.elapsed())
    }

    /// Waits until the gate serves this version of the rulebook or a newer one.
    pub async fn until_served(&self, version: u64) -> Result<()> {
        let url = format!("http://{}/readyz", self.gate());
        let until = Instant::now() + SERVED_LIMIT;
        while Instant::now() < until {
            let asked = self.client.get(&url).send().await?;
            let ready: Value = asked.json().await?;
            if ready["rulebook_version"].as_u64().is_some_and(|served| served >= version) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        bail!("the gate does not serve version {version} of the rulebook")
    }

    /// The newest version of the rulebook.
    pub async fn version(&self) -> Result<u64> {
        let version = self.sql("SELECT version FROM rulebook_versions").await?;
        version.parse().context("read the version")
    }

    pub async fn tenant(&self, name: &str) -> Result<Tenant> {
        let made = self.post("/tenants", &json!({ "name": name })).await?;
        let id = text(&made, "id")?;
        let key = json!({ "name": "bench", "scopes": ["check"] });
        let key = self.post(&format!("/tenants/{id}/keys"), &key).await?;
        Ok(Tenant { id, name: name.to_owned(), secret: text(&key, "secret")? })
    }

    /// Creates a rule. Returns the version of the rulebook that contains it.
    pub async fn rule(&self, tenant: &Tenant, rule: &Value) -> Result<u64> {
        let made = self.post(&format!("/tenants/{}/rules", tenant.id), rule).await?;
        made["rulebook_version"].as_u64().context("the version of the new rule")
    }

    /// Creates a profile.
    pub async fn profile(&self, tenant: &Tenant, profile: &Value) -> Result<()> {
        self.post(&format!("/tenants/{}/profiles", tenant.id), profile).await?;
        Ok(())
    }

    /// Spreads the counters of a new namespace by the values of these attributes.
    pub async fn spread(&self, tenant: &Tenant, namespace: &str, by: &[&str]) -> Result<()> {
        let control = &self.control.address;
        let url = format!("http://{control}/api/v1/tenants/{}/namespaces/{namespace}", tenant.id);
        let request = self.client.put(&url).bearer_auth(&self.token).header("if-match", "\"0\"");
        let response = request.json(&json!({ "spread_by": by })).send().await?;
        let status = response.status();
        ensure!(status.is_success(), "PUT {url} answered {status}: {}", response.text().await?);
        Ok(())
    }

    /// Copies the rule `cold-0`, which matches route `/cold/0`, `copies` times in one change; each copy has a route and a
    /// name of its own. Through the API, each copy would be a change.
    pub async fn copy_cold_rule(&self, tenant: &Tenant, copies: u32) -> Result<()> {
        let name = &tenant.name;
        self.sql(&format!(
            "INSERT INTO rules SELECT (jsonb_populate_record(r, jsonb_build_object(
                'id', gen_random_uuid(), 'name', 'cold-' || n,
                'spec', r.spec || jsonb_build_object('name', 'cold-' || n)
                    || jsonb_build_object('match', jsonb_build_array(
                        (r.spec -> 'match' -> 0) || jsonb_build_object('value', '/cold/' || n))))
                )).*
            FROM rules r JOIN tenants t ON t.id = r.tenant_id, generate_series(1, {copies}) n
            WHERE t.name = '{name}' AND r.name = 'cold-0'"
        ))
        .await
        .map(drop)
    }

    /// Waits until the gate answers this check with this number of limits and without degradation.
    pub async fn served(&self, secret: &str, check: &Value, limits: usize) -> Result<()> {
        let url = format!("http://{}/check?deny_status=200", self.gate());
        let mut last = Value::Null;
        let until = Instant::now() + SERVED_LIMIT;
        while Instant::now() < until {
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

    /// Runs SQL as the owner of the database. Returns its output.
    pub async fn sql(&self, sql: &str) -> Result<String> {
        let psql = postgres_folder()?.join("psql");
        let output = Command::new(psql)
            .args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-c", sql])
            .arg(self.servers.postgres.url(DATABASE))
            .output()
            .await
            .context("start psql")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "psql: {said}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// The body of a sign-in.
    pub fn login(&self) -> &Value {
        &self.login
    }

    /// Sends a request to the control plane that must succeed.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let (status, answer) = self.send(Method::POST, path, Some(body)).await?;
        ensure!(status.is_success(), "POST {path} answered {status}: {answer}");
        Ok(answer)
    }

    /// Sends a request to the control plane. The answer is null if it has no body.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value)> {
        let url = format!("http://{}/api/v1{path}", self.control.address);
        let mut request = self.client.request(method, &url).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await?;
        let (status, body) = (response.status(), response.bytes().await?);
        if body.is_empty() {
            return Ok((status, Value::Null));
        }
        let answer = serde_json::from_slice(&body);
        Ok((status, answer.with_context(|| format!("read the answer of {url}"))?))
    }
}

fn text(value: &Value, field: &str) -> Result<String> {
    value[field].as_str().map(str::to_owned).with_context(|| format!("no {field} in {value}"))
}

const SERVED_LIMIT: Duration = Duration::from_mins(2);
