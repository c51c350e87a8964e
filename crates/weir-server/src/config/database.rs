//! The address of Postgres, and the settings of `weir migrate`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use secrecy::{ExposeSecret as _, SecretString};
use weir_store::{PoolSettings, Role, Store};

use super::problems::Problems;

/// The address of Postgres.
#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "the names of the flags")]
pub struct DatabaseArgs {
    /// URL of Postgres, such as <postgres://user@127.0.0.1/weir>
    #[arg(long, env = "WEIR_DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// File that contains the value of the option above
    #[arg(long, env = "WEIR_DATABASE_URL_FILE")]
    pub database_url_file: Option<PathBuf>,
    /// Whether a Postgres on another host can be used without `sslmode=verify-full`: on or off
    #[arg(long, env = "WEIR_DATABASE_INSECURE", default_value = "off")]
    pub database_insecure: String,
}

/// Settings of `weir migrate`.
#[derive(Debug, Args)]
pub struct MigrateArgs {
    #[command(flatten)]
    pub database: DatabaseArgs,
    /// The password of `weir_control_login`, which is then created or changed
    #[arg(long, env = "WEIR_CONTROL_DATABASE_PASSWORD", hide_env_values = true)]
    pub control_database_password: Option<String>,
    /// File that contains the value of the option above
    #[arg(long, env = "WEIR_CONTROL_DATABASE_PASSWORD_FILE")]
    pub control_database_password_file: Option<PathBuf>,
    /// The password of `weir_gate_login`, which is then created or changed
    #[arg(long, env = "WEIR_GATE_DATABASE_PASSWORD", hide_env_values = true)]
    pub gate_database_password: Option<String>,
    /// File that contains the value of the option above
    #[arg(long, env = "WEIR_GATE_DATABASE_PASSWORD_FILE")]
    pub gate_database_password_file: Option<PathBuf>,
    /// The password of `weir_backup`, a login for `pg_dump`, which is then created or changed
    #[arg(long, env = "WEIR_BACKUP_DATABASE_PASSWORD", hide_env_values = true)]
    pub backup_database_password: Option<String>,
    /// File that contains the value of the option above
    #[arg(long, env = "WEIR_BACKUP_DATABASE_PASSWORD_FILE")]
    pub backup_database_password_file: Option<PathBuf>,
    /// Only create the roles that a dump refers to, on a server to which it will be restored
    #[arg(long)]
    pub roles_only: bool,
}

/// Checked settings of the connections of a plane.
#[derive(Debug, Clone)]
pub struct DatabaseSettings {
    /// The address of Postgres, with the login of the plane.
    pub url: SecretString,
    pub connections_max: u32,
}

impl DatabaseSettings {
    /// The settings of `weir dev`.
    pub fn of_one_machine(url: &str) -> Self {
        let PoolSettings { max_connections: connections_max, .. } = PoolSettings::default();
        Self { url: url.into(), connections_max }
    }

    /// A pool that connects when it is used.
    pub fn connect(&self, role: Role) -> anyhow::Result<Store> {
        let settings =
            PoolSettings { max_connections: self.connections_max, ..PoolSettings::default() };
        Store::connect(self.url.expose_secret(), role, &settings)
            .context("read the address of postgres")
    }
}

/// Checked settings of `weir migrate`.
#[derive(Debug)]
pub struct Migration {
    /// The address of Postgres, with the owner's login.
    pub database_url: SecretString,
    /// The new passwords of the planes' logins, where given.
    pub control_password: Option<SecretString>,
    pub gate_password: Option<SecretString>,
    /// The new password of the login of backups, where given.
    pub backup_password: Option<SecretString>,
}

impl DatabaseArgs {
    /// Checks the address of the database alone, for commands that need nothing else.
    pub fn parse(&self) -> anyhow::Result<SecretString> {
        let mut problems = Problems::default();
        let url = problems.database_url(self);
        problems.none()?;
        Ok(url)
    }
}

impl MigrateArgs {
    /// Checks the settings, or reports all problems with them.
    pub fn parse(&self) -> anyhow::Result<Migration> {
        let mut problems = Problems::default();
        let database_url = problems.database_url(&self.database);
        let (direct, file) =
            (&self.control_database_password, &self.control_database_password_file);
        let control_password =
            problems.password("WEIR_CONTROL_DATABASE_PASSWORD", direct.as_deref(), file.as_ref());
        let direct = &self.gate_database_password;
        let file = &self.gate_database_password_file;
        let gate_password =
            problems.password("WEIR_GATE_DATABASE_PASSWORD", direct.as_deref(), file.as_ref());
        let direct = &self.backup_database_password;
        let file = &self.backup_database_password_file;
        let backup_password =
            problems.password("WEIR_BACKUP_DATABASE_PASSWORD", direct.as_deref(), file.as_ref());
        problems.none()?;
        Ok(Migration { database_url, control_password, gate_password, backup_password })
    }
}

impl Problems {
    pub(super) fn database_url(&mut self, args: &DatabaseArgs) -> SecretString {
        let file = args.database_url_file.as_ref();
        let url = self.secret("WEIR_DATABASE_URL", args.database_url.as_deref(), file);
        self.postgres_url("WEIR_DATABASE_URL", url, args)
    }

    pub(super) fn database_connections(&mut self, text: &str) -> u32 {
        match text.parse() {
            Ok(connections @ 2..=1_000) => connections,
            _ => {
                self.add("WEIR_DATABASE_CONNECTIONS must be from 2 to 1000");
                2
            }
        }
    }

    /// An address that begins with `postgres://`. Unless the operator waived it, the address must demand a server that proves
    /// its identity.
    pub(super) fn postgres_url(
        &mut self,
        name: &str,
        url: Option<SecretString>,
        args: &DatabaseArgs,
    ) -> SecretString {
        let insecure = self.switch("WEIR_DATABASE_INSECURE", &args.database_insecure, true);
        let Some(url) = url else { return SecretString::default() };
        let text = url.expose_secret();
        if !(text.starts_with("postgres://") || text.starts_with("postgresql://")) {
            self.add(format!("{name} must begin with postgres://"));
        } else if !insecure {
            match weir_store::is_verified(text) {
                Ok(true) => {}
                Ok(false) => self.add(format!(
                    "{name} must end with ?sslmode=verify-full, because Postgres is on another host \
                     (WEIR_DATABASE_INSECURE=on allows less, for a network that nobody else is in)"
                )),
                Err(error) => self.add(format!("{name} cannot be used: {}", error.reason())),
            }
        }
        url
    }

    /// The password for a login, if one is given.
    fn password(
        &mut self,
        name: &str,
        direct: Option<&str>,
        file: Option<&PathBuf>,
    ) -> Option<SecretString> {
        if direct.is_none() && file.is_none() {
            return None;
        }
        let password = self.secret(name, direct, file)?;
        if !(16..=200).contains(&password.expose_secret().len()) {
            self.add(format!("{name} must be from 16 to 200 bytes long"));
        }
        Some(password)
    }
}
