//! `weir migrate`: brings the schema up to this release. Safe to run twice, and by two at once.

use anyhow::Context as _;
use weir_store::{PoolSettings, Role, Store};

use crate::config::{DatabaseArgs, Secret};
use crate::telemetry::{self, Lines};

pub async fn run(args: DatabaseArgs) -> anyhow::Result<()> {
    telemetry::start("info", Lines::ByTerminal)?;
    migrate(&args.parse()?).await?;
    tracing::info!("the schema is up to date");
    Ok(())
}

/// Brings the schema up to date as the owner.
pub async fn migrate(database_url: &Secret) -> anyhow::Result<()> {
    let store = owner(database_url)?;
    store.migrate().await.context("migrate the schema")?;
    store.close().await;
    Ok(())
}

/// The store with all rights, for the operator's own commands.
pub fn owner(database_url: &Secret) -> anyhow::Result<Store> {
    let settings = PoolSettings { max_connections: 2, ..PoolSettings::default() };
    Store::connect(&database_url.0, Role::Owner, &settings).context("read the address of postgres")
}
