//! The demo's account, tenant, rules and key. They are created through the public API.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use reqwest::{Client, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::addresses::Addresses;
use super::admin::{Admin, text};
use super::private_file::write_private;
use crate::user::random_password;

/// The credentials of the demo.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Demo {
    pub email: String,
    pub password: String,
    pub tenant: String,
    /// A key with the scopes of [`KEY_SCOPES`].
    pub api_key: String,
    /// Whether the key has the scope `write`. An older data folder has one without.
    #[serde(default)]
    pub writes: bool,
}

/// For checks, rules as code, and settings of the tenant.
const KEY_SCOPES: [&str; 2] = ["check", "admin"];
const EMAIL: &str = "demo@example.com";
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Creates the demo of this data folder at first use. Returns when every gate serves it.
pub async fn prepare(
    addresses: &Addresses,
    data_dir: &Path,
    deadline: Duration,
) -> anyhow::Result<Demo> {
    let file = data_dir.join("demo.json");
    let client = Client::builder().timeout(Duration::from_secs(10)).build()?;
    let stored: Option<Demo> = match std::fs::read_to_string(&file) {
        Ok(text) => {
            Some(serde_json::from_str(&text).with_context(|| format!("read {}", file.display()))?)
        }
        Err(_) => None,
    };
    let demo = match stored {
        Some(demo) if demo.writes => demo,
        stored => {
            let made = match stored {
                Some(demo) => with_new_key(&client, &addresses.control, demo).await,
                None => make(&client, &addresses.control).await,
            };
            let demo = made.context("make the demo")?;
            write_private(&file, &serde_json::to_string(&demo)?)?;
            demo
        }
    };
    let peek = json!({ "namespace": "api", "mode": "peek", "attributes": { "user": "ready", "route": "/login" } });
    let ready = async {
        for gate in &addresses.gates {
            until_ready(&client, gate, &demo.api_key, &peek).await;
        }
    };
    if tokio::time::timeout(deadline, ready).await.is_err() {
        bail!("the gates were not ready after {} s; see the log above", deadline.as_secs());
    }
    Ok(demo)
}

async fn make(client: &Client, control: &str) -> anyhow::Result<Demo> {
    let mut admin = Admin { client, control, token: None };
    let password = random_password();
    let body = json!({ "email": EMAIL, "password": password, "tenant_name": "Demo" });
    let signed_up = admin.post("/auth/signup", &body).await?;
    admin.token = Some(text(&signed_up, "/access_token")?);
    let tenant = text(&signed_up, "/tenant/id")?;
    for rule in rules() {
        admin.post(&format!("/tenants/{tenant}/rules"), &rule).await?;
    }
    let api_key = key(&admin, &tenant).await?;
    Ok(Demo { email: EMAIL.to_owned(), password, tenant, api_key, writes: true })
}

/// The demo of an older data folder, with a key that also writes.
async fn with_new_key(client: &Client, control: &str, demo: Demo) -> anyhow::Result<Demo> {
    let admin = sign_in(client, control, &demo).await?;
    let api_key = key(&admin, &demo.tenant).await?;
    Ok(Demo { api_key, writes: true, ..demo })
}

/// The admin API with the credentials of the demo's account.
pub async fn sign_in<'a>(
    client: &'a Client,
    control: &'a str,
    demo: &Demo,
) -> anyhow::Result<Admin<'a>> {
    let admin = Admin { client, control, token: None };
    let body = json!({ "email": demo.email, "password": demo.password });
    let login = admin.post("/auth/login", &body).await?;
    Ok(Admin { token: Some(text(&login, "/access_token")?), ..admin })
}

async fn key(admin: &Admin<'_>, tenant: &str) -> anyhow::Result<String> {
    let body = json!({ "name": "demo", "scopes": KEY_SCOPES });
    text(&admin.post(&format!("/tenants/{tenant}/keys"), &body).await?, "/secret")
}

/// Waits until a gate accepts a key and reaches Redis.
pub async fn until_ready(client: &Client, gate: &str, api_key: &str, peek: &Value) {
    loop {
        let asked = client.post(format!("{gate}/check")).bearer_auth(api_key).json(peek);
        if let Ok(response) = asked.send().await
            && response.status() == StatusCode::OK
            && let Ok(answer) = response.json::<Value>().await
            && answer["degraded"].is_null()
        {
            return;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// A few rules that are typical first ones.
fn rules() -> [Value; 4] {
    [
        json!({
            "namespace": "api", "name": "login-per-user",
            "description": "Five sign-ins a minute for each user, in any minute.",
            "match": [{ "attribute": "route", "op": "equals", "value": "/login" }],
            "count_by": ["user"],
            "limits": [{ "algorithm": "sliding_window_log", "limit": 5, "window_ms": 60_000 }],
        }),
        json!({
            "namespace": "api", "name": "api-per-user",
            "description": "Bursts of 100, then 10 a second.",
            "match": [{ "attribute": "route", "op": "prefix", "value": "/v1/" }],
            "count_by": ["user"],
            "limits": [{ "algorithm": "token_bucket", "capacity": 100, "refill_tokens": 10, "refill_interval_ms": 1_000 }],
            "on_store_failure": "local",
        }),
        json!({
            "namespace": "email", "name": "email-per-recipient",
            "description": "Not more than one e-mail in ten seconds and 20 a day to one address.",
            "count_by": ["recipient"],
            "limits": [
                { "algorithm": "spacing", "interval_ms": 10_000 },
                { "algorithm": "quota", "limit": 20, "period": "day", "time_zone": "UTC" },
            ],
        }),
        json!({
            "namespace": "jobs", "name": "reports-queue",
            "description": "Two reports a second; up to ten wait their turn.",
            "count_by": [],
            "limits": [{ "algorithm": "leaky_bucket", "capacity": 10, "drain_units": 2, "drain_interval_ms": 1_000 }],
            "on_store_failure": "deny",
        }),
    ]
}
