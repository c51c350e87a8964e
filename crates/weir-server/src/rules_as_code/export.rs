//! `weir export`: the rules and profiles of a tenant as files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use weir_manifest::export::{manifest, profile_manifest};
use weir_wire::profiles::ProfileBody;
use weir_wire::rules::RuleBody;

use super::api::Address;
use super::outcome::Outcome;
use super::output::say;

#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    address: Address,
    /// Only the rules and profiles of this namespace
    #[arg(long)]
    namespace: Option<String>,
    /// Only the rules and profiles of this set
    #[arg(long)]
    set: Option<String>,
    /// Write a file for each rule and profile into this folder, instead of printing them
    #[arg(long)]
    dir: Option<PathBuf>,
}

pub async fn run(args: &ExportArgs) -> anyhow::Result<Outcome> {
    let api = args.address.client()?;
    let rules = api.rules(args.namespace.as_deref()).await?;
    let profiles = api.profiles().await?;
    let of_set = |owner: Option<&String>| args.set.is_none() || owner == args.set.as_ref();
    let rules: Vec<_> = rules.into_iter().filter(|rule| of_set(rule.managed_by.as_ref())).collect();
    if let Some(rule) = rules.iter().find(|rule| rule.unreadable.is_some()) {
        bail!("the rule {}/{} cannot be read", rule.rule.namespace, rule.rule.name);
    }
    let rules: Vec<_> = rules.into_iter().map(|rule| rule.rule).collect();
    let of_namespace = |profile: &ProfileBody| {
        args.namespace.as_ref().is_none_or(|namespace| *namespace == profile.namespace)
    };
    let profiles = profiles.into_iter().filter(|answer| of_set(answer.managed_by.as_ref()));
    let profiles: Vec<_> =
        profiles.map(|answer| answer.profile).filter(|profile| of_namespace(profile)).collect();
    write(&rules, &profiles, args.dir.as_ref())?;
    Ok(Outcome::Done)
}

/// Prints rules and profiles, or writes them into a folder: `<namespace>/<name>.yaml`, and `<name>.yaml` for a profile.
pub fn write(
    rules: &[RuleBody],
    profiles: &[ProfileBody],
    folder: Option<&PathBuf>,
) -> anyhow::Result<()> {
    let Some(folder) = folder else {
        let manifests = rules.iter().map(manifest).chain(profiles.iter().map(profile_manifest));
        return say(&manifests.collect::<String>());
    };
    for rule in rules {
        let folder = folder.join(&rule.namespace);
        write_file(&folder, &rule.name, &manifest(rule))?;
    }
    for profile in profiles {
        write_file(folder, &profile.name, &profile_manifest(profile))?;
    }
    let profiles = if profiles.is_empty() {
        String::new()
    } else {
        format!(" and {} profiles", profiles.len())
    };
    say(&format!("{} rules{profiles} written to {}", rules.len(), folder.display()))
}

fn write_file(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let file = folder.join(format!("{name}.yaml"));
    fs::write(&file, text).with_context(|| format!("write {}", file.display()))
}
