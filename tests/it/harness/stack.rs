//! A whole installation: Postgres, Redis, one control plane and two gates, each a process.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::sync::OnceCell;
use weir_local::{Postgres, PostgresOptions, Redis, RedisOptions, Relay, ScratchDir, free_port};

use super::{Http, Server, folder, seconds, until, weir};

/// The processes, in the order in which they end.
#[derive(Debug)]
pub struct Stack {
    pub gates: Vec<Server>,
    pub control: Server,
    pub redis: Redis,
    pub postgres: Postgres,
    redis_budget_ms: u32,
    made: AtomicU32,
    signing_key: String,
    pub scratch: ScratchDir,
}

/// The settings of a gate that differ from those of the others.
#[derive(Debug, Default)]
pub struct GateSettings {
    pub database_url: Option<String>,
    pub redis_url: Option<String>,
    pub env: Vec<(&'static str, String)>,
    pub redis_ca_file: Option<PathBuf>,
}

/// The password of the logins of both planes.
const PASSWORD: &str = "the-logins-of-a-test";
/// A budget that is long enough on a busy machine.
pub const PATIENT_MS: u32 = 10_000;
/// A time so long that no request is refused because the machine is busy.
const OVERLOAD_WAIT_MS: u32 = 30_000;
const READY: std::time::Duration = seconds(30);

/// The stack for tests that break nothing.
pub async fn shared() -> &'static Stack {
    static STACK: OnceCell<Stack> = OnceCell::const_new();
    STACK.get_or_init(|| Stack::start(PATIENT_MS)).await
}

impl Stack {
    /// Starts all processes. A check waits at most `redis_budget_ms` for Redis.
    pub async fn start(redis_budget_ms: u32) -> Self {
        Self::start_with_redis(redis_budget_ms, Vec::new()).await
    }

    /// The same with more lines of the configuration of Redis.
    pub async fn start_with_redis(redis_budget_ms: u32, settings: Vec<String>) -> Self {
        let servers = tokio::task::spawn_blocking(move || {
            let scratch = ScratchDir::create().expect("a scratch folder");
            let at = |name: &str| scratch.path().join(name);
            let options = PostgresOptions { data_dir: at("postgres"), durable: false };
            let postgres = Postgres::start(options).expect("start Postgres");
            postgres.create_database("weir").expect("create the database");
            let options = RedisOptions { data_dir: at("redis"), settings };
            (scratch, postgres, Redis::start(options).expect("start Redis"))
        });
        let (scratch, postgres, redis) = servers.await.expect("the servers start");
        let env = [
            ("WEIR_DATABASE_URL", postgres.url("weir")),
            ("WEIR_CONTROL_DATABASE_PASSWORD", PASSWORD.to_owned()),
            ("WEIR_GATE_DATABASE_PASSWORD", PASSWORD.to_owned()),
        ];
        let migrated =
            weir(&["migrate"], &env.each_ref().map(|(name, value)| (*name, value.as_str())), "");
        assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));
        let signing_key = signing_key();
        let control_url = postgres.url_as("weir", "weir_control_login", PASSWORD);
        let env = control_env(control_url, redis.url(), &signing_key);
        let control = start_control(folder(scratch.path(), "control"), &env);
        let (gates, made) = (Vec::new(), AtomicU32::new(0));
        let mut stack =
            Self { gates, control, redis, postgres, redis_budget_ms, made, signing_key, scratch };
        for _ in 0..2 {
            stack.gates.push(stack.gate(GateSettings::default()));
        }
        stack.until_ready(&stack.control).await;
        for gate in &stack.gates {
            stack.until_ready(gate).await;
        }
        stack
    }

    /// Starts another control plane that connects to Postgres at this address. The caller waits for it.
    pub fn another_control(&self, database_url: String) -> Server {
        self.control_with(database_url, &[("WEIR_WEBHOOK_ALLOW_PRIVATE", "on".to_owned())])
    }

    /// Starts another control plane, which confirms sign-ups, and waits for it.
    pub async fn confirming_control(&self) -> Server {
        let control =
            self.control_with(self.control_url(), &[("WEIR_SIGNUP", "confirmed".to_owned())]);
        self.until_ready(&control).await;
        control
    }

    /// Starts another control plane, which serves for `drain_ms` after SIGTERM, and waits for it.
    pub async fn control_that_drains_for(&self, drain_ms: &str) -> Server {
        let control =
            self.control_with(self.control_url(), &[("WEIR_DRAIN_MS", drain_ms.to_owned())]);
        self.until_ready(&control).await;
        control
    }

    /// Starts a control plane with another signing key. The caller waits for it.
    pub fn control_with_key(&self, signing_key: &str) -> Server {
        self.control_with(self.control_url(), &[("WEIR_JWT_KEY", signing_key.to_owned())])
    }

    /// Starts another control plane with more settings, and waits for it.
    pub async fn control_that_has(&self, settings: &[(&'static str, String)]) -> Server {
        let control = self.control_with(self.control_url(), settings);
        self.until_ready(&control).await;
        control
    }

    fn control_with(&self, database_url: String, settings: &[(&'static str, String)]) -> Server {
        let folder_name = format!("control-{}", self.made.fetch_add(1, Ordering::Relaxed));
        let mut env = control_env(database_url, self.redis.url(), &self.signing_key);
        // If a name occurs twice, the last value counts.
        env.extend(settings.iter().cloned());
        start_control(folder(self.scratch.path(), &folder_name), &env)
    }

    /// The address of Postgres with the login of the gates.
    pub fn gate_url(&self) -> String {
        self.postgres.url_as("weir", "weir_gate_login", PASSWORD)
    }

    /// The address of Postgres with the login of the control planes.
    pub fn control_url(&self) -> String {
        self.postgres.url_as("weir", "weir_control_login", PASSWORD)
    }

    /// The address through a relay.
    pub fn through(&self, relay: &Relay, url: &str) -> String {
        url.replace(&format!(":{}/", self.postgres.port()), &format!(":{}/", relay.port()))
    }

    /// Starts another gate. The caller waits for it.
    pub fn gate(&self, settings: GateSettings) -> Server {
        let address = free_address();
        let name = format!("gate-{}", self.made.fetch_add(1, Ordering::Relaxed));
        let folder = folder(self.scratch.path(), &name);
        let mut env = vec![
            ("WEIR_ROLES", "gate".to_owned()),
            ("WEIR_DATABASE_URL", settings.database_url.unwrap_or_else(|| self.gate_url())),
            ("WEIR_REDIS_URL", settings.redis_url.unwrap_or_else(|| self.redis.url())),
            ("WEIR_REDIS_BUDGET_MS", self.redis_budget_ms.to_string()),
            ("WEIR_OVERLOAD_WAIT_MS", OVERLOAD_WAIT_MS.to_string()),
            ("WEIR_DRAIN_MS", "0".to_owned()),
            ("WEIR_GATE_ADDR", address.clone()),
            ("WEIR_STATE_DIR", folder.join("state").display().to_string()),
            ("WEIR_WEBHOOK_KEY", derived_key("webhook-key", &self.signing_key)),
            ("WEIR_WEBHOOK_ALLOW_PRIVATE", "on".to_owned()),
        ];
        env.extend(settings.env);
        let authority = settings.redis_ca_file.map(|path| path.display().to_string());
        env.extend(authority.map(|path| ("WEIR_REDIS_CA_FILE", path)));
        Server::start(folder, &format!("http://{address}"), &env)
    }

    /// The settings of a gate of a region, on whose internal listener gates of other regions ask it.
    pub fn in_region(&self, region: &str, internal: &str) -> Vec<(&'static str, String)> {
        vec![
            ("WEIR_REGION", region.to_owned()),
            ("WEIR_INTERNAL_ADDR", internal.to_owned()),
            ("WEIR_REGION_KEY", derived_key("region-key", &self.signing_key)),
            ("WEIR_REGION_BUDGET_MS", "5000".to_owned()),
        ]
    }

    /// Adds a gate that reaches Postgres through a relay, which can silence it. Waits until the gate is ready.
    pub async fn add_relayed_gate(&mut self) -> Relay {
        let relay = Relay::start(self.postgres.port()).expect("a relay");
        let database_url = Some(self.through(&relay, &self.gate_url()));
        let gate = self.gate(GateSettings { database_url, ..GateSettings::default() });
        self.until_ready(&gate).await;
        self.gates.push(gate);
        relay
    }

    /// The time after this interval, in RFC 3339.
    pub fn postgres_time(&self, from_now: &str) -> String {
        let form = r#"'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'"#;
        let sql =
            format!("SELECT to_char(now() AT TIME ZONE 'UTC' + interval '{from_now}', {form})");
        self.postgres.psql("weir", &["-c", &sql]).expect("Postgres tells the time")
    }

    /// Waits until a server is ready, with Redis.
    pub async fn until_ready(&self, server: &Server) {
        self.until(server, |ready| ready["redis"] != "degraded").await;
    }

    /// Waits until no transaction is open in the database: those of a killed process have ended.
    pub async fn until_no_transaction(&self) {
        const OPEN: &str = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = 'weir' AND xact_start IS NOT NULL AND pid <> pg_backend_pid()";
        until(seconds(30), "no transaction is open", async || {
            self.postgres.psql("weir", &["-c", OPEN]).is_ok_and(|count| count.trim() == "0")
        })
        .await;
    }

    /// Waits until a gate serves a rulebook, with or without Redis.
    pub async fn until_serving(&self, gate: &Server) {
        self.until(gate, |_| true).await;
    }

    async fn until(&self, server: &Server, holds: impl Fn(&Value) -> bool) {
        let http = Http::new();
        let url = format!("{}/readyz", server.url);
        until(READY, &format!("{url} is ready"), async || {
            assert_eq!(server.exit_code(), None, "{}", server.log());
            let reply = http.try_get(&url).await;
            reply.is_some_and(|reply| reply.status == 200 && holds(&reply.body))
        })
        .await;
    }
}

pub fn control_env(
    database_url: String,
    redis_url: String,
    signing_key: &str,
) -> Vec<(&'static str, String)> {
    vec![
        ("WEIR_ROLES", "control".to_owned()),
        ("WEIR_DATABASE_URL", database_url),
        ("WEIR_REDIS_URL", redis_url),
        ("WEIR_REDIS_BUDGET_MS", PATIENT_MS.to_string()),
        ("WEIR_OVERLOAD_WAIT_MS", OVERLOAD_WAIT_MS.to_string()),
        ("WEIR_DRAIN_MS", "0".to_owned()),
        ("WEIR_SIGNUP", "open".to_owned()),
        ("WEIR_JWT_KEY", signing_key.to_owned()),
    ]
}

pub fn start_control(folder: PathBuf, env: &[(&'static str, String)]) -> Server {
    let address = free_address();
    let mut env = env.to_vec();
    env.push(("WEIR_CONTROL_ADDR", address.clone()));
    Server::start(folder, &format!("http://{address}"), &env)
}

/// A signing key for access tokens in the form that `weir serve` expects.
pub fn signing_key() -> String {
    let mut seed = [0; 32];
    let source = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut seed));
    source.expect("the operating system gives randomness");
    STANDARD.encode(seed)
}

/// A key that a command derives from the signing key.
fn derived_key(command: &str, signing_key: &str) -> String {
    let printed = weir(&[command], &[("WEIR_JWT_KEY", signing_key)], "");
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    String::from_utf8_lossy(&printed.stdout).trim().to_owned()
}

fn free_address() -> String {
    format!("127.0.0.1:{}", free_port().expect("one of many ports is free"))
}
