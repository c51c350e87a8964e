//! The admin API, as these commands call it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use weir_wire::alerts::Alert;
use weir_wire::apply::{ApplyAnswer, ApplyBody};
use weir_wire::overrides::OverrideAnswer;
use weir_wire::page::Page;
use weir_wire::plans::{AssignmentAnswer, PlanAnswer};
use weir_wire::problem::{ErrorCode, FieldProblem, ProblemBody};
use weir_wire::profiles::ProfileAnswer;
use weir_wire::replicas::Replicas;
use weir_wire::rules::RuleAnswer;
use weir_wire::webhooks::Webhook;

use super::files;

/// The longest time for an answer. An apply of a thousand rules takes seconds.
const DEADLINE: Duration = Duration::from_mins(1);
const KEY_FILE_BYTES_MAX: u64 = 16 * 1024;
const PAGE: usize = 200;

/// A control plane, a tenant and a key.
#[derive(Debug, Args)]
pub struct Address {
    /// URL of the control plane (not of a gate), such as <https://weir.example>
    #[arg(long, env = "WEIR_URL")]
    url: Option<String>,
    /// The id of the tenant, `tenant_…`
    #[arg(long, env = "WEIR_TENANT")]
    tenant: Option<String>,
    /// An API key with the scope `write`. Other users of this machine can read arguments
    #[arg(long, env = "WEIR_KEY", hide_env_values = true)]
    key: Option<String>,
    /// A file with the key
    #[arg(long, env = "WEIR_KEY_FILE", conflicts_with = "key")]
    key_file: Option<PathBuf>,
}

/// A client of the admin API.
#[derive(Debug)]
pub struct Api {
    client: reqwest::Client,
    root: String,
    base: String,
    key: String,
}

/// The answer to an apply.
#[derive(Debug)]
pub enum Applied {
    /// The plan.
    Plan(Box<ApplyAnswer>),
    /// The fields that were refused.
    Refused(Vec<FieldProblem>),
}

/// The key of an argument or a file.
pub fn key(key: Option<&str>, file: Option<&PathBuf>) -> anyhow::Result<String> {
    let key = match (key, file) {
        (Some(key), _) => key.to_owned(),
        (None, Some(file)) => {
            let read = files::read(file, KEY_FILE_BYTES_MAX);
            read.with_context(|| format!("read the key in {}", file.display()))?
        }
        (None, None) => bail!("give a key with WEIR_KEY or WEIR_KEY_FILE"),
    };
    Ok(key.trim().to_owned())
}

impl Address {
    /// A client for this address.
    pub fn client(&self) -> anyhow::Result<Api> {
        let client = reqwest::Client::builder().timeout(DEADLINE).build()?;
        let url = self.url.as_deref().context("give the control plane with WEIR_URL or --url")?;
        let tenant =
            self.tenant.as_deref().context("give the tenant with WEIR_TENANT or --tenant")?;
        let root = url.trim_end_matches('/').to_owned();
        let base = format!("{root}/api/v1/tenants/{tenant}");
        Ok(Api { client, root, base, key: key(self.key.as_deref(), self.key_file.as_ref())? })
    }
}

impl Api {
    /// Applies a set of rules, or plans it.
    pub async fn apply(&self, body: &ApplyBody) -> anyhow::Result<Applied> {
        let response = self.send(self.request(Method::POST, "/apply").json(body)).await?;
        if response.status().is_success() {
            return Ok(Applied::Plan(Box::new(read(response).await?)));
        }
        let problem = problem(response).await?;
        if problem.fields.is_empty() {
            bail!("{}", problem.detail)
        }
        Ok(Applied::Refused(problem.fields))
    }

    /// All rules of a namespace, or of all namespaces, in the order of namespace and name.
    pub async fn rules(&self, namespace: Option<&str>) -> anyhow::Result<Vec<RuleAnswer>> {
        self.all("/rules", namespace, usize::MAX).await
    }

    /// The overrides of the rules of a namespace, or of all namespaces, oldest first: about `most` of them.
    pub async fn overrides(
        &self,
        namespace: Option<&str>,
        most: usize,
    ) -> anyhow::Result<Vec<OverrideAnswer>> {
        self.all("/overrides", namespace, most).await
    }

    /// The assignments that have not ended, newest first: about `most` of them.
    pub async fn assignments(&self, most: usize) -> anyhow::Result<Vec<AssignmentAnswer>> {
        self.all("/assignments", None, most).await
    }

    /// The pages of a list, until they have `most` items.
    async fn all<T: DeserializeOwned>(
        &self,
        list: &str,
        namespace: Option<&str>,
        most: usize,
    ) -> anyhow::Result<Vec<T>> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut query = vec![("limit", PAGE.to_string())];
            query.extend(namespace.map(|name| ("namespace", name.to_owned())));
            query.extend(cursor.map(|cursor| ("cursor", cursor)));
            let page: Page<T> = self.get(&format!("{list}?{}", encoded(&query))).await?;
            items.extend(page.data);
            cursor = page.next_cursor;
            if cursor.is_none() || items.len() >= most {
                return Ok(items);
            }
        }
    }

    /// All profiles, in the order of their names. A tenant has fewer than a page holds.
    pub async fn profiles(&self) -> anyhow::Result<Vec<ProfileAnswer>> {
        let page: Page<ProfileAnswer> = self.get(&format!("/profiles?limit={PAGE}")).await?;
        Ok(page.data)
    }

    /// All plans, in the order of their names. `None` if the key is restricted to namespaces.
    pub async fn plans(&self) -> anyhow::Result<Option<Vec<PlanAnswer>>> {
        match self.ask::<Page<PlanAnswer>>(&format!("/plans?limit={PAGE}")).await? {
            Ok(page) => Ok(Some(page.data)),
            Err(problem) if problem.code == ErrorCode::Forbidden => Ok(None),
            Err(problem) => bail!("{}", problem.detail),
        }
    }

    /// All alerts and all webhooks. A tenant has fewer of each than a page holds. `None` if the key is restricted to namespaces.
    pub async fn alerts(&self) -> anyhow::Result<Option<(Vec<Alert>, Vec<Webhook>)>> {
        let alerts: Page<Alert> = match self.ask(&format!("/alerts?limit={PAGE}")).await? {
            Ok(page) => page,
            Err(problem) if problem.code == ErrorCode::Forbidden => return Ok(None),
            Err(problem) => bail!("{}", problem.detail),
        };
        let webhooks: Page<Webhook> = self.get(&format!("/webhooks?limit={PAGE}")).await?;
        Ok(Some((alerts.data, webhooks.data)))
    }

    /// The running gates.
    pub async fn gates(&self) -> anyhow::Result<Replicas> {
        self.get("/replicas").await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.ask(path).await?.map_err(|problem| anyhow!("{}", problem.detail))
    }

    /// The answer, or the problem of a refusal.
    async fn ask<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Result<T, ProblemBody>> {
        let response = self.send(self.request(Method::GET, path)).await?;
        if response.status().is_success() {
            return Ok(Ok(read(response).await?));
        }
        Ok(Err(problem(response).await?))
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base)).bearer_auth(&self.key)
    }

    async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        let response = request.send().await.with_context(|| format!("ask {}", self.base))?;
        if response.status() == StatusCode::NOT_FOUND && self.is_gate().await {
            bail!("{} is a gate; WEIR_URL names the control plane", self.root);
        }
        if response.status() == StatusCode::UNAUTHORIZED {
            bail!("{} does not accept the key of WEIR_KEY: it is wrong, or has ended", self.root);
        }
        Ok(response)
    }

    /// Whether the address is that of a gate: it refuses a check without a key, which a control plane does not know.
    async fn is_gate(&self) -> bool {
        let asked = self.client.post(format!("{}/check", self.root)).send().await;
        asked.is_ok_and(|response| response.status() == StatusCode::UNAUTHORIZED)
    }
}

/// A query whose values are names and cursors.
fn encoded(query: &[(&str, impl ToString)]) -> String {
    let escape = |text: String| {
        let escaped = text.bytes().map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        });
        escaped.collect::<String>()
    };
    let pairs = query.iter().map(|(name, value)| format!("{name}={}", escape(value.to_string())));
    pairs.collect::<Vec<_>>().join("&")
}

/// The body of an answer that is no error.
async fn read<T: DeserializeOwned>(response: Response) -> anyhow::Result<T> {
    let url = response.url().clone();
    response.json().await.with_context(|| format!("{url} did not answer as Weir does"))
}

/// The problem of an answer that is an error.
async fn problem(response: Response) -> anyhow::Result<ProblemBody> {
    let url = response.url().clone();
    let status = response.status();
    let problem = response.json().await;
    problem.with_context(|| format!("{url} answered {status}, and not as Weir does"))
}
