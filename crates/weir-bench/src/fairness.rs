//! `fairness`: the effect on one tenant of another tenant that sends as many checks as the API permits.
//!
//! The victim sends checks at a fixed rate: alone, beside threads that only compute, and beside each attack in turn. Its
//! rule denies every check that Redis does not decide, so a degraded answer counts as an unexpected one.

mod attack;

use std::fmt::Write as _;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;

use self::attack::Attack;
use crate::compare::publish;
use crate::fixture::Fixture;
use crate::numbers::{Spread, Thousands};
use crate::steady::{self, Plan, SteadyRun};
use crate::usage;
use crate::variants::{self, Variant};

#[derive(Debug, Args)]
pub struct FairnessArgs {
    /// The server
    #[arg(long, env = "BENCH_WEIR")]
    weir: PathBuf,
    /// Page whose table is updated; default: only print
    #[arg(long, env = "BENCH_PAGE")]
    page: Option<PathBuf>,
    /// Maximum time that the gate waits for Redis
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=5_000))]
    budget_ms: u64,
    /// Checks of the victim per second
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    per_second: u32,
    /// Duration of each measurement
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Number of repetitions
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
}

const WARM_UP: Duration = Duration::from_secs(1);

/// The result of one run of the victim. Times are in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Noticed {
    p50: f64,
    p99: f64,
    /// The number of checks that Redis did not decide or that got no answer.
    failed: u64,
}

/// One measurement of a round.
#[derive(Debug)]
struct Row {
    beside: String,
    noticed: Noticed,
    /// The p99 divided by that of the same round without an attack.
    ratio: f64,
    /// The attacker's checks per second.
    attacks: f64,
}

/// Threads that compute without pause: the control, which shows what any load on the processors costs the victim.
#[derive(Debug)]
struct BusyThreads {
    threads: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

pub async fn run(args: FairnessArgs) -> Result<()> {
    let fixture = Fixture::with_budget(&args.weir, args.budget_ms).await.context("start Weir")?;
    let victim = victim(&fixture).await.context("make the victim")?;
    let attacks = [
        Attack::many_limits(&fixture).await.context("make the attacker with many limits")?,
        Attack::wrong_types(&fixture).await.context("make the attacker with damaged keys")?,
        Attack::many_patterns(&fixture).await.context("make the attacker with many patterns")?,
    ];
    let mut rows = Vec::new();
    for round in 1..=args.rounds {
        let alone = measure(&victim, &args).await?;
        let mut add = |beside: &str, noticed: Noticed, attacks: f64| {
            let (beside, ratio) = (beside.to_owned(), noticed.p99 / alone.p99);
            let row = Row { beside, noticed, ratio, attacks };
            row.print(round);
            rows.push(row);
        };
        add("nobody", alone, 0.0);
        let busy = BusyThreads::start();
        add(&busy.title(), measure(&victim, &args).await?, 0.0);
        drop(busy);
        for attack in &attacks {
            let length = WARM_UP + Duration::from_secs(args.seconds);
            let (checks, beside) =
                tokio::try_join!(attack.run(&fixture, length), measure(&victim, &args))?;
            add(&attack.title, beside, checks);
        }
    }
    publish("fairness", &table(&rows, &args), args.page.as_deref())
}

/// The median of all rounds for each load, and the spread of the ratio.
fn table(rows: &[Row], args: &FairnessArgs) -> String {
    let mut text = format!(
        "{}; {} rounds of {} s each; median, and in brackets the least and the most. Times in ms.\n\n\
         | beside | p50 | p99 | p99 ÷ p99 alone | degraded | attacker's checks a second |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n",
        usage::machine(),
        args.rounds,
        args.seconds,
    );
    // Each round has the same loads.
    let loads = rows.len() / args.rounds as usize;
    for load in &rows[..loads] {
        let same = || rows.iter().filter(|row| row.beside == load.beside);
        let of = |value: fn(&Row) -> f64| Spread::of(same().map(value)).expect("a round has it");
        let ratio = of(|row| row.ratio);
        let failed: u64 = same().map(|row| row.noticed.failed).sum();
        let _ = writeln!(
            text,
            "| {} | {:.2} | {:.2} | {:.2} ({:.2}–{:.2}) | {failed} | {} |",
            load.beside,
            of(|row| row.noticed.p50).median,
            of(|row| row.noticed.p99).median,
            ratio.median,
            ratio.least,
            ratio.most,
            Thousands(of(|row| row.attacks).median),
        );
    }
    text
}

impl Row {
    fn print(&self, round: u32) {
        let Self { beside, noticed: Noticed { p50, p99, failed }, ratio, attacks } = self;
        println!(
            "   round {round}: beside {beside}: p50 {p50:.2} ms  p99 {p99:.2} ms  {ratio:.2} of alone  {failed} degraded  \
             attacker {attacks:.0}/s"
        );
    }
}

impl BusyThreads {
    /// Starts one thread for each processor.
    fn start() -> Self {
        let stop = Arc::<AtomicBool>::default();
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let spin = |stop: Arc<AtomicBool>| {
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        let threads = (0..processors).map(|_| {
            thread::spawn({
                let stop = Arc::clone(&stop);
                move || spin(stop)
            })
        });
        Self { threads: threads.collect(), stop }
    }

    fn title(&self) -> String {
        format!("{} threads that only compute", self.threads.len())
    }
}

impl Drop for BusyThreads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that only spins does not panic.
            drop(thread.join());
        }
    }
}

async fn victim(fixture: &Fixture) -> Result<Variant> {
    let tenant = fixture.tenant("victim").await?;
    let mut rule = variants::rule("one", &[variants::bucket(1_000_000)]);
    rule["on_store_failure"] = json!("deny");
    fixture.rule(&tenant, &rule).await?;
    fixture.served(&tenant.secret, &variants::check("/hot"), 1).await?;
    Ok(variants::of_gate("v", "the victim", fixture, &tenant))
}

async fn measure(victim: &Variant, args: &FairnessArgs) -> Result<Noticed> {
    let plan = Plan {
        per_second: f64::from(args.per_second),
        connections: 8,
        warm_up: WARM_UP,
        length: Duration::from_secs(args.seconds),
    };
    let SteadyRun { latencies, unexpected, unanswered, .. } = steady::run(victim, plan).await?;
    let ms = |quantile| crate::numbers::float(latencies.value_at_quantile(quantile)) / 1e3;
    Ok(Noticed { p50: ms(0.5), p99: ms(0.99), failed: unexpected + unanswered })
}
