//! Settings of a gate.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::HeaderValue;
use clap::Args;
use secrecy::{ExposeSecret, SecretString};
use weir_gate::Staleness;
use weir_redis::Client;
use weir_region::{RegionKey, RegionKeys};
use weir_trace::TraceSettings;
use weir_webhook::{Reach, SealingKey};

use super::database::{DatabaseArgs, DatabaseSettings};
use super::decisions::{DecisionArgs, DecisionSettings};
use super::listener::ListenerSettings;
use super::problems::Problems;

/// Settings of a gate as given.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// URL of Postgres with the gate's login; needed when one process runs both planes
    #[arg(long, env = "WEIR_GATE_DATABASE_URL", hide_env_values = true)]
    pub gate_database_url: Option<String>,
    /// File that contains the value of the option above
    #[arg(long, env = "WEIR_GATE_DATABASE_URL_FILE")]
    pub gate_database_url_file: Option<PathBuf>,
    /// Address on which the gate listens
    #[arg(long, env = "WEIR_GATE_ADDR", default_value = "127.0.0.1:8081")]
    pub gate_addr: String,
    /// Address on which the gate serves Envoy's rate limit service (gRPC); default: not served
    #[arg(long, env = "WEIR_RLS_ADDR")]
    pub rls_addr: Option<String>,
    /// URL at which clients reach this gate, shown in the dashboard; default: the listen address
    #[arg(long, env = "WEIR_GATE_URL")]
    pub gate_url: Option<String>,
    /// Origins of dashboards that can call this gate from the browser, separated by commas
    #[arg(long, env = "WEIR_DASHBOARD_ORIGINS", default_value = "")]
    pub dashboard_origins: String,
    /// Folder of the gate's copy of the rulebook
    #[arg(long, env = "WEIR_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
    /// Seconds without a comparison with Postgres after which a rulebook is stale
    #[arg(long, env = "WEIR_RULEBOOK_MAX_AGE_S", default_value = "30")]
    pub rulebook_max_age_s: String,
    /// The action of a gate with a stale rulebook: serve or refuse
    #[arg(long, env = "WEIR_RULEBOOK_STALE", default_value = "serve")]
    pub rulebook_stale: String,
    /// Key that decrypts the secrets of webhooks, to sign deferred jobs; after a comma, older keys
    #[arg(skip)]
    pub webhook_key: Option<SecretString>,
    /// File that contains the key of `weir webhook-key` (the key itself goes into `WEIR_WEBHOOK_KEY`); default: no deferred jobs
    #[arg(long, env = "WEIR_WEBHOOK_KEY_FILE")]
    pub webhook_key_file: Option<PathBuf>,
    /// The region of this gate, if the installation has regions
    #[arg(long, env = "WEIR_REGION")]
    pub region: Option<String>,
    /// Address on which gates of other regions ask this gate; default: none
    #[arg(long, env = "WEIR_INTERNAL_ADDR")]
    pub internal_addr: Option<String>,
    /// Maximum time that checks wait for the home region, in milliseconds
    #[arg(long, env = "WEIR_REGION_BUDGET_MS", default_value = "300")]
    pub region_budget_ms: String,
    /// Key that signs calls between regions; after a comma, older keys
    #[arg(skip)]
    pub region_key: Option<SecretString>,
    /// File that contains the key of `weir region-key` (the key itself goes into `WEIR_REGION_KEY`); needed in a region
    #[arg(long, env = "WEIR_REGION_KEY_FILE")]
    pub region_key_file: Option<PathBuf>,
    /// Whether a gate keeps statistics: on or off
    #[arg(long, env = "WEIR_STATS", default_value = "on")]
    pub stats: String,
    /// Collector that receives traces (OTLP over gRPC), such as `http://127.0.0.1:4317`; default: none
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otlp_endpoint: Option<String>,
    /// The name of the service in traces
    #[arg(long, env = "OTEL_SERVICE_NAME", default_value = "weir")]
    pub otel_service_name: String,
    /// Maximum number of traces that a gate continues per second
    #[arg(long, env = "WEIR_TRACES_PER_SECOND", default_value = "100")]
    pub traces_per_second: String,
    #[command(flatten)]
    pub decisions: DecisionArgs,
}

/// Checked settings of a gate.
#[derive(Debug)]
pub struct GateSettings {
    pub listen: SocketAddr,
    /// The address of the rate limit service, if it is served.
    pub rls: Option<SocketAddr>,
    pub listener: ListenerSettings,
    pub url: String,
    pub database: DatabaseSettings,
    pub redis: Client,
    pub redis_budget: Duration,
    pub state_dir: Option<PathBuf>,
    pub staleness: Staleness,
    pub statistics: bool,
    /// The settings of traces, if they are sent anywhere.
    pub traces: Option<TraceSettings>,
    /// The settings of the export of decisions, if they are written anywhere.
    pub decisions: Option<DecisionSettings>,
    pub dashboard_origins: Vec<HeaderValue>,
    /// The keys that open the secrets of webhooks. Without one, the gate defers no jobs.
    pub sealing_keys: Vec<SealingKey>,
    pub webhook_reach: Reach,
    /// The region, if the installation has regions.
    pub region: Option<RegionSettings>,
}

/// The region of a gate.
#[derive(Debug)]
pub struct RegionSettings {
    pub name: String,
    pub internal: SocketAddr,
    pub budget: Duration,
    pub keys: RegionKeys,
}

impl GateArgs {
    /// Checks the settings.
    pub(super) fn parse(
        &self,
        problems: &mut Problems,
        shared: (ListenerSettings, DatabaseSettings, Option<Client>),
        redis_budget: Duration,
        (webhook_reach, region_keys): (Reach, &[RegionKey]),
    ) -> Option<GateSettings> {
        let (listener, database, redis) = shared;
        let listen = problems.address("WEIR_GATE_ADDR", &self.gate_addr);
        let scheme = if listener.tls.is_some() { "https" } else { "http" };
        let rls = self.rls_addr.as_deref().filter(|text| !text.is_empty());
        let rls = rls.map(|text| problems.address("WEIR_RLS_ADDR", text));
        let dashboard_origins = problems.origins("WEIR_DASHBOARD_ORIGINS", &self.dashboard_origins);
        let staleness = problems.staleness(&self.rulebook_max_age_s, &self.rulebook_stale);
        let sealing_keys = problems.sealing_keys(self);
        let statistics = problems.switch("WEIR_STATS", &self.stats, true);
        let traces = self.traces(problems);
        let decisions = self.decisions.parse(problems);
        let header = |origin: &String| HeaderValue::from_str(origin).ok();
        Some(GateSettings {
            listen,
            rls,
            url: self.gate_url.clone().unwrap_or_else(|| format!("{scheme}://{listen}")),
            listener,
            database,
            redis: redis?,
            redis_budget,
            state_dir: self.state_dir.clone(),
            staleness,
            statistics,
            traces,
            decisions,
            dashboard_origins: dashboard_origins.iter().filter_map(header).collect(),
            sealing_keys,
            webhook_reach,
            region: self.region(problems, region_keys),
        })
    }
}

impl GateArgs {
    /// A gate in a region asks the home, or is asked, so it needs all of these settings, but for the key if the control plane of the
    /// same process has `derived` it.
    fn region(&self, problems: &mut Problems, derived: &[RegionKey]) -> Option<RegionSettings> {
        let name = self.region.clone().filter(|name| !name.is_empty())?;
        let budget = match self.region_budget_ms.parse() {
            Ok(ms @ 10..=5_000) => Duration::from_millis(ms),
            _ => {
                problems.add("WEIR_REGION_BUDGET_MS must be from 10 to 5000");
                Duration::ZERO
            }
        };
        let given = self.internal_addr.as_deref().filter(|text| !text.is_empty());
        let Some(internal) = given else {
            problems.add("WEIR_INTERNAL_ADDR is needed, because WEIR_REGION is set");
            return None;
        };
        let internal = problems.address("WEIR_INTERNAL_ADDR", internal);
        let given = problems.region_keys(self);
        let keys = if given.is_empty() { derived } else { &given };
        let Some(keys) = RegionKeys::new(keys) else {
            problems.add(
                "WEIR_REGION_KEY is needed, because WEIR_REGION is set: weir region-key prints it",
            );
            return None;
        };
        Some(RegionSettings { name, internal, budget, keys })
    }

    fn traces(&self, problems: &mut Problems) -> Option<TraceSettings> {
        let per_second = match self.traces_per_second.parse() {
            Ok(per_second @ 1..=10_000) => per_second,
            _ => {
                problems.add("WEIR_TRACES_PER_SECOND must be from 1 to 10000");
                1
            }
        };
        let endpoint = self.otlp_endpoint.clone().filter(|text| !text.is_empty())?;
        let address = endpoint.strip_prefix("http://").or(endpoint.strip_prefix("https://"));
        if address.is_none_or(str::is_empty) {
            problems.add(
                "OTEL_EXPORTER_OTLP_ENDPOINT must be an address such as http://127.0.0.1:4317",
            );
        }
        Some(TraceSettings { endpoint, service_name: self.otel_service_name.clone(), per_second })
    }
}

impl Problems {
    /// The address with the login of the gate.
    pub(super) fn gate_database_url(
        &mut self,
        args: &GateArgs,
        database: &DatabaseArgs,
    ) -> SecretString {
        let direct = &args.gate_database_url;
        let file = &args.gate_database_url_file;
        let url = self.secret("WEIR_GATE_DATABASE_URL", direct.as_deref(), file.as_ref());
        self.postgres_url("WEIR_GATE_DATABASE_URL", url, database)
    }

    fn sealing_keys(&mut self, args: &GateArgs) -> Vec<SealingKey> {
        let given = (args.webhook_key.as_ref(), args.webhook_key_file.as_ref());
        self.derived_keys("WEIR_WEBHOOK_KEY", given, SealingKey::parse)
    }

    fn region_keys(&mut self, args: &GateArgs) -> Vec<RegionKey> {
        let given = (args.region_key.as_ref(), args.region_key_file.as_ref());
        self.derived_keys("WEIR_REGION_KEY", given, RegionKey::parse)
    }

    /// Keys that are derived from the signing keys of the control plane, separated by commas.
    fn derived_keys<K, E: std::fmt::Display>(
        &mut self,
        setting: &'static str,
        (direct, file): (Option<&SecretString>, Option<&PathBuf>),
        parse: fn(&str) -> Result<K, E>,
    ) -> Vec<K> {
        let direct = direct.map(ExposeSecret::expose_secret).filter(|text| !text.is_empty());
        if direct.is_none() && file.is_none() {
            return Vec::new();
        }
        let Some(text) = self.secret(setting, direct, file) else { return Vec::new() };
        let parsed: Result<Vec<_>, _> = text.expose_secret().split(',').map(parse).collect();
        parsed.unwrap_or_else(|error| {
            self.add(format!("{setting} {error}"));
            Vec::new()
        })
    }

    fn staleness(&mut self, max_age_s: &str, stale: &str) -> Staleness {
        let mut staleness = Staleness::default();
        match max_age_s.parse() {
            Ok(seconds @ 5..=86_400) => staleness.max_age = Duration::from_secs(seconds),
            _ => self.add("WEIR_RULEBOOK_MAX_AGE_S must be from 5 to 86400"),
        }
        match stale {
            "serve" => {}
            "refuse" => staleness.refuse = true,
            _ => self.add("WEIR_RULEBOOK_STALE must be `serve` or `refuse`"),
        }
        staleness
    }
}
