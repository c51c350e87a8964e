//! `weir check`: checks files without a server.

use clap::Args;

use super::files::FilesArgs;
use super::outcome::Outcome;
use super::output::{OutputArgs, print_findings, say};

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    files: FilesArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn run(args: &CheckArgs) -> anyhow::Result<Outcome> {
    let Some(set) = args.files.read(&args.output)? else { return Ok(Outcome::Failed) };
    print_findings(&args.output, &[], &set.warnings())?;
    if !args.output.is_json() {
        say(&format!("{} rules are valid", set.rules().len()))?;
    }
    Ok(Outcome::Done)
}
