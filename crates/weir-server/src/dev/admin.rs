//! Calls of the admin API.

use anyhow::{Context as _, bail};
use reqwest::{Client, Method, header};
use serde_json::Value;

/// The admin API of a control plane, and the credentials.
#[derive(Debug)]
pub struct Admin<'a> {
    pub client: &'a Client,
    pub control: &'a str,
    pub token: Option<String>,
}

impl Admin<'_> {
    /// Creates an object, or runs an operation.
    pub async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.send(Method::POST, path, body, None).await
    }

    /// Replaces an object that has this revision.
    pub async fn put(&self, path: &str, body: &Value, revision: u64) -> anyhow::Result<Value> {
        self.send(Method::PUT, path, body, Some(revision)).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        revision: Option<u64>,
    ) -> anyhow::Result<Value> {
        let url = format!("{}/api/v1{path}", self.control);
        let mut request = self.client.request(method.clone(), &url).json(body);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(revision) = revision {
            request = request.header(header::IF_MATCH, format!("\"{revision}\""));
        }
        let response = request.send().await.with_context(|| format!("{method} {url}"))?;
        let status = response.status();
        let answer = response.text().await.with_context(|| format!("read the answer of {url}"))?;
        if !status.is_success() {
            bail!("{method} {url} answered {status}: {answer}");
        }
        serde_json::from_str(&answer).with_context(|| format!("read the answer of {url}"))
    }
}

/// The text at this place of an answer.
pub fn text(answer: &Value, pointer: &str) -> anyhow::Result<String> {
    let found = answer.pointer(pointer).and_then(Value::as_str);
    found.map(str::to_owned).with_context(|| format!("no {pointer} in the answer"))
}
