//! `weir dev`: a whole installation on this machine. It needs no setup, and it stops everything that it started.

mod addresses;
mod admin;
mod demo;
mod greeting;
mod private_file;
mod regions;
mod traffic;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use axum::http::HeaderValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use secrecy::SecretString;
use tokio::net::TcpListener;
use weir_control::{SigningKey, Signup};
use weir_local::{
    LocalError, Postgres, PostgresOptions, Redis, RedisCluster, RedisOptions, RedisSentinel,
};
use weir_region::RegionKeys;
use weir_store::Role;

use self::addresses::Addresses;
use self::private_file::write_private;
use self::regions::{HOME, REGIONS};
use crate::config::{
    ControlSettings, DatabaseSettings, GateSettings, ListenerSettings, MailArgs, Migration,
    OidcArgs, RegionSettings,
};
use crate::running::Running;
use crate::serve;
use crate::telemetry::{self, Lines};
use crate::{descriptors, edge, lifecycle, migrate, user};

#[derive(Debug, Args)]
pub struct DevArgs {
    /// The folder of Postgres' data, the signing key and the demo's credentials
    #[arg(long, default_value = ".weir")]
    data_dir: PathBuf,
    /// The number of gates, 1 to 16
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=16))]
    gates: u16,
    /// The control plane's port; the gates have the ones after it
    #[arg(long, default_value_t = 8080)]
    base_port: u16,
    /// Maximum time that a check waits for Redis; more than `weir serve` allows, for a busy workstation
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    redis_budget_ms: u64,
    /// The Redis to start: one server, a primary with a replica and three Sentinels, or a cluster of three primaries with
    /// replicas
    #[arg(long, value_enum, default_value_t = RedisKind::Single)]
    redis: RedisKind,
    /// The number of regions, 1 to 3: `eu`, which is the home, `us` and `ap`. Each has a Redis and gates of its own
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=3))]
    regions: u16,
    /// The duration of a round trip between two regions, up to 10000: the gates call one another through a relay that delays
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(0..=10_000))]
    region_delay_ms: Option<u64>,
    /// Also make a tenant with a day of generated statistics, and send checks to it until the end. Its alerts use the port after
    /// those of the gates
    #[arg(long)]
    demo: bool,
    /// Print only one line of JSON, when everything is ready
    #[arg(long)]
    json: bool,
    /// The log filter, such as `info` or `weir_gate=debug`
    #[arg(long, env = "WEIR_LOG", default_value = "warn")]
    log: String,
    #[command(flatten)]
    mail: MailArgs,
    #[command(flatten)]
    oidc: OidcArgs,
}

/// The forms of Redis that `weir dev` starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RedisKind {
    Single,
    Sentinel,
    Cluster,
}

const DATABASE: &str = "weir";
const READY_DEADLINE: Duration = Duration::from_secs(30);
/// The budget of checks that wait for the home region, on a machine that does other work too.
const REGION_BUDGET: Duration = Duration::from_secs(1);

pub async fn run(args: DevArgs) -> anyhow::Result<()> {
    telemetry::start(&args.log, Lines::Plain)?;
    descriptors::raise_limit();
    if args.regions == 1 && args.region_delay_ms.is_some() {
        bail!("--region-delay-ms needs several regions: add --regions 2");
    }
    let running = Running::default();
    lifecycle::stop_on_signal(&running, Duration::ZERO)?;
    let listeners = listeners(&args)?;
    let data_dir = own_folder(&args.data_dir)?;
    let servers = {
        let data_dir = data_dir.clone();
        let (redis, regions) = (args.redis, args.regions);
        tokio::task::spawn_blocking(move || Servers::start(&data_dir, redis, regions)).await??
    };
    let done = run_on(&args, &data_dir, &servers, listeners, &running).await;
    running.stop.cancel();
    let ended = running.wait().await;
    tokio::task::spawn_blocking(move || drop(servers)).await?;
    done.and(ended)
}

/// The Postgres and Redis servers of `weir dev`.
struct Servers {
    postgres: Postgres,
    /// One for each region.
    redis: Vec<RedisServers>,
}

enum RedisServers {
    Single(Box<Redis>),
    Sentinel(Box<RedisSentinel>),
    Cluster(Box<RedisCluster>),
}

impl Servers {
    fn start(data_dir: &Path, redis: RedisKind, regions: u16) -> anyhow::Result<Self> {
        let options = PostgresOptions { data_dir: data_dir.join("postgres"), durable: true };
        let postgres = Postgres::start(options).context("start postgres")?;
        let folder = |name: &&str| match *name {
            HOME => data_dir.to_owned(),
            name => data_dir.join(format!("region-{name}")),
        };
        let folders = REGIONS.iter().take(regions.into()).map(folder);
        let servers = folders.map(|folder| RedisServers::start(&folder, redis));
        let redis = servers.collect::<Result<_, _>>().context("start redis")?;
        let known = postgres
            .psql("postgres", &["-Atc", "SELECT 1 FROM pg_database WHERE datname = 'weir'"])
            .context("look for the database")?;
        if known.trim().is_empty() {
            postgres.create_database(DATABASE).context("create the database")?;
        }
        Ok(Self { postgres, redis })
    }
}

impl RedisServers {
    fn start(data_dir: &Path, kind: RedisKind) -> Result<Self, LocalError> {
        match kind {
            RedisKind::Single => {
                let data_dir = data_dir.join("redis");
                let server = Redis::start(RedisOptions { data_dir, settings: Vec::new() })?;
                Ok(Self::Single(Box::new(server)))
            }
            RedisKind::Sentinel => {
                let group = RedisSentinel::start(data_dir)?;
                Ok(Self::Sentinel(Box::new(group)))
            }
            RedisKind::Cluster => {
                let cluster = RedisCluster::start(data_dir, 3, 1)?;
                Ok(Self::Cluster(Box::new(cluster)))
            }
        }
    }

    fn url(&self) -> String {
        match self {
            Self::Single(server) => server.url(),
            Self::Sentinel(group) => group.url(),
            Self::Cluster(cluster) => cluster.url(),
        }
    }
}

async fn run_on(
    args: &DevArgs,
    data_dir: &Path,
    servers: &Servers,
    mut listeners: Vec<TcpListener>,
    running: &Running,
) -> anyhow::Result<()> {
    let receiver = if args.demo { listeners.pop() } else { None };
    let port = |at: usize| args.base_port + u16::try_from(at).unwrap_or(0);
    // Browsers accept secure cookies without TLS for `localhost`, but not for an IP address.
    let address = |at: usize| format!("http://localhost:{}", port(at));
    // The passwords are new at each start, because no other program needs them.
    let [control_password, gate_password] = [(); 2].map(|()| user::random_password());
    let login_url = |plane: Role, password: &str| {
        let login = plane.login().unwrap_or_default();
        servers.postgres.url_as(DATABASE, login, password)
    };
    let addresses = Addresses {
        control: address(0),
        gates: (1..listeners.len()).map(address).collect(),
        database_url: servers.postgres.url(DATABASE),
        control_database_url: login_url(Role::App, &control_password),
        gate_database_url: login_url(Role::Gate, &gate_password),
        redis_url: servers.redis.first().context("a redis")?.url(),
        regions: Vec::new(),
    };
    let redis_urls = servers.redis.iter().map(RedisServers::url).collect();
    let addresses = addresses.in_regions(args.gates, redis_urls);
    let migration = Migration {
        database_url: SecretString::from(addresses.database_url.clone()),
        control_password: Some(SecretString::from(control_password)),
        gate_password: Some(SecretString::from(gate_password)),
        backup_password: None,
    };
    migrate::migrate(&migration).await?;
    let mut listeners = listeners.into_iter();
    let control = listeners.next().context("a listener for the control plane")?;
    let round_trip = args.region_delay_ms.map(Duration::from_millis);
    let settings_of = |url: &str, listen| gate_settings(args, data_dir, &addresses, url, listen);
    let relays =
        regions::start_gates(&addresses, round_trip, settings_of, listeners, running).await?;
    let settings = control_settings(args, data_dir, &addresses, control.local_addr()?)?;
    serve::start_control(settings, control, running)?;
    let prepared = async {
        let demo = demo::prepare(&addresses, data_dir, READY_DEADLINE).await?;
        let traffic = match receiver {
            Some(receiver) => {
                Some(traffic::start(&addresses, &demo, data_dir, receiver, running).await?)
            }
            None => None,
        };
        anyhow::Ok((demo, traffic))
    };
    let (demo, traffic) = tokio::select! {
        prepared = prepared => prepared?,
        () = running.stop.cancelled() => return Ok(()),
    };
    greeting::print(&addresses, &demo, traffic.as_ref(), args.json)?;
    running.stop.cancelled().await;
    drop(relays);
    Ok(())
}

fn gate_settings(
    args: &DevArgs,
    data_dir: &Path,
    addresses: &Addresses,
    url: &str,
    listen: SocketAddr,
) -> anyhow::Result<GateSettings> {
    let port = args.base_port;
    let signing_keys = [signing_key(&data_dir.join("jwt.key"))?];
    let region = addresses.region_of(url);
    let redis_url = region.map_or(&addresses.redis_url, |region| &region.redis_url);
    let keys = RegionKeys::new(&weir_control::region_keys(&signing_keys)?);
    let region = region.zip(keys).map(|(region, keys)| RegionSettings {
        name: region.name.to_owned(),
        internal: listen,
        budget: REGION_BUDGET,
        keys,
    });
    let origins = [addresses.control.clone(), format!("http://127.0.0.1:{port}")];
    Ok(GateSettings {
        listen,
        rls: None,
        listener: ListenerSettings::of_one_machine(),
        url: url.to_owned(),
        database: DatabaseSettings::of_one_machine(&addresses.gate_database_url),
        redis: weir_redis::client(redis_url)?,
        redis_budget: Duration::from_millis(args.redis_budget_ms),
        state_dir: Some(data_dir.join(format!("gate-{}", listen.port() - port))),
        staleness: weir_gate::Staleness::default(),
        statistics: true,
        traces: None,
        decisions: None,
        dashboard_origins: origins
            .iter()
            .filter_map(|origin| HeaderValue::from_str(origin).ok())
            .collect(),
        sealing_keys: weir_control::sealing_keys(&signing_keys)?,
        webhook_reach: weir_webhook::Reach::Anywhere,
        region,
    })
}

fn control_settings(
    args: &DevArgs,
    data_dir: &Path,
    addresses: &Addresses,
    listen: SocketAddr,
) -> anyhow::Result<ControlSettings> {
    let (mail, dashboard_url) = args.mail.parse_for(&addresses.control)?;
    Ok(ControlSettings {
        listen,
        listener: ListenerSettings::of_one_machine(),
        database: DatabaseSettings::of_one_machine(&addresses.control_database_url),
        redis: weir_redis::client(&addresses.redis_url)?,
        signup: Signup::Open,
        signing_keys: vec![signing_key(&data_dir.join("jwt.key"))?],
        retention: weir_store::Retention::default(),
        audit_days: weir_control::AUDIT_DAYS,
        // The receivers of a developer run on this machine too.
        webhook_reach: weir_webhook::Reach::Anywhere,
        gate_origins: addresses.gates.clone(),
        mail,
        dashboard_url,
        oidc: args.oidc.parse_for(&addresses.control)?,
    })
}

/// The listeners of the control plane, of the gates and, for `--demo`, of the receiver of alerts.
fn listeners(args: &DevArgs) -> anyhow::Result<Vec<TcpListener>> {
    let mut listeners = Vec::new();
    for at in 0..=args.gates * args.regions + u16::from(args.demo) {
        let Some(port) = args.base_port.checked_add(at) else { bail!("--base-port is too high") };
        let listener = serve::listen(SocketAddr::from(([127, 0, 0, 1], port)));
        listeners.push(listener.context("is another `weir dev` running? try --base-port 9080")?);
    }
    Ok(listeners)
}

fn own_folder(data_dir: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(data_dir).with_context(|| format!("create {}", data_dir.display()))?;
    data_dir.canonicalize().with_context(|| format!("find {}", data_dir.display()))
}

/// The signing key in this file, which is created at first use.
fn signing_key(file: &Path) -> anyhow::Result<SigningKey> {
    if !file.exists() {
        write_private(file, &STANDARD.encode(edge::random_bytes::<32>()))?;
    }
    let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    SigningKey::parse(&text).with_context(|| format!("read the key in {}", file.display()))
}
