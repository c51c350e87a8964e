//! Settings: the only reader of the environment. Everything wrong is reported at once.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use axum::http::HeaderValue;
use clap::Args;
use weir_control::{AUDIT_DAYS, SigningKey, Signup};
use weir_gate::Staleness;
use weir_redis::Client;
use weir_store::Retention;
use weir_webhook::Reach;

pub use self::listener::{ListenerArgs, ListenerSettings};

mod listener;

/// A text that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

/// Settings of `weir serve` as given; checked by [`Settings::parse`].
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// What to run: control, gate, or both
    #[arg(long, env = "WEIR_ROLES", default_value = "control,gate")]
    pub roles: String,
    #[command(flatten)]
    pub database: DatabaseArgs,
    /// Where Postgres is, with the gate's login; needed when one process runs both planes
    #[arg(long, env = "WEIR_GATE_DATABASE_URL", hide_env_values = true)]
    pub gate_database_url: Option<String>,
    /// A file that holds the above
    #[arg(long, env = "WEIR_GATE_DATABASE_URL_FILE")]
    pub gate_database_url_file: Option<PathBuf>,
    /// Where Redis is, such as <redis://127.0.0.1:6379>
    #[arg(long, env = "WEIR_REDIS_URL", hide_env_values = true)]
    pub redis_url: Option<String>,
    /// A file that holds the above
    #[arg(long, env = "WEIR_REDIS_URL_FILE")]
    pub redis_url_file: Option<PathBuf>,
    /// The certificate of the authority (PEM) that Redis' own is signed by; default: those the system trusts
    #[arg(long, env = "WEIR_REDIS_CA_FILE")]
    pub redis_ca_file: Option<PathBuf>,
    /// Longest that a check waits for Redis, in milliseconds
    #[arg(long, env = "WEIR_REDIS_BUDGET_MS", default_value = "10")]
    pub redis_budget_ms: String,
    /// Where the control plane listens
    #[arg(long, env = "WEIR_CONTROL_ADDR", default_value = "127.0.0.1:8080")]
    pub control_addr: String,
    /// Where the gate listens
    #[arg(long, env = "WEIR_GATE_ADDR", default_value = "127.0.0.1:8081")]
    pub gate_addr: String,
    /// Where clients reach this gate, as the dashboard shows it; default: where it listens
    #[arg(long, env = "WEIR_GATE_URL")]
    pub gate_url: Option<String>,
    /// Origins of gates that the dashboard may call from the browser, separated by commas
    #[arg(long, env = "WEIR_GATE_ORIGINS", default_value = "")]
    pub gate_origins: String,
    /// Origins of dashboards that may call this gate from the browser, separated by commas
    #[arg(long, env = "WEIR_DASHBOARD_ORIGINS", default_value = "")]
    pub dashboard_origins: String,
    /// Sign-up of strangers: closed, confirmed (by a token from `weir user confirm`) or open (for development)
    #[arg(long, env = "WEIR_SIGNUP", default_value = "closed")]
    pub signup: String,
    /// Signs access tokens: base64 of 32 random bytes; after a comma, older ones that still verify
    #[arg(skip)]
    pub jwt_key: Option<Secret>,
    /// A file that holds the signing key (the key itself goes into `WEIR_JWT_KEY`)
    #[arg(long, env = "WEIR_JWT_KEY_FILE")]
    pub jwt_key_file: Option<PathBuf>,
    /// Whether webhooks may go to private addresses and in the clear, for development: on or off
    #[arg(long, env = "WEIR_WEBHOOK_ALLOW_PRIVATE", default_value = "off")]
    pub webhook_allow_private: String,
    /// Where a gate keeps its copy of the rulebook
    #[arg(long, env = "WEIR_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
    /// Seconds after which a rulebook that cannot be compared with Postgres counts as stale
    #[arg(long, env = "WEIR_RULEBOOK_MAX_AGE_S", default_value = "30")]
    pub rulebook_max_age_s: String,
    /// What a gate does with a stale rulebook: serve or refuse
    #[arg(long, env = "WEIR_RULEBOOK_STALE", default_value = "serve")]
    pub rulebook_stale: String,
    /// Whether a gate keeps statistics: on or off
    #[arg(long, env = "WEIR_STATS", default_value = "on")]
    pub stats: String,
    /// Days for which statistics are kept by minute, hour and day
    #[arg(long, env = "WEIR_STATS_DAYS", default_value = "7,90,730")]
    pub stats_days: String,
    #[command(flatten)]
    pub listener: ListenerArgs,
    /// Days for which entries of the audit log are retained, 30 to 3660
    #[arg(long, env = "WEIR_AUDIT_DAYS", default_value_t = AUDIT_DAYS.to_string())]
    pub audit_days: String,
    /// What is logged, such as `info` or `weir_gate=debug`
    #[arg(long, env = "WEIR_LOG", default_value = "info")]
    pub log: String,
}

/// Where Postgres is.
#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "the names of the flags")]
pub struct DatabaseArgs {
    /// Where Postgres is, such as <postgres://user@127.0.0.1/weir>
    #[arg(long, env = "WEIR_DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// A file that holds the above
    #[arg(long, env = "WEIR_DATABASE_URL_FILE")]
    pub database_url_file: Option<PathBuf>,
    /// Whether a Postgres on another host may be used without `sslmode=verify-full`: on or off
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
    /// A file that holds the above
    #[arg(long, env = "WEIR_CONTROL_DATABASE_PASSWORD_FILE")]
    pub control_database_password_file: Option<PathBuf>,
    /// The password of `weir_gate_login`, which is then created or changed
    #[arg(long, env = "WEIR_GATE_DATABASE_PASSWORD", hide_env_values = true)]
    pub gate_database_password: Option<String>,
    /// A file that holds the above
    #[arg(long, env = "WEIR_GATE_DATABASE_PASSWORD_FILE")]
    pub gate_database_password_file: Option<PathBuf>,
}

/// Checked settings of `weir migrate`.
#[derive(Debug)]
pub struct Migration {
    /// Where Postgres is, with the owner's login.
    pub database_url: Secret,
    /// The passwords to give to the planes' logins.
    pub control_password: Option<Secret>,
    pub gate_password: Option<Secret>,
}

/// Checked settings of `weir serve`.
#[derive(Debug)]
pub struct Settings {
    /// The control plane, if it is to run.
    pub control: Option<ControlSettings>,
    /// The gate, if it is to run.
    pub gate: Option<GateSettings>,
    /// Where the operations listener is, if there is one.
    pub operations: Option<SocketAddr>,
}

/// What the control plane needs.
#[derive(Debug)]
pub struct ControlSettings {
    pub listen: SocketAddr,
    pub listener: ListenerSettings,
    pub database_url: Secret,
    pub redis: Client,
    pub signup: Signup,
    pub signing_keys: Vec<SigningKey>,
    pub retention: Retention,
    pub audit_days: u16,
    pub webhook_reach: Reach,
    pub gate_origins: Vec<String>,
}

/// What a gate needs.
#[derive(Debug)]
pub struct GateSettings {
    pub listen: SocketAddr,
    pub listener: ListenerSettings,
    pub url: String,
    pub database_url: Secret,
    pub redis: Client,
    pub redis_budget: Duration,
    pub state_dir: Option<PathBuf>,
    pub staleness: Staleness,
    pub statistics: bool,
    pub dashboard_origins: Vec<HeaderValue>,
}

/// Collects everything that is wrong before anything is said.
#[derive(Debug, Default)]
struct Problems(Vec<String>);

impl Settings {
    /// Checks all settings, or says all that is wrong with them.
    pub fn parse(args: &ServeArgs) -> anyhow::Result<Self> {
        let mut problems = Problems::default();
        let (control, gate) = problems.roles(&args.roles);
        let database_url = problems.database_url(&args.database);
        let gate_database_url =
            if control && gate { problems.gate_database_url(args) } else { database_url.clone() };
        let redis = problems.redis(args);
        let redis_budget = problems.budget(&args.redis_budget_ms);
        let control_addr = problems.address("WEIR_CONTROL_ADDR", &args.control_addr);
        let gate_addr = problems.address("WEIR_GATE_ADDR", &args.gate_addr);
        let listener = problems.listener(&args.listener);
        let signup = problems.signup(&args.signup);
        let gate_origins = problems.origins("WEIR_GATE_ORIGINS", &args.gate_origins);
        let dashboard_origins = problems.origins("WEIR_DASHBOARD_ORIGINS", &args.dashboard_origins);
        let webhook_reach = problems.reach(&args.webhook_allow_private);
        let staleness = problems.staleness(&args.rulebook_max_age_s, &args.rulebook_stale);
        let statistics = problems.statistics(&args.stats);
        let retention = problems.retention(&args.stats_days);
        let audit_days = problems.audit_days(&args.audit_days);
        let signing_keys = if control { problems.signing_keys(args) } else { Vec::new() };
        problems.none()?;
        let redis = redis.context("WEIR_REDIS_URL was checked")?;
        Ok(Self {
            operations: listener.operations,
            control: control.then(|| ControlSettings {
                listen: control_addr,
                listener: listener.clone(),
                database_url: database_url.clone(),
                redis: redis.clone(),
                signup,
                signing_keys,
                retention,
                audit_days,
                webhook_reach,
                gate_origins,
            }),
            gate: gate.then(|| GateSettings {
                listen: gate_addr,
                listener,
                url: args.gate_url.clone().unwrap_or_else(|| format!("http://{gate_addr}")),
                database_url: gate_database_url,
                redis,
                redis_budget,
                state_dir: args.state_dir.clone(),
                staleness,
                statistics,
                dashboard_origins: dashboard_origins
                    .iter()
                    .filter_map(|origin| HeaderValue::from_str(origin).ok())
                    .collect(),
            }),
        })
    }
}

impl DatabaseArgs {
    /// The database's address alone, for commands that need nothing else.
    pub fn parse(&self) -> anyhow::Result<Secret> {
        let mut problems = Problems::default();
        let url = problems.database_url(self);
        problems.none()?;
        Ok(url)
    }
}

impl MigrateArgs {
    /// Checks the settings, or says all that is wrong with them.
    pub fn parse(&self) -> anyhow::Result<Migration> {
        let mut problems = Problems::default();
        let database_url = problems.database_url(&self.database);
        let (direct, file) =
            (&self.control_database_password, &self.control_database_password_file);
        let control_password =
            problems.password("WEIR_CONTROL_DATABASE_PASSWORD", direct.as_ref(), file.as_ref());
        let (direct, file) = (&self.gate_database_password, &self.gate_database_password_file);
        let gate_password =
            problems.password("WEIR_GATE_DATABASE_PASSWORD", direct.as_ref(), file.as_ref());
        problems.none()?;
        Ok(Migration { database_url, control_password, gate_password })
    }
}

/// The signing key from the environment, where no flag may show it.
#[expect(clippy::disallowed_methods, reason = "the one file that reads the environment")]
pub fn jwt_key_of_environment() -> Option<Secret> {
    std::env::var("WEIR_JWT_KEY").ok().map(Secret)
}

impl Problems {
    fn none(self) -> anyhow::Result<()> {
        match self.0.as_slice() {
            [] => Ok(()),
            [one] => bail!("the settings do not work: {one}"),
            all => bail!("the settings do not work:\n  - {}", all.join("\n  - ")),
        }
    }

    fn say(&mut self, problem: impl Into<String>) {
        self.0.push(problem.into());
    }

    fn roles(&mut self, text: &str) -> (bool, bool) {
        let (mut control, mut gate) = (false, false);
        for role in text.split(',').map(str::trim).filter(|role| !role.is_empty()) {
            match role {
                "control" => control = true,
                "gate" => gate = true,
                other => self.say(format!("--roles knows `control` and `gate`, not `{other}`")),
            }
        }
        if !control && !gate {
            self.say("--roles names nothing to run");
        }
        (control, gate)
    }

    fn database_url(&mut self, args: &DatabaseArgs) -> Secret {
        let file = args.database_url_file.as_ref();
        let url = self.secret("WEIR_DATABASE_URL", args.database_url.as_ref(), file);
        self.postgres_url("WEIR_DATABASE_URL", url, args)
    }

    fn gate_database_url(&mut self, args: &ServeArgs) -> Secret {
        let (direct, file) = (&args.gate_database_url, &args.gate_database_url_file);
        let url = self.secret("WEIR_GATE_DATABASE_URL", direct.as_ref(), file.as_ref());
        self.postgres_url("WEIR_GATE_DATABASE_URL", url, &args.database)
    }

    /// An address that begins with postgres:// and, unless that was waived, leads to a server that proves who it is.
    fn postgres_url(&mut self, name: &str, url: Option<Secret>, args: &DatabaseArgs) -> Secret {
        let insecure = match args.database_insecure.as_str() {
            "on" => true,
            "off" => false,
            _ => {
                self.say("WEIR_DATABASE_INSECURE must be `on` or `off`");
                true
            }
        };
        let Some(url) = url else { return Secret::none() };
        if !(url.0.starts_with("postgres://") || url.0.starts_with("postgresql://")) {
            self.say(format!("{name} must begin with postgres://"));
        } else if !insecure {
            match weir_store::is_verified(&url.0) {
                Ok(true) => {}
                Ok(false) => self.say(format!(
                    "{name} must end with ?sslmode=verify-full, because Postgres is on another host \
                     (WEIR_DATABASE_INSECURE=on allows less, for a network that nobody else is in)"
                )),
                Err(error) => self.say(format!("{name} cannot be used: {}", error.reason())),
            }
        }
        url
    }

    /// A password for a login, if one is given.
    fn password(
        &mut self,
        name: &str,
        direct: Option<&String>,
        file: Option<&PathBuf>,
    ) -> Option<Secret> {
        if direct.is_none() && file.is_none() {
            return None;
        }
        let password = self.secret(name, direct, file)?;
        if !(16..=200).contains(&password.0.len()) {
            self.say(format!("{name} must be from 16 to 200 bytes long"));
        }
        Some(password)
    }

    /// A client that has not connected yet; `None`: what is wrong was said.
    fn redis(&mut self, args: &ServeArgs) -> Option<Client> {
        let url =
            self.secret("WEIR_REDIS_URL", args.redis_url.as_ref(), args.redis_url_file.as_ref())?;
        let client = match &args.redis_ca_file {
            None => weir_redis::client(&url.0),
            Some(path) => weir_redis::client_trusting(&url.0, self.authority(path, &url.0)?),
        };
        client.map_err(|error| self.say(format!("WEIR_REDIS_URL cannot be used: {error}"))).ok()
    }

    /// The certificate with which Redis' own is checked.
    fn authority(&mut self, path: &Path, url: &str) -> Option<Vec<u8>> {
        const NAME: &str = "WEIR_REDIS_CA_FILE";
        let read = std::fs::read_to_string(path);
        let wrong = match &read {
            Err(error) => format!("{NAME} cannot be read ({}): {error}", path.display()),
            Ok(_) if !url.starts_with("rediss://") => {
                format!("{NAME} is of no use unless WEIR_REDIS_URL begins with rediss://")
            }
            Ok(text) if !text.contains("-----BEGIN CERTIFICATE-----") => {
                format!("{NAME} holds no certificate in PEM form ({})", path.display())
            }
            Ok(_) => return read.ok().map(String::into_bytes),
        };
        self.say(wrong);
        None
    }

    fn budget(&mut self, text: &str) -> Duration {
        match text.parse::<u64>() {
            Ok(ms @ 1..=10_000) => Duration::from_millis(ms),
            _ => {
                self.say("WEIR_REDIS_BUDGET_MS must be from 1 to 10000");
                Duration::from_millis(10)
            }
        }
    }

    fn address(&mut self, name: &str, text: &str) -> SocketAddr {
        text.parse().unwrap_or_else(|_| {
            self.say(format!("{name} must be an address and port such as 127.0.0.1:8080"));
            SocketAddr::from(([127, 0, 0, 1], 0))
        })
    }

    fn signup(&mut self, text: &str) -> Signup {
        match text {
            "open" => Signup::Open,
            "confirmed" => Signup::Confirmed,
            "closed" => Signup::Closed,
            _ => {
                self.say("WEIR_SIGNUP must be `closed`, `confirmed` or `open`");
                Signup::Closed
            }
        }
    }

    fn reach(&mut self, allow_private: &str) -> Reach {
        match allow_private {
            "on" => Reach::Anywhere,
            "off" => Reach::Public,
            _ => {
                self.say("WEIR_WEBHOOK_ALLOW_PRIVATE must be `on` or `off`");
                Reach::Public
            }
        }
    }

    fn staleness(&mut self, max_age_s: &str, stale: &str) -> Staleness {
        let mut staleness = Staleness::default();
        match max_age_s.parse() {
            Ok(seconds @ 5..=86_400) => staleness.max_age = Duration::from_secs(seconds),
            _ => self.say("WEIR_RULEBOOK_MAX_AGE_S must be from 5 to 86400"),
        }
        match stale {
            "serve" => {}
            "refuse" => staleness.refuse = true,
            _ => self.say("WEIR_RULEBOOK_STALE must be `serve` or `refuse`"),
        }
        staleness
    }

    fn statistics(&mut self, text: &str) -> bool {
        if !matches!(text, "on" | "off") {
            self.say("WEIR_STATS must be `on` or `off`");
        }
        text != "off"
    }

    fn retention(&mut self, text: &str) -> Retention {
        let days: Result<Vec<u16>, _> = text.split(',').map(|it| it.trim().parse()).collect();
        match days.unwrap_or_default()[..] {
            [minutes_days @ 1..=60, hours_days, days_days @ ..=3660]
                if minutes_days <= hours_days && hours_days <= days_days =>
            {
                Retention { minutes_days, hours_days, days_days, ..Retention::default() }
            }
            _ => {
                self.say(
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
        self.say("WEIR_AUDIT_DAYS must be from 30 to 3660");
        AUDIT_DAYS
    }

    fn origins(&mut self, name: &str, text: &str) -> Vec<String> {
        let mut origins = Vec::new();
        for origin in text.split(',').map(str::trim).filter(|origin| !origin.is_empty()) {
            let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            let bare = rest.is_some_and(|rest| {
                !rest.is_empty()
                    && rest.bytes().all(|it| it.is_ascii_alphanumeric() || b".:-[]".contains(&it))
            });
            if bare {
                origins.push(origin.to_owned());
            } else {
                self.say(format!("{name} must list origins such as https://limits.example.com"));
            }
        }
        origins
    }

    fn signing_keys(&mut self, args: &ServeArgs) -> Vec<SigningKey> {
        let direct = args.jwt_key.as_ref().map(|key| &key.0);
        if let Some(file) = &args.jwt_key_file {
            self.closed_to_others("WEIR_JWT_KEY_FILE", file);
        }
        let Some(text) = self.secret("WEIR_JWT_KEY", direct, args.jwt_key_file.as_ref()) else {
            return Vec::new();
        };
        let mut keys = Vec::new();
        for one in text.0.split(',') {
            match SigningKey::parse(one) {
                Ok(key) => keys.push(key),
                Err(error) => self.say(format!("WEIR_JWT_KEY {error}")),
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
            self.say(format!("{name} ({path}) is open to every account: `chmod o-rwx` it"));
        }
    }

    /// A secret given directly or by file, but not both.
    fn secret(
        &mut self,
        name: &str,
        direct: Option<&String>,
        file: Option<&PathBuf>,
    ) -> Option<Secret> {
        match (direct, file) {
            (Some(text), None) => Some(Secret(text.clone())),
            (None, Some(file)) => match std::fs::read_to_string(file) {
                Ok(text) => Some(Secret(text.trim().to_owned())),
                Err(error) => {
                    self.say(format!("{name}_FILE cannot be read ({}): {error}", file.display()));
                    None
                }
            },
            (Some(_), Some(_)) => {
                self.say(format!("{name} and {name}_FILE are both set; which one counts?"));
                None
            }
            (None, None) => {
                self.say(format!("{name} (or {name}_FILE) is missing"));
                None
            }
        }
    }
}

impl Secret {
    fn none() -> Self {
        Self(String::new())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests;
