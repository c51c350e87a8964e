//! The open-loop rounds: variants at a quarter, a half and three quarters of their throughput.

use std::time::Duration;

use anyhow::Result;

use super::installations::{Installation, Installations};
use super::outcomes::Outcomes;
use crate::numbers::{Spread, float};
use crate::report;
use crate::steady::{self, Plan, SteadyRun};
use crate::turns::{LOADS, Paced, Turn};
use crate::usage::processor_us;
use crate::variants::Variant;

/// The number and length of the rounds.
#[derive(Debug, Clone, Copy)]
pub struct Rounds {
    pub count: u32,
    pub seconds: u64,
    /// Whether all variants are measured instead of two.
    pub full: bool,
}

pub(super) async fn run(
    installations: &mut Installations,
    variants: &[Variant],
    turns: &[Turn],
    args: Rounds,
) -> Result<Vec<Paced>> {
    let mut all = Vec::new();
    for round in 1..=args.count {
        for percent in LOADS {
            for variant in
                variants.iter().filter(|variant| args.full || ["a", "d"].contains(&variant.label))
            {
                if variant.is_grpc() {
                    continue;
                }
                let Some(most) = throughput(turns, variant.label) else { continue };
                let plan = Plan {
                    per_second: most * f64::from(percent) / 100.0,
                    connections: CONNECTIONS,
                    warm_up: Duration::from_secs(1),
                    length: Duration::from_secs(args.seconds),
                };
                let paced = turn(installations.of(variant.label)?, variant, percent, plan).await?;
                println!("   round {round}: {}", report::paced_line(&paced));
                all.push(paced);
            }
        }
    }
    Ok(all)
}

const CONNECTIONS: u16 = 64;

async fn turn(
    Installation { fixture, redis_usage }: &mut Installation,
    variant: &Variant,
    percent: u8,
    plan: Plan,
) -> Result<Paced> {
    let ourselves = std::process::id();
    let before = Outcomes::of(fixture, variant).await?;
    let (used, ours) = (redis_usage.read(variant.pid).await?, processor_us(ourselves)?);
    let run = steady::run(variant, plan).await?;
    let (used, ours) =
        (redis_usage.read(variant.pid).await?.since(&used), processor_us(ourselves)? - ours);
    let outcomes = Outcomes::of(fixture, variant).await?.since(&before);
    let requests = plan.per_second * (plan.warm_up + plan.length).as_secs_f64();
    let at = |quantile| float(run.latencies.value_at_quantile(quantile)) / 1_000.0;
    Ok(Paced {
        variant: variant.label,
        percent,
        per_second: plan.per_second,
        p50_ms: at(0.5),
        p99_ms: at(0.99),
        p999_ms: at(0.999),
        most_ms: float(run.latencies.max()) / 1_000.0,
        client_p99_ms: float(run.client_lag.value_at_quantile(0.99)) / 1_000.0,
        service_us: float(used.service_us) / requests,
        redis_us: float(used.redis_us) / requests,
        client_us: float(ours) / requests,
        invalidated: invalidated(&run, &outcomes),
    })
}

fn invalidated(run: &SteadyRun, outcomes: &Outcomes) -> Option<String> {
    let degraded = outcomes.degraded;
    match (run.unexpected, run.unanswered) {
        (0, 0) if degraded > 0.0 => Some(format!("{degraded} degraded answers")),
        (0, 0) => None,
        (0, lost) => Some(format!("{lost} requests without an answer")),
        (unexpected, _) => Some(format!("{unexpected} unexpected answers")),
    }
}

fn throughput(turns: &[Turn], label: &str) -> Option<f64> {
    let of_cell = |turn: &&Turn| turn.variant == label && turn.connections == CONNECTIONS;
    let sound = turns.iter().filter(of_cell).filter(|turn| turn.invalidated.is_none());
    Spread::of(sound.map(|turn| turn.run.per_second)).map(|spread| spread.median)
}
