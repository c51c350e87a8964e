//! `weir health`: tests whether a running process is ready, for containers without another client.

use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;

#[derive(Debug, Args)]
pub struct HealthArgs {
    /// URL of the process to query, such as <http://127.0.0.1:8081>
    #[arg(long, env = "WEIR_HEALTH_URL", default_value = "http://127.0.0.1:8080")]
    url: String,
}

pub async fn run(args: HealthArgs) -> anyhow::Result<()> {
    let url = format!("{}/readyz", args.url.trim_end_matches('/'));
    let client = reqwest::Client::builder().timeout(Duration::from_secs(3)).build()?;
    let response = client.get(&url).send().await.with_context(|| format!("ask {url}"))?;
    if !response.status().is_success() {
        bail!("not ready: {url} answered {}", response.status());
    }
    Ok(())
}
