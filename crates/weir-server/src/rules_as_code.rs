//! Rules as code: `weir check`, `diff`, `apply`, `export`, `import`, `schema` and `ask`.
//!
//! The exit codes are a contract with scripts: 0 for success, 1 of `diff` for differences, 2 for every failure, and 3 of
//! `import` for parts that were left out.

use std::process::ExitCode;

use clap::Subcommand;

use self::apply::ApplyArgs;
use self::ask::AskArgs;
use self::check::CheckArgs;
use self::diff::DiffArgs;
use self::export::ExportArgs;
use self::import::ImportArgs;
use self::outcome::Outcome;
use crate::telemetry;

mod api;
mod apply;
mod ask;
mod check;
mod diff;
mod differences;
mod export;
mod files;
mod folder;
mod import;
mod outcome;
mod output;
mod plan;
mod rollout;
mod schema;

/// The commands for rules as code, and that for a check.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check files with rules, profiles, overrides and alerts; exits with 0 or 2
    Check(Box<CheckArgs>),
    /// Show what `weir apply` would change; exits with 0 for nothing, 1 for changes, 2 for errors
    Diff(Box<DiffArgs>),
    /// Apply files with rules, profiles, overrides and alerts: all of them as one change, or none
    Apply(Box<ApplyArgs>),
    /// Write the rules, profiles, overrides and alerts of a tenant as files
    Export(ExportArgs),
    /// Convert rules of other programs
    Import(ImportArgs),
    /// Print the JSON Schema of these files
    Schema,
    /// Send a check to a gate; exits with 0 if it is allowed, 1 if it is denied, 2 for errors
    Ask(AskArgs),
}

/// Runs a command. Returns its exit code.
pub async fn run(command: Command) -> ExitCode {
    let outcome = match command {
        Command::Check(args) => check::run(&args).await,
        Command::Diff(args) => diff::run(&args).await,
        Command::Apply(args) => apply::run(&args).await,
        Command::Export(args) => export::run(&args).await,
        Command::Import(args) => import::run(&args),
        Command::Schema => schema::run(),
        Command::Ask(args) => ask::run(&args).await,
    };
    let outcome = outcome.unwrap_or_else(|error| {
        telemetry::failed(&error);
        Outcome::Failed
    });
    outcome.into()
}
