//! `weir migrate`: migrates the schema to this release, and creates the planes' logins. It can run again, and two processes
//! can run it at once.

use std::time::Duration;

use anyhow::Context as _;
use secrecy::{ExposeSecret as _, SecretString};
use weir_store::{PoolSettings, Role, Store};

use crate::config::{MigrateArgs, Migration};
use crate::telemetry::{self, Lines};

pub async fn run(args: MigrateArgs) -> anyhow::Result<()> {
    telemetry::start("info", Lines::ByTerminal)?;
    migrate(&args.parse()?).await?;
    tracing::info!("the schema is up to date");
    Ok(())
}

/// Migrates the schema as the owner, and sets the passwords of the planes' logins that are given.
pub async fn migrate(migration: &Migration) -> anyhow::Result<()> {
    let store = owner(&migration.database_url)?;
    store.migrate().await.context("migrate the schema")?;
    for (plane, password) in
        [(Role::App, &migration.control_password), (Role::Gate, &migration.gate_password)]
    {
        if let Some(password) = password {
            store
                .create_login(plane, password.expose_secret())
                .await
                .context("create a plane's login")?;
        }
    }
    store.close().await;
    Ok(())
}

/// The store with all rights, for commands of operators.
pub fn owner(database_url: &SecretString) -> anyhow::Result<Store> {
    let answer_timeout = Duration::from_mins(5);
    let settings = PoolSettings { max_connections: 2, answer_timeout, ..PoolSettings::default() };
    Store::connect(database_url.expose_secret(), Role::Owner, &settings)
        .context("read the address of postgres")
}
