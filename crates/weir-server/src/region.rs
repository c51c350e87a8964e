//! The region of a gate: its link to the home, and the internal listener on which gates of other regions ask it. The links of a
//! control plane to all regions.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::net::TcpListener;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use weir_gate::GateState;
use weir_http::plane::{Plane, PlaneSettings};
use weir_http::serve::{ListenerMeters, ServeSettings, serve};
use weir_redis::Client;
use weir_redis::signal::Signal;
use weir_region::{Link, LinkSettings, RegionLinks};
use weir_store::Store;
use weir_wire::regions::RegionsBody;

use crate::config::{ListenerSettings, RegionSettings};
use crate::running::Running;
use crate::{certificate, edge};

/// The pause between two reads of the registry while Postgres is unavailable.
const COMPARE_EVERY: Duration = Duration::from_secs(1);
/// The interval at which a control plane reads the registry.
const FOLLOW_EVERY: Duration = Duration::from_secs(2);
/// The deadline of a call, body included.
const CALL_DEADLINE: Duration = Duration::from_secs(15);

/// Ends the process if its region is not registered. Repeats the check until Postgres answers.
pub fn compare(store: Store, region: Option<String>, running: &Running) {
    running.spawn_check("region", async move {
        let text = loop {
            match store.regions().await {
                Ok(text) => break text,
                Err(_) => tokio::time::sleep(COMPARE_EVERY).await,
            }
        };
        let known: RegionsBody = serde_json::from_str(&text).context("read the regions")?;
        let names: Vec<_> = known.regions.iter().map(|region| region.name.as_str()).collect();
        match region.as_deref() {
            Some(name) if !names.contains(&name) => bail!(
                "WEIR_REGION is `{name}`, which is not registered ({}): run `weir regions add {name} --gates …`, or correct it",
                if names.is_empty() { "there are no regions".to_owned() } else { names.join(", ") }
            ),
            None if !names.is_empty() => bail!(
                "this installation has regions: set WEIR_REGION to one of {}",
                names.join(", ")
            ),
            _ => Ok(()),
        }
    });
}

/// Links all registered regions, and follows the registry until the process stops.
pub async fn follow(store: Store, links: Arc<RegionLinks>, stop: CancellationToken) {
    let mut known = None;
    let mut every = tokio::time::interval(FOLLOW_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = every.tick() => {}
        }
        // Without Postgres the links stay as they are.
        let Ok(text) = store.regions().await else { continue };
        let read =
            serde_json::from_str::<RegionsBody>(&text).ok().and_then(|body| body.parse().ok());
        let Some(regions) = read.filter(|regions| known.as_ref() != Some(regions)) else {
            continue;
        };
        match links.set(&regions) {
            Ok(()) => known = Some(regions),
            Err(error) => tracing::warn!(%error, "could not prepare calls to the regions"),
        }
    }
}

/// Starts the link to the home region, and the internal listener on which gates of other regions ask this one.
pub fn start(
    state: &GateState,
    redis: Client,
    region: RegionSettings,
    internal: TcpListener,
    run: u128,
    settings: &ListenerSettings,
    running: &Running,
) -> anyhow::Result<()> {
    let link_settings = LinkSettings {
        budget: region.budget,
        keys: region.keys.clone(),
        clock: edge::clock(),
        random: edge::fill_random,
    };
    // Units are returned after the last request, so the home is needed until then.
    let (link, calls) = Link::new(link_settings, running.drained.clone())
        .context("prepare calls to the home region")?;
    state.link_home(link);
    running.spawn_with_handles("link to the home region", calls);
    let address = internal.local_addr().context("read the own address")?;
    tracing::info!(%address, region = region.name, "listening for other regions");
    let (signal, announcer) = Signal::new(redis, running.drained.clone());
    running.spawn_with_handles("announcer of rulebooks in the region", announcer);
    let router = weir_gate::internal_router(state.clone(), region.keys, run, signal);
    let request_ids = edge::request_ids();
    let plane_settings = PlaneSettings { request_ids, request_deadline: Some(CALL_DEADLINE) };
    let plane = Plane::new(router, plane_settings).for_proxies();
    let meters = Arc::new(ListenerMeters::default());
    let tls = certificate::start(settings.tls.as_ref(), true, running)?;
    let settings = ServeSettings { tls, ..settings.serve_settings(meters) };
    running.spawn("internal listener", serve(internal, plane, settings, running.stop.clone()));
    Ok(())
}
