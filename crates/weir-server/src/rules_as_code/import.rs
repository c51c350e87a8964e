//! `weir import`: rules of other programs as files.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use weir_manifest::envoy;

use super::export::{Objects, write};
use super::files::source;
use super::outcome::Outcome;
use super::output::warn;

#[derive(Debug, Args)]
pub struct ImportArgs {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, Subcommand)]
enum From {
    /// Convert files of Envoy's (Lyft's) rate limit service; exits with 3 if something was left out
    Envoy(EnvoyArgs),
}

#[derive(Debug, Args)]
struct EnvoyArgs {
    /// The files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Ignore settings that a rule cannot have, such as those of metrics, instead of leaving out their limits
    #[arg(long)]
    lossy: bool,
    /// Write a file for each rule and domain into this folder, instead of printing them
    #[arg(long)]
    dir: Option<PathBuf>,
}

pub fn run(args: &ImportArgs) -> anyhow::Result<Outcome> {
    let From::Envoy(args) = &args.from;
    let (mut rules, mut domains, mut outcome) = (Vec::new(), Vec::new(), Outcome::Done);
    for file in &args.files {
        match envoy::import(&source(file)?, args.lossy) {
            Ok(import) => {
                for finding in &import.left_out {
                    outcome = Outcome::LeftOut;
                    warn(&format!("{finding} (left out)"));
                }
                import.ignored.iter().for_each(|finding| warn(&format!("{finding} (ignored)")));
                rules.extend(import.rules);
                for domain in import.domains {
                    if !domains.contains(&domain) {
                        domains.push(domain);
                    }
                }
            }
            Err(error) => {
                warn(&error.to_string());
                return Ok(Outcome::Failed);
            }
        }
    }
    let objects = Objects { rules, profiles: domains, ..Objects::default() };
    write(&objects, args.dir.as_ref())?;
    Ok(outcome)
}
