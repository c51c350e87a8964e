//! The rounds. Each round warms up and loads every variant in turn, so that other work of the machine affects all of them.

mod installations;
mod outcomes;
mod paced;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use tokio::process::Command;

use crate::closed::{self, ClosedRun};
use crate::compare::installations::{Installation, Installations};
use crate::compare::outcomes::Outcomes;
use crate::grpc;
use crate::numbers::float;
use crate::report::{self, Findings};
use crate::turns::Turn;
use crate::variants::{self, Kind, Programs, Variant};

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The server
    #[arg(long, env = "BENCH_WEIR")]
    weir: PathBuf,
    /// The ceiling
    #[arg(long, env = "BENCH_CONSTANT")]
    constant: PathBuf,
    /// Another limiter; left out where it could not be installed
    #[arg(long, env = "BENCH_THROTTLECRAB")]
    throttlecrab: Option<PathBuf>,
    /// The pure parts of a check, to time the matching alone
    #[arg(long, env = "BENCH_PARTS")]
    parts: Option<PathBuf>,
    /// Page whose tables are updated; default: only print
    #[arg(long, env = "BENCH_PAGE")]
    page: Option<PathBuf>,
    /// Number of turns of all variants
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Duration of each turn
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// The variants to measure, such as `a,d,e2`
    #[arg(long, value_delimiter = ',', default_values_t = variants::LABELS.map(str::to_owned))]
    variants: Vec<String>,
    /// All variants with 1, 16, 64 and 256 connections
    #[arg(long)]
    full: bool,
}

pub async fn run(args: CompareArgs) -> Result<()> {
    for variant in &args.variants {
        ensure!(
            variants::LABELS.contains(&variant.as_str()),
            "variants are {}",
            variants::LABELS.join(",")
        );
    }
    let labels: Vec<_> = variants::LABELS
        .into_iter()
        .filter(|label| args.variants.iter().any(|variant| variant == label))
        .collect();
    let mut installations = Installations::start(&args.weir, &labels).await?;
    let programs =
        Programs { constant: &args.constant, throttlecrab: args.throttlecrab.as_deref() };
    let mut running = Vec::new();
    for label in labels {
        println!("   starting variant ({label})");
        let fixture = &installations.of(label)?.fixture;
        let variant = variants::start(label, fixture, programs).await;
        running.extend(variant.with_context(|| format!("start variant ({label})"))?);
    }
    let mut turns = Vec::new();
    for round in 1..=args.rounds {
        for (variant, connections) in cells(&running, args.full) {
            let length = Duration::from_secs(args.seconds);
            let installation = installations.of(variant.label)?;
            let turn = turn(installation, variant, connections, length).await?;
            println!("   round {round}: {}", report::line(&turn));
            turns.push(turn);
        }
    }
    let rounds = paced::Rounds { count: args.rounds, seconds: args.seconds, full: args.full };
    let paced = paced::run(&mut installations, &running, &turns, rounds).await?;
    let match_us = match &args.parts {
        Some(parts) => Some(match_us(parts).await.context("time the matching")?),
        None => None,
    };
    let seconds = args.seconds;
    let findings = Findings { variants: &running, turns: &turns, paced: &paced, match_us, seconds };
    publish("compare", &report::tables(&findings), args.page.as_deref())
}

/// The time that it takes to match one request against 10,000 rules, in microseconds. It is the best of a few runs: the
/// function is pure, and other work of the machine can only add to its time.
async fn match_us(parts: &Path) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let output = Command::new(parts).args(["match", "1000"]).output().await?;
        let ns: u64 = String::from_utf8(output.stdout)?.trim().parse()?;
        best = best.min(float(ns) / 1_000.0);
    }
    Ok(best)
}

/// The pairs of variant and number of connections that are measured.
fn cells(variants: &[Variant], full: bool) -> Vec<(&Variant, u16)> {
    let mut cells = Vec::new();
    for connections in [64, 1, 16, 256] {
        cells.extend(variants.iter().filter_map(|variant| {
            let alone = connections == 1 && ["a", "b", "d"].contains(&variant.label);
            let many = connections == 256 && variant.label == "j";
            (full || connections == 64 || alone || many).then_some((variant, connections))
        }));
    }
    cells
}

async fn turn(
    Installation { fixture, redis_usage }: &mut Installation,
    variant: &Variant,
    connections: u16,
    length: Duration,
) -> Result<Turn> {
    let folder = fixture.folder();
    // The warm-up also exhausts the limits of the subjects in the flood.
    load(variant, connections.max(16), WARM_UP, folder).await?;
    let before = (redis_usage.read(variant.pid).await?, Outcomes::of(fixture, variant).await?);
    let run = load(variant, connections, length, folder).await?;
    let after = (redis_usage.read(variant.pid).await?, Outcomes::of(fixture, variant).await?);
    let outcomes = after.1.since(&before.1);
    Ok(Turn {
        variant: variant.label,
        connections,
        run,
        usage: after.0.since(&before.0),
        invalidated: invalidated(variant, &run, &outcomes, connections),
    })
}

/// Loads a variant over this number of connections, or with this number of calls of gRPC in flight.
async fn load(
    variant: &Variant,
    connections: u16,
    length: Duration,
    folder: &Path,
) -> Result<ClosedRun> {
    if variant.is_grpc() {
        return grpc::run(variant, connections, length).await;
    }
    closed::run(variant, connections, length, folder).await
}

const WARM_UP: Duration = Duration::from_secs(2);

/// The reason why a turn does not count, if there is one: wrk received unexpected answers, or the gate counted other
/// decisions.
fn invalidated(
    variant: &Variant,
    run: &ClosedRun,
    outcomes: &Outcomes,
    connections: u16,
) -> Option<String> {
    let expected = if variant.refuses { run.requests } else { 0 };
    if run.errors > 0 {
        return Some(format!("{} requests without an answer", run.errors));
    }
    if run.refusals != expected {
        return Some(format!("{} of {} answers refused", run.refusals, run.requests));
    }
    if variant.kind != Kind::Weir {
        return None;
    }
    let (right, wrong) = if variant.refuses {
        (outcomes.denied, outcomes.allowed)
    } else {
        (outcomes.allowed, outcomes.denied)
    };
    // wrk does not count the requests that are in flight when it stops, but the gate decides them.
    let close = (right - float(run.requests)).abs() <= 2.0 * f64::from(connections);
    if outcomes.degraded > 0.0 || wrong > 0.0 || !close {
        return Some(format!("{} requests, and the gate says {outcomes:?}", run.requests));
    }
    None
}

/// Prints tables and writes them into the page between the markers of this name.
pub fn publish(name: &str, tables: &str, page: Option<&Path>) -> Result<()> {
    println!("\n{tables}");
    let Some(page) = page else { return Ok(()) };
    let text = std::fs::read_to_string(page).context("read the page")?;
    let text = report::replace(&text, name, tables).context("find the page's markers")?;
    std::fs::write(page, text).context("write the page")
}
