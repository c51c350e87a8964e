//! The address of Redis.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use secrecy::ExposeSecret as _;
use weir_redis::Client;

use super::problems::Problems;

/// Settings of Redis as given.
#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "fields are flags of the command line")]
pub struct RedisArgs {
    /// URL of Redis, such as <redis://127.0.0.1:6379>, <redis-sentinel://a,b,c/NAME> or <redis-cluster://a,b,c>
    #[arg(long, env = "WEIR_REDIS_URL", hide_env_values = true)]
    pub redis_url: Option<String>,
    /// File that contains the value of the option above
    #[arg(long, env = "WEIR_REDIS_URL_FILE")]
    pub redis_url_file: Option<PathBuf>,
    /// Certificate (PEM) of the authority that signed the certificate of Redis; default: those trusted by the system
    #[arg(long, env = "WEIR_REDIS_CA_FILE")]
    pub redis_ca_file: Option<PathBuf>,
    /// Maximum time that a check waits for Redis, in milliseconds
    #[arg(long, env = "WEIR_REDIS_BUDGET_MS", default_value = "10")]
    pub redis_budget_ms: String,
}

/// The schemes with TLS.
const TLS: [&str; 3] = ["rediss://", "rediss-sentinel://", "rediss-cluster://"];

impl RedisArgs {
    /// Checks these settings alone: a client that has not connected yet, and the budget of a check.
    pub fn parse(&self) -> anyhow::Result<(Client, Duration)> {
        let mut problems = Problems::default();
        let client = problems.redis(self);
        let budget = problems.budget(&self.redis_budget_ms);
        problems.none()?;
        Ok((client.context("WEIR_REDIS_URL was checked")?, budget))
    }
}

impl Problems {
    /// A client that has not connected yet, or `None` after a problem was added.
    pub(super) fn redis(&mut self, args: &RedisArgs) -> Option<Client> {
        let url =
            self.secret("WEIR_REDIS_URL", args.redis_url.as_deref(), args.redis_url_file.as_ref())?;
        let url = url.expose_secret();
        let client = match &args.redis_ca_file {
            None => weir_redis::client(url),
            Some(path) => weir_redis::client_trusting(url, self.authority(path, url)?),
        };
        client.map_err(|error| self.add(format!("WEIR_REDIS_URL cannot be used: {error}"))).ok()
    }

    /// Reads the certificate of the authority that signs the certificate of Redis.
    fn authority(&mut self, path: &Path, url: &str) -> Option<Vec<u8>> {
        const NAME: &str = "WEIR_REDIS_CA_FILE";
        let read = std::fs::read_to_string(path);
        let wrong = match &read {
            Err(error) => format!("{NAME} cannot be read ({}): {error}", path.display()),
            Ok(_) if !TLS.iter().any(|tls| url.starts_with(tls)) => {
                let schemes = TLS.join(" or ");
                format!("{NAME} is of no use unless WEIR_REDIS_URL begins with {schemes}")
            }
            Ok(text) if !text.contains("-----BEGIN CERTIFICATE-----") => {
                format!("{NAME} holds no certificate in PEM form ({})", path.display())
            }
            Ok(_) => return read.ok().map(String::into_bytes),
        };
        self.add(wrong);
        None
    }

    /// The longest time that a check waits for Redis.
    pub(super) fn budget(&mut self, text: &str) -> Duration {
        match text.parse::<u64>() {
            Ok(ms @ 1..=10_000) => Duration::from_millis(ms),
            _ => {
                self.add("WEIR_REDIS_BUDGET_MS must be from 1 to 10000");
                Duration::from_millis(10)
            }
        }
    }
}
