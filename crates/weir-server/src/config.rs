//! The settings. Only this module reads the environment. All problems are reported together.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;

use self::control::PeopleSettings;
pub use self::control::{ControlArgs, ControlSettings, key_of_environment, signing_keys};
pub use self::database::{DatabaseArgs, DatabaseSettings, MigrateArgs, Migration};
pub use self::decisions::{DecisionSettings, Destination};
pub use self::gate::{GateArgs, GateSettings, RegionSettings};
pub use self::listener::{ListenerArgs, ListenerSettings};
pub use self::mail::MailArgs;
pub use self::oidc::OidcArgs;
use self::problems::Problems;
pub use self::redis::RedisArgs;
use crate::telemetry;

mod control;
mod database;
mod decisions;
mod gate;
mod listener;
mod mail;
mod oidc;
mod problems;
mod redis;

/// Settings of `weir serve` as given; checked by [`Settings::parse`].
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The planes to run: control, gate, or both
    #[arg(long, env = "WEIR_ROLES", default_value = "control,gate")]
    pub roles: String,
    #[command(flatten)]
    pub database: DatabaseArgs,
    /// Connections of each plane to Postgres, 2 to 1,000
    #[arg(long, env = "WEIR_DATABASE_CONNECTIONS", default_value = "10")]
    pub database_connections: String,
    #[command(flatten)]
    pub redis: RedisArgs,
    #[command(flatten)]
    pub control: ControlArgs,
    #[command(flatten)]
    pub mail: MailArgs,
    #[command(flatten)]
    pub oidc: OidcArgs,
    #[command(flatten)]
    pub gate: GateArgs,
    #[command(flatten)]
    pub listener: ListenerArgs,
    /// The log filter, such as `info` or `weir_gate=debug`
    #[arg(long, env = "WEIR_LOG", default_value = "info")]
    pub log: String,
}

/// Checked settings of `weir serve`.
#[derive(Debug)]
pub struct Settings {
    /// The settings of the control plane, if it runs.
    pub control: Option<ControlSettings>,
    /// The settings of the gate, if it runs.
    pub gate: Option<GateSettings>,
    /// The address of the operations listener, if there is one.
    pub operations: Option<SocketAddr>,
    /// The time from SIGTERM, when the process stops being ready, until its ports close.
    pub drain: Duration,
}

impl Settings {
    /// Checks all settings, or reports all problems with them.
    pub fn parse(args: &ServeArgs) -> anyhow::Result<Self> {
        let mut problems = Problems::default();
        let (runs_control, runs_gate) = problems.roles(&args.roles);
        if let Err(error) = telemetry::parse(&args.log) {
            problems.add(error.to_string());
        }
        let database_url = problems.database_url(&args.database);
        let gate_database_url = if runs_control && runs_gate {
            problems.gate_database_url(&args.gate, &args.database)
        } else {
            database_url.clone()
        };
        let connections_max = problems.database_connections(&args.database_connections);
        let plane = |url| DatabaseSettings { url, connections_max };
        let redis = problems.redis(&args.redis);
        let redis_budget = problems.budget(&args.redis.redis_budget_ms);
        let listener = problems.listener(&args.listener);
        let drain = problems.drain(&args.listener.drain_ms);
        // The settings of a plane that does not run are checked too.
        let dashboard_url = args.mail.origin(&mut problems);
        let mail = args.mail.parse(&mut problems, dashboard_url.clone());
        let oidc = args.oidc.parse(&mut problems, args.mail.dashboard_url.as_deref());
        let shared = (listener.clone(), plane(database_url), redis.clone());
        let people = PeopleSettings { mail, dashboard_url, oidc };
        let control = args.control.parse(&mut problems, runs_control, shared, people);
        let shared = (listener.clone(), plane(gate_database_url), redis);
        let reach = control.as_ref().map(|control| control.webhook_reach).unwrap_or_default();
        let beside = control.as_ref().filter(|_| runs_control);
        let region_keys = beside.map(|control| weir_control::region_keys(&control.signing_keys));
        let region_keys = region_keys.transpose()?.unwrap_or_default();
        let gate = args.gate.parse(&mut problems, shared, redis_budget, (reach, &region_keys));
        problems.none()?;
        let (control, mut gate) = control.zip(gate).context("WEIR_REDIS_URL was checked")?;
        if runs_control && gate.sealing_keys.is_empty() {
            gate.sealing_keys = weir_control::sealing_keys(&control.signing_keys)?;
        }
        Ok(Self {
            operations: listener.operations,
            drain,
            control: runs_control.then_some(control),
            gate: runs_gate.then_some(gate),
        })
    }
}

impl Problems {
    fn roles(&mut self, text: &str) -> (bool, bool) {
        let mut control = false;
        let mut gate = false;
        for role in text.split(',').map(str::trim).filter(|role| !role.is_empty()) {
            match role {
                "control" => control = true,
                "gate" => gate = true,
                other => self.add(format!("--roles knows `control` and `gate`, not `{other}`")),
            }
        }
        if !control && !gate {
            self.add("--roles names nothing to run");
        }
        (control, gate)
    }
}

#[cfg(test)]
mod tests;
