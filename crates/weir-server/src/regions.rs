//! `weir regions`: the registry of regions, which operators of the installation change as the owner of the database.

use std::io::Write as _;

use anyhow::{Context as _, bail, ensure};
use clap::{Args, Subcommand};
use weir_domain::id::AuditId;
use weir_store::{Actor, NewAudit, Scope, Store};
use weir_wire::regions::{RegionBody, RegionsBody};

use crate::config::DatabaseArgs;
use crate::{edge, migrate, terminal};

#[derive(Debug, Args)]
pub struct RegionsArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(subcommand)]
    command: RegionsCommand,
}

#[derive(Debug, Subcommand)]
enum RegionsCommand {
    /// List the regions; a star marks the home
    List,
    /// Add a region, or replace its gates
    Add(AddArgs),
    /// Remove a region that is not the home
    Remove { name: String },
    /// Make a region the home: limits that hold in all regions are counted there, and begin with unused counters
    Promote { name: String },
}

#[derive(Debug, Args)]
struct AddArgs {
    /// The name of the region, which its gates have in `WEIR_REGION`
    name: String,
    /// The addresses of the internal listeners of its gates, separated by commas
    #[arg(long, value_delimiter = ',', required = true)]
    gates: Vec<String>,
    /// Make the region the home, if there is none yet
    #[arg(long)]
    home: bool,
}

/// Runs `weir regions`. Gates follow within two seconds.
pub async fn run(args: RegionsArgs) -> anyhow::Result<()> {
    let store = migrate::owner(&args.database.parse()?)?;
    let mut tx = store.begin("regions.change", Scope::Service).await.context("begin")?;
    let text = tx.installation().regions().await.context("read the regions")?;
    let before: RegionsBody = serde_json::from_str(&text).context("read the stored regions")?;
    let mut regions = before.clone();
    let action = match args.command {
        RegionsCommand::List => return list(&before),
        RegionsCommand::Add(args) => add(&mut regions, args)?,
        RegionsCommand::Remove { name } => remove(&mut regions, &name)?,
        RegionsCommand::Promote { name } => {
            find(&regions, &name)?;
            regions.home = Some(name);
            "regions.promote"
        }
    };
    if let Err(problems) = regions.parse() {
        let problem = problems.first().context("a problem")?;
        bail!("{} {}", problem.field, problem.reason);
    }
    let after = serde_json::json!(regions);
    ensure!(tx.installation().set_regions(&after).await.context("write the regions")?, "no row");
    tx.audit().append(&NewAudit {
        id: AuditId::new(edge::clock().now(), edge::random_u128()),
        tenant_id: None,
        actor: Actor::System,
        action: action.to_owned(),
        object_kind: "installation".to_owned(),
        object_id: "installation".to_owned(),
        before: Some(serde_json::json!(before)),
        after: Some(after),
        ip: None,
        request_id: "command line".to_owned(),
    });
    tx.publish_installation().await.context("commit")?;
    list(&regions)
}

/// Replaces the registry, as `weir dev` does at each start.
pub async fn register(store: &Store, regions: &RegionsBody) -> anyhow::Result<()> {
    let mut tx = store.begin("regions.register", Scope::Service).await.context("begin")?;
    let regions = serde_json::json!(regions);
    ensure!(tx.installation().set_regions(&regions).await.context("write the regions")?, "no row");
    tx.publish_installation().await.context("commit")?;
    Ok(())
}

fn add(regions: &mut RegionsBody, args: AddArgs) -> anyhow::Result<&'static str> {
    let AddArgs { name, gates, home } = args;
    if home {
        ensure!(
            regions.home.as_ref().is_none_or(|of| *of == name),
            "there is a home already; to change it, run: weir regions promote {name}"
        );
        regions.home = Some(name.clone());
    } else if regions.home.is_none() {
        bail!("the first region must be the home: add it with --home");
    }
    match regions.regions.iter_mut().find(|region| region.name == name) {
        Some(region) => region.gates = gates,
        None => regions.regions.push(RegionBody { name, gates }),
    }
    Ok("regions.add")
}

fn remove(regions: &mut RegionsBody, name: &str) -> anyhow::Result<&'static str> {
    find(regions, name)?;
    if regions.home.as_deref() == Some(name) {
        ensure!(
            regions.regions.len() == 1,
            "`{name}` is the home; first make another region the home: weir regions promote …"
        );
        regions.home = None;
    }
    regions.regions.retain(|region| region.name != name);
    Ok("regions.remove")
}

fn find<'r>(regions: &'r RegionsBody, name: &str) -> anyhow::Result<&'r RegionBody> {
    let found = regions.regions.iter().find(|region| region.name == name);
    found.with_context(|| format!("no region has the name `{name}`"))
}

fn list(regions: &RegionsBody) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    for region in &regions.regions {
        let star = if regions.home.as_ref() == Some(&region.name) { "*" } else { " " };
        let line = format!("{star} {}  {}", region.name, region.gates.join(" "));
        writeln!(out, "{}", terminal::escaped(&line)).context("write to standard output")?;
    }
    Ok(())
}
