//! `weir diff`: what an apply would change.

use clap::Args;

use super::outcome::Outcome;
use super::plan::PlanArgs;

#[derive(Debug, Args)]
pub struct DiffArgs {
    #[command(flatten)]
    plan: PlanArgs,
}

pub async fn run(args: &DiffArgs) -> anyhow::Result<Outcome> {
    let Some(planned) = args.plan.plan().await? else { return Ok(Outcome::Failed) };
    args.plan.print(&planned.plan)?;
    Ok(if planned.plan.changes() == 0 { Outcome::Done } else { Outcome::Different })
}
