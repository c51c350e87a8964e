//! `weir import`: rules of other programs as files.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use weir_manifest::envoy;
use weir_wire::profiles::ProfileBody;
use weir_wire::rules::RuleBody;

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
    /// Ignore settings that a rule cannot have, such as `replaces`, instead of leaving out their limits
    #[arg(long)]
    lossy: bool,
    /// Write a file for each rule and domain into this folder, instead of printing them
    #[arg(long)]
    dir: Option<PathBuf>,
}

pub fn run(args: &ImportArgs) -> anyhow::Result<Outcome> {
    let From::Envoy(args) = &args.from;
    let mut objects = Objects::default();
    let mut outcome = Outcome::Done;
    for file in &args.files {
        let import = match envoy::import(&source(file)?, args.lossy) {
            Ok(import) => import,
            Err(error) => {
                warn(&error.to_string());
                return Ok(Outcome::Failed);
            }
        };
        let mut left_out: Vec<String> = import.left_out.iter().map(ToString::to_string).collect();
        import.ignored.iter().for_each(|finding| warn(&format!("{finding} (ignored)")));
        for rule in import.rules {
            if let Err(reason) = add_rule(&mut objects.rules, rule) {
                left_out.push(format!("{}: {reason}", file.display()));
            }
        }
        for domain in import.domains {
            if let Err(reason) = add_domain(&mut objects.profiles, domain) {
                warn(&format!("{}: {reason}", file.display()));
                return Ok(Outcome::Failed);
            }
        }
        for finding in left_out {
            outcome = Outcome::LeftOut;
            warn(&format!("{finding} (left out)"));
        }
    }
    write(&objects, args.dir.as_ref())?;
    Ok(outcome)
}

/// Adds a rule, unless another one has its name.
fn add_rule(rules: &mut Vec<RuleBody>, rule: RuleBody) -> Result<(), String> {
    let has_its_name =
        |other: &RuleBody| (&other.namespace, &other.name) == (&rule.namespace, &rule.name);
    if rules.iter().any(has_its_name) {
        return Err(format!("another rule is {}/{} too", rule.namespace, rule.name));
    }
    rules.push(rule);
    Ok(())
}

/// Adds the profile of a domain. Several files can have parts of one domain, but two domains cannot share a namespace.
fn add_domain(domains: &mut Vec<ProfileBody>, domain: ProfileBody) -> Result<(), String> {
    match domains.iter().find(|other| other.name == domain.name) {
        None => domains.push(domain),
        Some(other) if *other == domain => {}
        Some(other) => {
            let name = |domain: &ProfileBody| domain.domain.clone().unwrap_or_default();
            return Err(format!(
                "the domains `{}` and `{}` would both be the namespace {}; import them apart",
                name(other),
                name(&domain),
                domain.namespace,
            ));
        }
    }
    Ok(())
}
