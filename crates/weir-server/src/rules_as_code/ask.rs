//! `weir ask`: a check from the shell.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use reqwest::StatusCode;
use serde_json::{Map, Value, json};

use super::api::key;
use super::outcome::Outcome;
use super::output::{say, say_json};

#[derive(Debug, Args)]
pub struct AskArgs {
    /// URL of a gate (not of the control plane), such as <http://127.0.0.1:8081>
    #[arg(long, env = "WEIR_GATE_URL")]
    url: String,
    /// An API key with the scope `check`. Other users of this machine can read arguments
    #[arg(long, env = "WEIR_KEY", hide_env_values = true)]
    key: Option<String>,
    /// A file with the key
    #[arg(long, env = "WEIR_KEY_FILE", conflicts_with = "key")]
    key_file: Option<PathBuf>,
    /// The namespace
    #[arg(long, default_value = "default")]
    namespace: String,
    /// The units to take
    #[arg(long, default_value_t = 1)]
    cost: u64,
    /// Take nothing
    #[arg(long)]
    peek: bool,
    /// Print the whole answer as JSON
    #[arg(long)]
    json: bool,
    /// The attributes, such as user=u-17
    #[arg(value_name = "NAME=VALUE")]
    attributes: Vec<String>,
}

pub async fn run(args: &AskArgs) -> anyhow::Result<Outcome> {
    let mut attributes = Map::new();
    for attribute in &args.attributes {
        let (name, value) = attribute
            .split_once('=')
            .with_context(|| format!("`{attribute}` must have the form NAME=VALUE"))?;
        attributes.insert(name.to_owned(), value.into());
    }
    let mode = if args.peek { "peek" } else { "consume" };
    let body = json!({
        "namespace": args.namespace, "attributes": attributes, "cost": args.cost, "mode": mode,
    });
    let url = format!("{}/check", args.url.trim_end_matches('/'));
    let client = reqwest::Client::builder().timeout(Duration::from_secs(3)).build()?;
    let request = client.post(&url).bearer_auth(key(args.key.as_deref(), args.key_file.as_ref())?);
    let response = request.json(&body).send().await.with_context(|| format!("ask {url}"))?;
    match response.status() {
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            bail!("{} is no gate; WEIR_GATE_URL names one", args.url)
        }
        StatusCode::UNAUTHORIZED => {
            bail!("{} does not accept the key of WEIR_KEY: it is wrong, or has ended", args.url)
        }
        _ => {}
    }
    let answer: Value =
        response.json().await.with_context(|| format!("{url} did not answer as Weir does"))?;
    let Some(allowed) = answer["allowed"].as_bool() else {
        bail!("{}", answer["detail"].as_str().unwrap_or("the answer is none of Weir"));
    };
    if args.json {
        say_json(&answer)?;
    } else {
        say(&text(allowed, &answer))?;
    }
    Ok(if allowed { Outcome::Done } else { Outcome::Different })
}

fn text(allowed: bool, answer: &Value) -> String {
    if allowed {
        let remaining = answer["remaining"].as_u64();
        return remaining.map_or("allowed".to_owned(), |left| format!("allowed, {left} left"));
    }
    let rules: Vec<_> =
        answer["denied_by"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let wait = answer["retry_after_ms"].as_u64();
    let wait = wait.map_or("no retry can pass".to_owned(), |ms| format!("retry in {ms} ms"));
    format!("denied by {}, {wait}", rules.join(", "))
}
