//! `weir check-redis`: reports whether Weir can use a Redis.

use std::io::Write as _;

use anyhow::{Context as _, bail};
use clap::Args;
use weir_redis::suitability::{Finding, Judgement, inspect};

use crate::config::RedisArgs;
use crate::edge;

#[derive(Debug, Args)]
pub struct CheckRedisArgs {
    /// URL of the Redis to inspect; default: that of the settings. Other users of this machine can read arguments
    url: Option<String>,
    #[command(flatten)]
    redis: RedisArgs,
}

pub async fn run(args: CheckRedisArgs) -> anyhow::Result<()> {
    let CheckRedisArgs { url, mut redis } = args;
    if url.is_some() {
        (redis.redis_url, redis.redis_url_file) = (url, None);
    }
    let (client, budget) = redis.parse()?;
    let clock = edge::clock();
    let report = inspect(&client, budget, || clock.now()).await;
    let lines: String = report.0.iter().map(line).collect();
    let mut out = std::io::stdout();
    out.write_all(lines.as_bytes()).and_then(|()| out.flush()).context("print the report")?;
    if !report.is_suitable() {
        bail!("Weir cannot use this Redis");
    }
    Ok(())
}

fn line(finding: &Finding) -> String {
    let judgement = match finding.judgement {
        Judgement::Good => "ok",
        Judgement::Notice => "notice",
        Judgement::Bad => "BAD",
    };
    format!("{judgement:<7} {:<12} {}\n", finding.subject, finding.text)
}
