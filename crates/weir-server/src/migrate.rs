//! `weir migrate`: migrates the schema to this release, and creates the logins of the planes and of backups. It can run again,
//! and two processes can run it at once. A plane that starts before it waits for it.

use std::time::Duration;

use anyhow::Context as _;
use secrecy::{ExposeSecret as _, SecretString};
use weir_store::{Migrated, PoolSettings, Role, Store, StoreError};

use crate::config::{MigrateArgs, Migration};
use crate::running::Running;
use crate::telemetry::{self, Lines};

/// The pause between two comparisons of the schema with the release.
const COMPARE_EVERY: Duration = Duration::from_secs(1);

pub async fn run(args: MigrateArgs) -> anyhow::Result<()> {
    telemetry::start("info", Lines::ByTerminal)?;
    let migration = args.parse()?;
    if args.roles_only {
        owner(&migration.database_url)?.create_roles().await.context("create the roles")?;
        tracing::info!("the roles exist: restore the dump, then run weir migrate");
        return Ok(());
    }
    match migrate(&migration).await? {
        Migrated::UpToDate => tracing::info!("the schema is up to date"),
        Migrated::Newer(further) => tracing::warn!(
            further,
            "the schema is newer than this release and compatible with it: nothing to migrate"
        ),
    }
    Ok(())
}

/// Migrates the schema as the owner, and sets the passwords that are given.
pub async fn migrate(migration: &Migration) -> anyhow::Result<Migrated> {
    let store = owner(&migration.database_url)?;
    let migrated = store.migrate().await.context("migrate the schema")?;
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
    if let Some(password) = &migration.backup_password {
        let created = store.create_backup_login(password.expose_secret()).await;
        created
            .context("create the login of backups, which only a superuser can give BYPASSRLS")?;
    }
    store.close().await;
    Ok(migrated)
}

/// The store with all rights, for commands of operators.
pub fn owner(database_url: &SecretString) -> anyhow::Result<Store> {
    let answer_timeout = Duration::from_mins(5);
    let settings = PoolSettings { max_connections: 2, answer_timeout, ..PoolSettings::default() };
    Store::connect(database_url.expose_secret(), Role::Owner, &settings)
        .context("read the address of postgres")
}

/// Logs that the schema is older than this release, or of the former series, and when it no longer is. The plane waits for
/// `weir migrate`, and until then a control plane is not ready.
pub fn compare_schema(store: Store, plane: &'static str, running: &Running) {
    running.spawn_check("schema", async move {
        let mut is_logged = false;
        loop {
            match store.assert_schema().await {
                Ok(()) => break,
                Err(error @ (StoreError::OlderSchema(_) | StoreError::FormerSchema))
                    if !is_logged =>
                {
                    is_logged = true;
                    tracing::error!("{plane}: {error}");
                }
                Err(_) => {}
            }
            tokio::time::sleep(COMPARE_EVERY).await;
        }
        if is_logged {
            tracing::info!("{plane}: the schema now matches this release");
        }
        Ok(())
    });
}
