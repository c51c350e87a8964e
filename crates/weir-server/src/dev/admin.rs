//! Calls of the admin API.

use anyhow::{Context as _, bail};
use reqwest::Client;
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
        let url = format!("{}/api/v1{path}", self.control);
        let mut request = self.client.post(&url).json(body);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.with_context(|| format!("POST {url}"))?;
        let status = response.status();
        let answer = response.text().await.with_context(|| format!("read the answer of {url}"))?;
        if !status.is_success() {
            bail!("POST {url} answered {status}: {answer}");
        }
        serde_json::from_str(&answer).with_context(|| format!("read the answer of {url}"))
    }
}

/// The text at this place of an answer.
pub fn text(answer: &Value, pointer: &str) -> anyhow::Result<String> {
    let found = answer.pointer(pointer).and_then(Value::as_str);
    found.map(str::to_owned).with_context(|| format!("no {pointer} in the answer"))
}
