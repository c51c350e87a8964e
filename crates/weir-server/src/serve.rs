//! `weir serve`: reads the settings, connects to Postgres and Redis, starts planes and listeners, waits and drains.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use weir_control::{
    AccessTokens, Authentication, ControlParts, ControlState, LoginThrottle, Macs, MailParts,
    Passwords, ProviderParts, ViewKeys, WebhookParts,
};
use weir_domain::id::GateId;
use weir_gate::{
    ChargeSender, DeferralParts, DeferredWorkers, Follower, FollowerSettings, GateState,
    LeaseKeeper, Recorder, RecorderSettings,
};
use weir_http::plane::{self, Plane, PlaneSettings, Surface};
use weir_http::serve::{ListenerMeters, ServeSettings, bind, serve};
use weir_mail::Mailer;
use weir_redis::deferred::DeferredJobs;
use weir_redis::limiter::{Limiter, LimiterSettings};
use weir_redis::placement::LAYOUT;
use weir_redis::signal::Signal;
use weir_region::{LinkSettings, RegionKeys, RegionLinks};
use weir_store::{Role, Store, StoreError};
use weir_trace::{TraceSettings, Traces};
use weir_webhook::{Sealing, Sender};

use crate::config::{
    self, ControlSettings, DecisionSettings, GateSettings, ListenerSettings, ServeArgs, Settings,
};
use crate::decisions::Delivery;
use crate::running::Running;
use crate::telemetry::{self, Lines};
use crate::{certificate, dashboard, descriptors, edge, lifecycle, migrate, operations, region};

/// The pause between two checks of a login's rights while Postgres is unavailable.
const CONFINE_EVERY: Duration = Duration::from_secs(1);
/// The pause between two checks of the address of Redis while it is away.
const VERIFY_EVERY: Duration = Duration::from_secs(1);
/// The deadline of one check of the address of Redis.
const REDIS_DEADLINE: Duration = Duration::from_secs(2);
/// The deadline of one delivery of a deferred job. With the check, it is shorter than a claim.
const DEFERRED_DEADLINE: Duration = Duration::from_secs(8);
const REQUEST_DEADLINE: Duration = Duration::from_secs(15);
/// The budget of inspections and resets, whose callers are people. Checks have a shorter one.
const TESTER_BUDGET: Duration = Duration::from_secs(1);

/// Runs `weir serve`.
pub async fn run(mut args: ServeArgs) -> anyhow::Result<()> {
    args.control.jwt_key = config::key_of_environment("WEIR_JWT_KEY");
    args.gate.webhook_key = config::key_of_environment("WEIR_WEBHOOK_KEY");
    args.gate.region_key = config::key_of_environment("WEIR_REGION_KEY");
    let mut settings = Settings::parse(&args)?;
    telemetry::start(&args.log, Lines::ByTerminal)?;
    limit_connections(&mut settings);
    let running = Running::default();
    lifecycle::stop_on_signal(&running, settings.drain)?;
    // Ports are opened first, so that a port in use is reported before any connection is made.
    let operations = settings.operations.map(listen).transpose()?;
    let mut planes = Vec::new();
    if let Some(gate) = settings.gate {
        let listener = listen(gate.listen)?;
        let internal = gate.region.as_ref().map(|region| listen(region.internal)).transpose()?;
        planes.push(start_gate(gate, listener, internal, &running)?);
    }
    if let Some(control) = settings.control {
        let listener = listen(control.listen)?;
        planes.push(start_control(control, listener, &running)?);
    }
    if let Some(listener) = operations {
        operations::start(listener, &planes, &running).context("start the operations listener")?;
    }
    running.wait().await
}

/// Ends the process if the login of a plane has too many rights. The plane starts without waiting for the check, because
/// Postgres can be unavailable or not yet migrated; the check is repeated until Postgres answers. While it is migrated, the login
/// can lack rights that it will have.
fn confine(store: Store, plane: &'static str, running: &Running) {
    running.spawn_check("rights in postgres", async move {
        let mut migrates = false;
        loop {
            match store.assert_confined().await {
                Ok(()) => return Ok(()),
                Err(StoreError::Corrupt { .. } | StoreError::LoginRefused { .. }) if migrates => {}
                Err(
                    error @ (StoreError::Unconfined { .. }
                    | StoreError::LoginRefused { .. }
                    | StoreError::Corrupt { .. }),
                ) => {
                    let error = anyhow::Error::new(error);
                    return Err(error.context(format!("check the rights of {plane} in postgres")));
                }
                Err(error) => migrates |= matches!(error, StoreError::OlderSchema(_)),
            }
            tokio::time::sleep(CONFINE_EVERY).await;
        }
    });
}

/// Ends the process if Redis answers at its address but cannot serve Weir there. The plane starts without waiting for the
/// check, because Redis can be away; the check is repeated until Redis answers once.
fn verify_redis(redis: weir_redis::Client, running: &Running) {
    running.spawn_check("address of redis", async move {
        loop {
            let found = match redis.unsuitable(REDIS_DEADLINE).await {
                Ok(None) => redis.without_functions(REDIS_DEADLINE).await,
                found => found,
            };
            match found {
                Ok(None) => return Ok(()),
                Ok(Some(reason)) => {
                    return Err(anyhow::Error::new(reason).context("WEIR_REDIS_URL cannot be used"));
                }
                Err(_) => tokio::time::sleep(VERIFY_EVERY).await,
            }
        }
    });
}

/// Ends the process if other processes of the installation count in other keys of Redis. Repeats the check until Postgres
/// answers.
fn compare_layout(store: Store, running: &Running) {
    running.spawn_check("layout of counters", async move {
        loop {
            match store.assert_layout(LAYOUT).await {
                Ok(()) => return Ok(()),
                Err(error @ StoreError::OtherLayout { .. }) => {
                    return Err(anyhow::Error::new(error).context("compare the layout of counters"));
                }
                Err(_) => tokio::time::sleep(CONFINE_EVERY).await,
            }
        }
    });
}

/// Opens a port.
pub fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    bind(address).with_context(|| format!("listen on {address}"))
}

/// Lowers the cap of each listener to the number that the limit of open files allows.
fn limit_connections(settings: &mut Settings) {
    let descriptors = descriptors::raise_limit();
    let control = settings.control.as_mut().map(|control| &mut control.listener);
    let of_rls = usize::from(settings.gate.as_ref().is_some_and(|gate| gate.rls.is_some()));
    let gate = settings.gate.as_mut().map(|gate| &mut gate.listener);
    let mut listeners: Vec<_> = gate.into_iter().chain(control).collect();
    let Some(cap) = listeners.first().map(|listener| listener.connections_max) else { return };
    let connections_max = descriptors::connections_max(cap, descriptors, listeners.len() + of_rls);
    for listener in &mut listeners {
        listener.connections_max = connections_max;
    }
}

/// Starts the control plane on `listener`. Returns it with all its paths.
pub fn start_control(
    settings: ControlSettings,
    listener: TcpListener,
    running: &Running,
) -> anyhow::Result<Plane> {
    let store = settings.database.connect(Role::App)?;
    confine(store.clone(), "the control plane", running);
    migrate::compare_schema(store.clone(), "the control plane", running);
    compare_layout(store.clone(), running);
    let redis = settings.redis;
    verify_redis(redis.clone(), running);
    let usage_redis = redis.clone();
    let deferred_redis = redis.clone();
    let limiter_settings = LimiterSettings { budget: TESTER_BUDGET, ..Default::default() };
    let macs = Macs::new(&settings.signing_keys).context("read the signing keys")?;
    let drained = || running.drained.clone();
    let (signal, announcer) = Signal::new(redis.clone(), drained());
    running.spawn_with_handles("announcer of rulebooks", announcer);
    let (limiter, batcher) = Limiter::new(redis.clone(), limiter_settings, drained());
    running.spawn_with_handles("batcher of the tester", batcher);
    let mail = settings.mail.map(|mail| {
        let (mailer, outbox) = Mailer::new();
        let relay = Arc::new(mail.relay);
        running.spawn("mail", outbox.deliver(Arc::clone(&relay), running.stop.clone()));
        MailParts { mailer, relay, dashboard_url: mail.dashboard_url }
    });
    let keys =
        weir_control::region_keys(&settings.signing_keys).context("read the signing keys")?;
    let regions = Arc::new(RegionLinks::new(
        LinkSettings {
            budget: TESTER_BUDGET,
            keys: RegionKeys::new(&keys).context("a control plane has a signing key")?,
            clock: edge::clock(),
            random: edge::fill_random,
        },
        drained(),
    ));
    let following = region::follow(store.clone(), Arc::clone(&regions), running.stop.clone());
    running.spawn("registry of regions", following);
    let state = ControlState::new(ControlParts {
        store,
        signal,
        regions,
        auth: Authentication {
            tokens: AccessTokens::new(&settings.signing_keys).context("read the signing keys")?,
            passwords: Passwords::new(edge::random_bytes()),
            login_throttle: LoginThrottle::new(redis, macs.clone()),
            macs,
            view_keys: ViewKeys::new(&settings.signing_keys).context("read the signing keys")?,
        },
        webhooks: WebhookParts {
            sealing: weir_control::sealing(&settings.signing_keys)
                .context("read the signing keys")?,
            sender: Sender::new(settings.webhook_reach)
                .map_err(anyhow::Error::from_boxed)
                .context("prepare sending to webhooks")?,
        },
        mail,
        dashboard_url: settings.dashboard_url,
        provider: settings.oidc.map(|oidc| ProviderParts { name: oidc.name, oidc: oidc.provider }),
        limiter,
        deferred: DeferredJobs::new(deferred_redis),
        clock: edge::clock(),
        random: edge::random(),
        settings: weir_control::ControlSettings {
            signup: settings.signup,
            retention: settings.retention,
            audit_days: settings.audit_days,
            ..Default::default()
        },
        stop: running.stop.clone(),
    });
    let stop = || running.stop.clone();
    running.spawn("housekeeping", weir_control::run_housekeeping(state.clone(), stop()));
    running.spawn("statistics", weir_control::keep_statistics(state.clone(), stop()));
    running.spawn("usage", weir_control::keep_usage(state.clone(), usage_redis, stop()));
    running.spawn("quotas", weir_control::read_quotas(state.clone(), stop()));
    running.spawn("alerts", weir_control::watch(state.clone(), stop()));
    running.spawn("deliveries", weir_control::deliver(state.clone(), stop()));
    if !dashboard::is_built() {
        tracing::warn!("built without the dashboard: cargo xtask release builds it in");
    }
    let router = weir_control::router(state).merge(dashboard::router(&settings.gate_origins));
    let plane = Plane::new(plane::with_fallbacks(router), plane_settings(Some(REQUEST_DEADLINE)));
    run_plane("control", plane, listener, &settings.listener, running)
}

/// Starts a gate on `listener`, and on `internal` if it is in a region. Returns it with all its paths.
pub fn start_gate(
    settings: GateSettings,
    listener: TcpListener,
    internal: Option<TcpListener>,
    running: &Running,
) -> anyhow::Result<Plane> {
    let store = settings.database.connect(Role::Gate)?;
    let rls = settings.rls.map(listen).transpose()?;
    confine(store.clone(), "the gate", running);
    migrate::compare_schema(store.clone(), "the gate", running);
    compare_layout(store.clone(), running);
    let redis = settings.redis;
    verify_redis(redis.clone(), running);
    let traces = settings.traces.map(|traces| start_traces(&traces, running)).transpose()?;
    let limiter_settings =
        LimiterSettings { budget: settings.redis_budget, traces, ..Default::default() };
    // Leased units are returned after the last request, so Redis is needed until then.
    let returned = CancellationToken::new();
    let (limiter, batcher) = Limiter::new(redis.clone(), limiter_settings, returned.clone());
    running.spawn_with_handles("batcher of checks", batcher);
    let clock = edge::clock();
    let id = GateId::new(clock.now(), edge::random_u128());
    let boot_id = edge::random_u128();
    let follower_settings = FollowerSettings {
        id,
        boot_id,
        address: settings.url,
        region: settings.region.as_ref().map(|region| region.name.clone()),
        state_dir: settings.state_dir,
        staleness: settings.staleness,
    };
    let random = edge::gate_random();
    let state = if settings.statistics {
        GateState::new(limiter, clock, random)
    } else {
        GateState::without_statistics(limiter, clock, random)
    };
    let region = settings.region.as_ref().map(|region| region.name.clone());
    region::compare(store.clone(), region, running);
    if let (Some(region), Some(internal)) = (settings.region, internal) {
        let redis = redis.clone();
        region::start(&state, redis, region, internal, boot_id, &settings.listener, running)?;
    }
    if let Some(settings) = settings.decisions {
        export_decisions(&state, settings, running);
    }
    let recorder_settings = RecorderSettings {
        id,
        boot_id,
        region: follower_settings.region.clone(),
        state_dir: follower_settings.state_dir.clone(),
    };
    let recorder = Recorder::new(state.clone(), &store, recorder_settings);
    running.spawn_last("recorder of decisions", recorder.run(running.drained.clone()));
    let keeper = LeaseKeeper::new(state.clone());
    let drained = running.drained.clone();
    let sender = ChargeSender::new(state.clone());
    // The guard also works if the keeper panics: nothing else ends the batcher.
    let returned = returned.drop_guard();
    running.spawn_last("lease keeper", async move {
        tokio::join!(keeper.run(drained.clone()), sender.run(drained));
        drop(returned);
    });
    if let Some(sealing) = Sealing::new(&settings.sealing_keys) {
        let sender = Sender::with_deadline(settings.webhook_reach, DEFERRED_DEADLINE)
            .map_err(anyhow::Error::from_boxed)
            .context("prepare sending to webhooks")?;
        let jobs = DeferredJobs::new(redis.clone());
        let store = store.clone();
        let parts = DeferralParts { jobs, store, sealing, sender };
        let workers = DeferredWorkers::new(state.clone(), parts);
        running.spawn("deferred jobs", workers.run(running.stop.clone()));
    }
    let watching = state.clone().watch_eviction(redis.clone(), running.stop.clone());
    running.spawn("eviction of redis", watching);
    let follower = Follower::new(state.clone(), store, follower_settings);
    running.spawn("rulebook follower", follower.run(redis, running.stop.clone()));
    let router = weir_gate::router(state.clone(), &settings.dashboard_origins);
    // Bodies and Redis have deadlines of their own, and a gate waits for nothing else.
    let mut plane = Plane::new(router, plane_settings(None)).for_programs();
    if let Some(listener) = rls {
        let meters = run_rate_limit_service(state, listener, &settings.listener, running)?;
        plane = plane.with_meters("rls", meters);
    }
    run_plane("gate", plane, listener, &settings.listener, running)
}

/// Starts the export of decisions, which ends after the last request. A destination that cannot be opened ends the process.
fn export_decisions(state: &GateState, settings: DecisionSettings, running: &Running) {
    let Some(lines) = state.export_decisions(settings.export) else { return };
    let drained = running.drained.clone();
    let failed = running.clone();
    running.spawn_last("export of decisions", async move {
        match Delivery::open(settings.to).await {
            Ok(delivery) => delivery.run(lines, drained).await,
            Err(error) => failed.fail(error.context("WEIR_DECISIONS cannot be used")),
        }
    });
}

/// Starts the export of traces, which ends after the last request.
fn start_traces(settings: &TraceSettings, running: &Running) -> anyhow::Result<Traces> {
    let (traces, exporter) =
        settings.start(edge::wall_clock).context("OTEL_EXPORTER_OTLP_ENDPOINT cannot be used")?;
    let drained = running.drained.clone();
    running.spawn_last("export of traces", async move {
        drained.cancelled().await;
        // It waits for the receiver, so it has a thread of its own.
        drop(tokio::task::spawn_blocking(move || exporter.shut_down()).await);
    });
    tracing::info!("exporting traces");
    Ok(traces)
}

/// Starts Envoy's rate limit service. Returns the metrics of its listener.
fn run_rate_limit_service(
    state: GateState,
    listener: TcpListener,
    settings: &ListenerSettings,
    running: &Running,
) -> anyhow::Result<Arc<ListenerMeters>> {
    let address = listener.local_addr().context("read the own address")?;
    tracing::info!(%address, "rate limit service listening");
    let router = weir_gate::rate_limit_service(state, running.leaving.clone());
    let meters = Arc::new(ListenerMeters::default());
    let tls = certificate::start(settings.rls_tls.as_ref(), false, running)?;
    let settings = ServeSettings {
        tls,
        http1: false,
        // A call has a few KiB.
        body_bytes_per_connection_max: 4 << 20,
        body_bytes_per_address_max: 32 << 20,
        ..settings.serve_settings(Arc::clone(&meters))
    };
    let plane = Plane::new(router, plane_settings(None)).for_proxies();
    let served = serve(listener, plane, settings, running.stop.clone());
    running.spawn("rate limit service", served);
    Ok(meters)
}

fn run_plane(
    name: &'static str,
    plane: Plane,
    listener: TcpListener,
    settings: &ListenerSettings,
    running: &Running,
) -> anyhow::Result<Plane> {
    let address = listener.local_addr().context("read the own address")?;
    tracing::info!(%address, "{name} listening");
    let surface = surface(address, settings.operations);
    if surface == Surface::WithoutOperations && settings.operations.is_none() {
        tracing::info!(
            "the {name} does not serve /metrics and /docs here: set WEIR_OPERATIONS_ADDR"
        );
    }
    let meters = Arc::new(ListenerMeters::default());
    let plane = plane.with_meters(name, Arc::clone(&meters)).unready_after(running.leaving.clone());
    let public = plane.clone().serving(surface);
    let stop = running.stop.clone();
    let tls = certificate::start(settings.tls.as_ref(), true, running)?;
    let settings = ServeSettings { tls, ..settings.serve_settings(meters) };
    running.spawn(name, serve(listener, public, settings, stop));
    Ok(plane)
}

/// The paths of a public listener: if operations have no listener of their own, only a loopback address serves them.
fn surface(address: SocketAddr, operations: Option<SocketAddr>) -> Surface {
    if operations.is_none() && address.ip().to_canonical().is_loopback() {
        Surface::Everything
    } else {
        Surface::WithoutOperations
    }
}

fn plane_settings(request_deadline: Option<Duration>) -> PlaneSettings {
    PlaneSettings { request_ids: edge::request_ids(), request_deadline }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_served_on_their_own_listener_or_on_loopback_only() {
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        for loopback in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(surface(address(loopback), None), Surface::Everything, "{loopback}");
        }
        for public in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1"] {
            assert_eq!(surface(address(public), None), Surface::WithoutOperations, "{public}");
        }
        let own = Some(address("127.0.0.1:2"));
        assert_eq!(surface(address("127.0.0.1:1"), own), Surface::WithoutOperations);
    }
}
