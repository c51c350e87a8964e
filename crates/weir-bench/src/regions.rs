//! `regions`: rules with the reach `world`, asked in the home and outside it.
//!
//! A relay delays the bytes between both regions. The latency of a leased check is measured in each region in turn; then the
//! relay is cut half of the time, and admissions are counted from outside in each window; last, a limit is used up by both
//! regions at once. The rules deny every check that the home does not decide.

mod counts;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::{Value, json};

use self::counts::{Once, Windows};
use crate::compare::publish;
use crate::fixture::{Fixture, Regions, Tenant};
use crate::numbers::{Spread, Thousands, float};
use crate::steady::{self, Plan, SteadyRun};
use crate::usage;
use crate::variants;

#[derive(Debug, Args)]
pub struct RegionsArgs {
    /// The server
    #[arg(long, env = "BENCH_WEIR")]
    weir: PathBuf,
    /// Page whose table is updated; default: only print
    #[arg(long, env = "BENCH_PAGE")]
    page: Option<PathBuf>,
    /// Round-trip time between the regions
    #[arg(long, default_value_t = 150, value_parser = clap::value_parser!(u64).range(0..=250))]
    round_trip_ms: u64,
    /// Number of subjects whose latency is measured
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    subjects: u32,
    /// Checks of each of them per second
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    per_second: u32,
    /// Duration of each measurement; the windows of the rule have 60
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Number of measurements in each region
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Number of windows while the relay is cut half of the time
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    windows: u32,
}

/// The latency of leased checks in one region and round. Times are in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Turn {
    p50: f64,
    p99: f64,
    /// The share of checks that took as long as a round trip between the regions, in percent.
    waited: f64,
    /// The number of checks that the home did not decide or that got no answer.
    failed: u64,
}

pub async fn run(args: RegionsArgs) -> Result<()> {
    let round_trip = Duration::from_millis(args.round_trip_ms);
    let regions = Regions::start(&args.weir, round_trip).await.context("start two regions")?;
    let tenant = regions.home.tenant("regions").await?;
    rules(&regions.home, &tenant, &args).await?;
    counts::settled(&regions, &tenant).await?;
    let turns = latencies(&regions, &tenant, &args).await?;
    let windows = Windows::count(&regions, &tenant, args.windows).await?;
    let once = Once::count(&regions, &tenant).await?;
    let table = table(&turns, &windows, &once, &args);
    publish("regions", &table, args.page.as_deref())
}

/// Creates the rules. The one of which a limit is used up once is the last.
async fn rules(home: &Fixture, tenant: &Tenant, args: &RegionsArgs) -> Result<()> {
    let minute = json!({
        "algorithm": "fixed_window", "limit": u64::from(args.per_second) * 120, "window_ms": 60_000,
    });
    home.rule(tenant, &rule("steady", "leased", &minute)).await?;
    for (namespace, consistency, limit) in counts::limits() {
        home.rule(tenant, &rule(namespace, consistency, &limit)).await?;
    }
    Ok(())
}

/// The rule of a namespace.
fn rule(namespace: &str, consistency: &str, limit: &Value) -> Value {
    json!({
        "namespace": namespace, "name": namespace, "count_by": ["user"], "reach": "world",
        "consistency": consistency, "on_store_failure": "deny", "limits": [limit],
    })
}

fn check(namespace: &str) -> String {
    json!({ "namespace": namespace, "attributes": { "user": "u-SUBJECT" } }).to_string()
}

/// Measures each region in turn: first the home.
async fn latencies(
    regions: &Regions,
    tenant: &Tenant,
    args: &RegionsArgs,
) -> Result<[Vec<Turn>; 2]> {
    let of = |label, title| {
        let mut variant = variants::of_gate(label, title, &regions.home, tenant);
        variant.body = check("steady");
        variant
    };
    let (home, mut outside) = (of("eu", "at home"), of("us", "outside the home"));
    outside.address.clone_from(&regions.us.address);
    let plan = Plan {
        per_second: f64::from(args.per_second * args.subjects),
        connections: 64,
        warm_up: Duration::from_secs(2),
        length: Duration::from_secs(args.seconds),
    };
    let mut turns = [Vec::new(), Vec::new()];
    for round in 1..=args.rounds {
        for (variant, turns) in [&home, &outside].into_iter().zip(&mut turns) {
            let run = steady::run_for(variant, plan, args.subjects).await?;
            let turn = Turn::of(&run, args.round_trip_ms);
            let Turn { p50, p99, waited, failed } = turn;
            println!(
                "   round {round}: {}: p50 {p50:.2} ms  p99 {p99:.2} ms  {waited:.2} % waited  {failed} failed",
                variant.title
            );
            turns.push(turn);
        }
    }
    Ok(turns)
}

impl Turn {
    fn of(run: &SteadyRun, round_trip_ms: u64) -> Self {
        let ms = |quantile| float(run.latencies.value_at_quantile(quantile)) / 1e3;
        let waited = run.latencies.count_between(round_trip_ms * 1_000, u64::MAX);
        Self {
            p50: ms(0.5),
            p99: ms(0.99),
            waited: 100.0 * float(waited) / float(run.latencies.len().max(1)),
            failed: run.unexpected + run.unanswered,
        }
    }
}

fn table(turns: &[Vec<Turn>; 2], windows: &[Windows], once: &Once, args: &RegionsArgs) -> String {
    let mut text = format!(
        "{}; {} ms between the regions, there and back. Times in ms.\n\n\
         **Leased checks**: {} subjects, {} checks a second each; {} rounds of {} s in each region, in turn; median, and in \
         brackets the least and the most.\n\n\
         | | p50 | p99 | waited for a round trip | failed |\n\
         | --- | ---: | ---: | ---: | ---: |\n",
        usage::machine(),
        args.round_trip_ms,
        args.subjects,
        args.per_second,
        args.rounds,
        args.seconds,
    );
    let spread = |values: Vec<f64>| {
        let Spread { median, least, most } = Spread::of(values).expect("a round");
        format!("{median:.2} ({least:.2}–{most:.2})")
    };
    let [home, outside] = turns;
    for (title, turns) in [("at home", home), ("outside the home", outside)] {
        let of = |value: fn(&Turn) -> f64| spread(turns.iter().map(value).collect());
        let failed: u64 = turns.iter().map(|turn| turn.failed).sum();
        let (p50, p99, waited) = (of(|turn| turn.p50), of(|turn| turn.p99), of(|turn| turn.waited));
        let _ = writeln!(text, "| {title} | {p50} | {p99} | {waited} % | {failed} |");
    }
    let ratio = |value: fn(&Turn) -> f64| {
        spread(outside.iter().zip(home).map(|(far, near)| value(far) / value(near)).collect())
    };
    let (p50, p99) = (ratio(|turn| turn.p50), ratio(|turn| turn.p99));
    let _ = writeln!(text, "| outside ÷ home, in the same round | {p50} | {p99} | – | – |");
    text.push_str(
        "\n**The way cut half of the time**: admissions in both regions, counted from outside in each window.\n\n\
         | | windows | limit | admitted | outside the home, of all | checks without the home | windows above the limit |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for windows in windows {
        let _ = writeln!(text, "{}", windows.row());
    }
    let Once { limit, checks, admitted: [eu, us] } = once;
    let _ = writeln!(
        text,
        "\n**An exact limit that both regions use up at once**: {} of {} checks admitted with a limit of {}, {} at home and {} outside.",
        Thousands(float(eu + us)),
        Thousands(f64::from(*checks)),
        Thousands(float(*limit)),
        Thousands(float(*eu)),
        Thousands(float(*us)),
    );
    text
}
