//! `weir apply`: applies the files as one change, and waits until the gates serve it.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use super::api::Applied;
use super::outcome::Outcome;
use super::output::{say, say_json, warn};
use super::plan::{PlanArgs, Planned, print_refusal};
use super::rollout;

#[derive(Debug, Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// Apply without confirmation. Without a terminal, there is no prompt
    #[arg(long, short)]
    yes: bool,
    /// Maximum time to wait until all gates serve the change, in seconds
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    wait: u64,
}

pub async fn run(args: &ApplyArgs) -> anyhow::Result<Outcome> {
    let Some(planned) = args.plan.plan().await? else { return Ok(Outcome::Failed) };
    let Planned { api, set, mut body, plan } = planned;
    let is_json = args.plan.output.is_json();
    if plan.changes() == 0 || !is_json {
        args.plan.print(&plan)?;
    }
    if plan.changes() == 0 {
        return Ok(Outcome::Done);
    }
    if !args.yes && std::io::stdin().is_terminal() && !confirmed()? {
        warn("nothing was changed");
        return Ok(Outcome::Failed);
    }
    (body.dry_run, body.if_version) = (false, Some(plan.version));
    let applied = match api.apply(&body).await? {
        Applied::Plan(applied) => applied,
        Applied::Refused(fields) => {
            print_refusal(&args.plan.output, &set, &fields)?;
            return Ok(Outcome::Failed);
        }
    };
    if is_json {
        say_json(&json!(applied))?;
    } else {
        say(&format!("applied as version {}", applied.rulebook_version))?;
    }
    // The change is made, so a gate that is late is no failure of this command.
    let live = rollout::wait(&api, applied.rulebook_version, args.wait).await;
    warn(&live.unwrap_or_else(|error| format!("the gates are not known: {error:#}")));
    Ok(Outcome::Done)
}

/// Asks the person at the terminal.
fn confirmed() -> anyhow::Result<bool> {
    let mut out = std::io::stderr();
    write!(out, "Apply? [y/N] ").and_then(|()| out.flush()).context("ask")?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("read the answer")?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}
