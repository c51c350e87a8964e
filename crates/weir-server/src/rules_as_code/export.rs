//! `weir export`: the rules of a tenant as files.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Args;
use weir_manifest::export::manifest;
use weir_wire::rules::RuleBody;

use super::api::Address;
use super::outcome::Outcome;
use super::output::say;

#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    address: Address,
    /// Only the rules of this namespace
    #[arg(long)]
    namespace: Option<String>,
    /// Only the rules of this set
    #[arg(long)]
    set: Option<String>,
    /// Write a file for each rule into this folder, instead of printing them
    #[arg(long)]
    dir: Option<PathBuf>,
}

pub async fn run(args: &ExportArgs) -> anyhow::Result<Outcome> {
    let rules = args.address.client()?.rules(args.namespace.as_deref()).await?;
    let of_set = |owner: Option<&String>| args.set.is_none() || owner == args.set.as_ref();
    let rules: Vec<_> = rules.into_iter().filter(|rule| of_set(rule.managed_by.as_ref())).collect();
    if let Some(rule) = rules.iter().find(|rule| rule.unreadable.is_some()) {
        bail!("the rule {}/{} cannot be read", rule.rule.namespace, rule.rule.name);
    }
    let rules: Vec<_> = rules.into_iter().map(|rule| rule.rule).collect();
    write(&rules, args.dir.as_ref())?;
    Ok(Outcome::Done)
}

/// Prints rules, or writes them into a folder: `<namespace>/<name>.yaml`.
pub fn write(rules: &[RuleBody], folder: Option<&PathBuf>) -> anyhow::Result<()> {
    let Some(folder) = folder else {
        return say(&rules.iter().map(manifest).collect::<String>());
    };
    for rule in rules {
        let folder = folder.join(&rule.namespace);
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        let file = folder.join(format!("{}.yaml", rule.name));
        fs::write(&file, manifest(rule)).with_context(|| format!("write {}", file.display()))?;
    }
    say(&format!("{} rules written to {}", rules.len(), folder.display()))
}
