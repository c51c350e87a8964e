//! `distant`: the share of checks that are degraded while Redis is some milliseconds away, with the default budget.
//!
//! A relay delays the bytes between the gate and Redis. The rule denies every check that Redis does not decide, so a degraded
//! answer counts as an unexpected one.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;

use crate::compare::publish;
use crate::fixture::Fixture;
use crate::numbers::float;
use crate::steady::{self, Plan, SteadyRun};
use crate::{usage, variants};

#[derive(Debug, Args)]
pub struct DistantArgs {
    /// The server
    #[arg(long, env = "BENCH_WEIR")]
    weir: PathBuf,
    /// Page whose table is updated; default: only print
    #[arg(long, env = "BENCH_PAGE")]
    page: Option<PathBuf>,
    /// Round-trip time to Redis
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=1_000))]
    round_trip_ms: u64,
    /// Checks a second, in turn
    #[arg(long, value_delimiter = ',', default_values_t = [200, 1_000, 4_000])]
    per_second: Vec<u32>,
    /// Duration of each measurement
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
}

pub async fn run(args: DistantArgs) -> Result<()> {
    let round_trip = Duration::from_millis(args.round_trip_ms);
    let fixture = Fixture::distant(&args.weir, round_trip).await.context("start Weir")?;
    let tenant = fixture.tenant("distant").await?;
    let mut rule = variants::rule("distant", &[variants::bucket(1_000_000)]);
    rule["on_store_failure"] = json!("deny");
    fixture.rule(&tenant, &rule).await?;
    fixture.served(&tenant.secret, &variants::check("/hot"), 1).await?;
    let variant = variants::of_gate("n", "distant", &fixture, &tenant);
    let mut runs = Vec::new();
    for &per_second in &args.per_second {
        let length = Duration::from_secs(args.seconds);
        let warm_up = Duration::from_secs(1);
        let plan = Plan { per_second: f64::from(per_second), connections: 256, warm_up, length };
        let run = steady::run(&variant, plan).await?;
        println!("   {per_second} checks a second: {:.3} % degraded", degraded_percent(&run));
        runs.push((per_second, run));
    }
    publish("distant", &table(&runs, args.round_trip_ms), args.page.as_deref())
}

fn table(runs: &[(u32, SteadyRun)], round_trip_ms: u64) -> String {
    let mut text = format!(
        "{}; Redis {round_trip_ms} ms away, there and back; default budget. Times in ms.\n\n\
         | checks a second | checks | degraded | p50 | p99 | most |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        usage::machine()
    );
    for (per_second, run) in runs {
        let at = |quantile| float(run.latencies.value_at_quantile(quantile)) / 1_000.0;
        let _ = writeln!(
            text,
            "| {per_second} | {} | {:.3} % | {:.1} | {:.1} | {:.1} |",
            run.latencies.len(),
            degraded_percent(run),
            at(0.5),
            at(0.99),
            float(run.latencies.max()) / 1_000.0,
        );
    }
    text
}

/// The share of checks that Redis did not decide or that got no answer.
fn degraded_percent(run: &SteadyRun) -> f64 {
    let failed = run.unexpected + run.unanswered;
    100.0 * float(failed) / float((run.latencies.len() + run.unanswered).max(1))
}
