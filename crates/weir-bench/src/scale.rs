//! `scale`: how a gate with much data starts, uses memory and follows changes, and how a change affects its readers.

mod fill;
mod found;
mod table;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;

use crate::compare::publish;
use crate::fixture::{Fixture, Tenant};
use crate::numbers::float;
use crate::steady::{self, Plan};
use crate::usage::resident;
use crate::variants;
use found::Found;

#[derive(Debug, Args)]
pub struct ScaleArgs {
    /// The server
    #[arg(long, env = "BENCH_WEIR")]
    weir: PathBuf,
    /// Page whose table is updated; default: only print
    #[arg(long, env = "BENCH_PAGE")]
    page: Option<PathBuf>,
    /// Tenants of ten rules and a key each, in turn
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000])]
    tenants: Vec<u32>,
    /// Rules of the one large tenant; more than 9,900 leave no room for the changes
    #[arg(long, default_value_t = 9_900)]
    rules: u32,
    /// Customers on a plan, of one tenant; 0 leaves them out
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    customers: u32,
    /// Number of changes to measure
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=90))]
    changes: u32,
    /// Checks a second meanwhile
    #[arg(long, default_value_t = 500)]
    per_second: u32,
}

pub async fn run(args: ScaleArgs) -> Result<()> {
    let mut found = Vec::new();
    let tenants = args.tenants.iter().map(|count| Amount::Tenants(*count));
    let customers = (args.customers > 0).then_some(Amount::Customers(args.customers));
    let large = [Amount::Rules(args.rules)].into_iter().chain(customers);
    for what in [Amount::None].into_iter().chain(tenants).chain(large) {
        let one = measure(&args, what).await.with_context(|| format!("measure {what:?}"))?;
        println!("{}", table::line(&one));
        found.push(one);
    }
    publish("scale", &table::table(&found, args.per_second), args.page.as_deref())
}

/// The amount of data that a gate holds.
#[derive(Debug, Clone, Copy)]
enum Amount {
    None,
    Tenants(u32),
    Rules(u32),
    Customers(u32),
}

impl Amount {
    fn title(self) -> String {
        match self {
            Self::None => "one tenant with one rule".to_owned(),
            Self::Tenants(count) => format!("{count} tenants of 10 rules and a key"),
            Self::Rules(count) => format!("one tenant with {count} rules"),
            Self::Customers(count) => format!("one tenant with {count} customers on a plan"),
        }
    }
}

async fn measure(args: &ScaleArgs, amount: Amount) -> Result<Found> {
    println!("   preparing: {}", amount.title());
    let mut fixture = Fixture::start(&args.weir).await.context("start Weir")?;
    let tenant = fixture.tenant("live").await?;
    let mut hot = variants::rule("hot", &[variants::bucket(1_000_000)]);
    hot["match"] = variants::route("/hot");
    fixture.rule(&tenant, &hot).await?;
    fixture.stop_gate()?;
    let mut plan_id = None;
    match amount {
        Amount::None => {}
        Amount::Tenants(count) => fill::tenants(&fixture, count).await?,
        Amount::Rules(count) => fill::rules(&fixture, &tenant, count).await?,
        Amount::Customers(count) => {
            plan_id = Some(fill::customers(&fixture, &tenant, count).await?);
        }
    }
    let start = fixture.start_gate(fixture.version().await?).await?;
    let resident = resident(fixture.pid())?;
    let variant = variants::of_gate("s", "readers", &fixture, &tenant);
    fixture.served(&tenant.secret, &variants::check("/hot"), 1).await?;
    let length = PAUSE * args.changes;
    let quiet = steady::run(&variant, plan(args, length)).await?;
    let (changing, changes) = tokio::join!(
        steady::run(&variant, plan(args, length)),
        follow(&fixture, &tenant, plan_id.as_deref(), args.changes)
    );
    let (whole_ms, applied_ms) = changes?.into_iter().unzip();
    let title = amount.title();
    Ok(Found { title, start, resident, applied_ms, whole_ms, quiet, changing: changing? })
}

/// The interval between two changes. A change that takes longer delays the next one.
const PAUSE: Duration = Duration::from_millis(200);

fn plan(args: &ScaleArgs, length: Duration) -> Plan {
    let per_second = f64::from(args.per_second);
    Plan { per_second, connections: 16, warm_up: Duration::from_secs(1), length }
}

/// Creates rules, or assigns customers to a plan, one after the other. Returns the duration of each as a whole and from the answer
/// of the control plane, in milliseconds.
async fn follow(
    fixture: &Fixture,
    tenant: &Tenant,
    plan_id: Option<&str>,
    changes: u32,
) -> Result<Vec<(f64, f64)>> {
    let mut found = Vec::new();
    let mut turn = tokio::time::interval(PAUSE);
    for nth in 0..changes {
        turn.tick().await;
        let mut rule = variants::rule(&format!("change-{nth}"), &[variants::bucket(1)]);
        // The changes need a namespace of their own, because a full namespace admits no more rules.
        rule["namespace"] = json!("changes");
        let asked = Instant::now();
        let version = match plan_id {
            None => fixture.rule(tenant, &rule).await?,
            Some(plan) => {
                let body = json!({ "customer": fill::customer(nth), "plan": plan });
                let path = format!("/tenants/{}/assignments", tenant.id);
                let made = fixture.post(&path, &body).await?;
                made["rulebook_version"].as_u64().context("the version of the assignment")?
            }
        };
        let answered = Instant::now();
        fixture.until_served(version).await?;
        found.push((millis(asked.elapsed()), millis(answered.elapsed())));
    }
    Ok(found)
}

fn millis(time: Duration) -> f64 {
    float(u64::try_from(time.as_micros()).unwrap_or(u64::MAX)) / 1_000.0
}
