//! Settings of the control plane.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use secrecy::{ExposeSecret, SecretString};
use weir_control::{AUDIT_DAYS, SigningKey, Signup};
use weir_redis::Client;
use weir_store::Retention;
use weir_webhook::Reach;

use super::database::DatabaseSettings;
use super::listener::ListenerSettings;
use super::mail::MailSettings;
use super::oidc::OidcSettings;
use super::problems::Problems;

/// Settings of the control plane as given.
#[derive(Debug, Args)]
pub struct ControlArgs {
    /// Address on which the control plane listens
    #[arg(long, env = "WEIR_CONTROL_ADDR", default_value = "127.0.0.1:8080")]
    pub control_addr: String,
    /// Origins of gates that the dashboard can call from the browser, separated by commas
    #[arg(long, env = "WEIR_GATE_ORIGINS", default_value = "")]
    pub gate_origins: String,
    /// Sign-up without an invitation: closed, confirmed (by a token from `weir user confirm`) or open (for development)
    #[arg(long, env = "WEIR_SIGNUP", default_value = "closed")]
    pub signup: String,
    /// Key that signs access tokens: base64 of 32 random bytes; after a comma, older keys that still verify
    #[arg(skip)]
    pub jwt_key: Option<SecretString>,
    /// File that contains the signing key (the key itself goes into `WEIR_JWT_KEY`)
    #[arg(long, env = "WEIR_JWT_KEY_FILE")]
    pub jwt_key_file: Option<PathBuf>,
    /// Whether webhooks can use private addresses and plain HTTP, for development: on or off
    #[arg(long, env = "WEIR_WEBHOOK_ALLOW_PRIVATE", default_value = "off")]
    pub webhook_allow_private: String,
    /// Days for which statistics are retained by minute, hour and day
    #[arg(long, env = "WEIR_STATS_DAYS", default_value = "7,90,730")]
    pub stats_days: String,
    /// Days for which entries of the audit log are retained, 30 to 3660
    #[arg(long, env = "WEIR_AUDIT_DAYS", default_value_t = AUDIT_DAYS.to_string())]
    pub audit_days: String,
}

/// Checked settings of the control plane.
#[derive(Debug)]
pub struct ControlSettings {
    pub listen: SocketAddr,
    pub listener: ListenerSettings,
    pub database: DatabaseSettings,
    pub redis: Client,
    pub signup: Signup,
    pub signing_keys: Vec<SigningKey>,
    pub retention: Retention,
    pub audit_days: u16,
    pub webhook_reach: Reach,
    pub gate_origins: Vec<String>,
    pub mail: Option<MailSettings>,
    /// The origin of the dashboard, for links in the messages of alerts.
    pub dashboard_url: Option<String>,
    pub oidc: Option<OidcSettings>,
}

/// Checked settings of sign-in and of messages to people.
#[derive(Debug)]
pub(super) struct PeopleSettings {
    pub(super) mail: Option<MailSettings>,
    pub(super) dashboard_url: Option<String>,
    pub(super) oidc: Option<OidcSettings>,
}

impl ControlArgs {
    /// Checks the settings. `signs` is true if the control plane runs and therefore needs a signing key.
    pub(super) fn parse(
        &self,
        problems: &mut Problems,
        signs: bool,
        shared: (ListenerSettings, DatabaseSettings, Option<Client>),
        people: PeopleSettings,
    ) -> Option<ControlSettings> {
        let (listener, database, redis) = shared;
        let listen = problems.address("WEIR_CONTROL_ADDR", &self.control_addr);
        let signup = problems.signup(&self.signup);
        let gate_origins = problems.origins("WEIR_GATE_ORIGINS", &self.gate_origins);
        let webhook_reach = problems.reach(&self.webhook_allow_private);
        let retention = problems.retention(&self.stats_days);
        let audit_days = problems.audit_days(&self.audit_days);
        let signing_keys = if signs {
            problems.signing_keys(self.jwt_key.as_ref(), self.jwt_key_file.as_ref())
        } else {
            Vec::new()
        };
        Some(ControlSettings {
            listen,
            listener,
            database,
            redis: redis?,
            signup,
            signing_keys,
            retention,
            audit_days,
            webhook_reach,
            gate_origins,
            mail: people.mail,
            dashboard_url: people.dashboard_url,
            oidc: people.oidc,
        })
    }
}

/// Reads a key from the environment, because flags are visible to other users.
#[expect(clippy::disallowed_methods, reason = "the one file that reads the environment")]
pub fn key_of_environment(name: &str) -> Option<SecretString> {
    std::env::var(name).ok().map(SecretString::from)
}

/// The signing keys of the environment or of this file, for commands.
pub fn signing_keys(file: Option<&PathBuf>) -> anyhow::Result<Vec<SigningKey>> {
    let mut problems = Problems::default();
    let keys = problems.signing_keys(key_of_environment("WEIR_JWT_KEY").as_ref(), file);
    problems.none()?;
    Ok(keys)
}

impl Problems {
    fn signup(&mut self, text: &str) -> Signup {
        match text {
            "open" => Signup::Open,
            "confirmed" => Signup::Confirmed,
            "closed" => Signup::Closed,
            _ => {
                self.add("WEIR_SIGNUP must be `closed`, `confirmed` or `open`");
                Signup::Closed
            }
        }
    }

    pub(super) fn reach(&mut self, allow_private: &str) -> Reach {
        let anywhere = self.switch("WEIR_WEBHOOK_ALLOW_PRIVATE", allow_private, false);
        if anywhere { Reach::Anywhere } else { Reach::Public }
    }

    pub(super) fn retention(&mut self, text: &str) -> Retention {
        let days: Result<Vec<u16>, _> = text.split(',').map(|days| days.trim().parse()).collect();
        match days.unwrap_or_default()[..] {
            [minutes_days @ 1..=60, hours_days, days_days @ ..=3660]
                if minutes_days <= hours_days && hours_days <= days_days =>
            {
                Retention { minutes_days, hours_days, days_days, ..Retention::default() }
            }
            _ => {
                self.add(
                    "WEIR_STATS_DAYS must be three numbers such as 7,90,730, the first from 1 to 60, \
                     none smaller than the one before it, at most 3660",
                );
                Retention::default()
            }
        }
    }

    fn audit_days(&mut self, text: &str) -> u16 {
        if let Ok(days @ 30..=3660) = text.parse() {
            return days;
        }
        self.add("WEIR_AUDIT_DAYS must be from 30 to 3660");
        AUDIT_DAYS
    }

    fn signing_keys(
        &mut self,
        key: Option<&SecretString>,
        file: Option<&PathBuf>,
    ) -> Vec<SigningKey> {
        let direct = key.map(ExposeSecret::expose_secret);
        if let Some(file) = file {
            self.closed_to_others("WEIR_JWT_KEY_FILE", file);
        }
        let Some(text) = self.secret("WEIR_JWT_KEY", direct, file) else {
            return Vec::new();
        };
        let mut keys = Vec::new();
        for one in text.expose_secret().split(',') {
            match SigningKey::parse(one) {
                Ok(key) => keys.push(key),
                Err(error) => self.add(format!("WEIR_JWT_KEY {error}")),
            }
        }
        keys
    }

    /// Refuses a file that accounts outside its group can read or write.
    fn closed_to_others(&mut self, name: &str, file: &Path) {
        use std::os::unix::fs::PermissionsExt as _;
        let Ok(metadata) = std::fs::metadata(file) else { return };
        if metadata.permissions().mode() & 0o007 != 0 {
            let path = file.display();
            self.add(format!("{name} ({path}) is open to every account: `chmod o-rwx` it"));
        }
    }
}
