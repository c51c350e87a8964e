//! The gates of `weir dev`, in regions if there are several.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use secrecy::SecretString;
use tokio::net::TcpListener;
use weir_local::Relay;
use weir_wire::regions::{RegionBody, RegionsBody};

use super::addresses::{Addresses, RegionAddresses};
use crate::config::GateSettings;
use crate::running::Running;
use crate::{migrate, regions, serve};

pub const HOME: &str = "eu";
/// The names of the regions, the home first.
pub const REGIONS: [&str; 3] = [HOME, "us", "ap"];

impl Addresses {
    /// The same, with the gates in regions if there are several. `redis_urls` has one address for each region.
    pub fn in_regions(self, gates_per_region: u16, redis_urls: Vec<String>) -> Self {
        if redis_urls.len() == 1 {
            return self;
        }
        let parts = REGIONS.iter().zip(redis_urls).zip(self.gates.chunks(gates_per_region.into()));
        let region = |((&name, redis_url), gates): ((&&'static str, String), &[String])| {
            RegionAddresses { name, gates: gates.to_vec(), redis_url }
        };
        Self { regions: parts.map(region).collect(), ..self }
    }

    /// The region of a gate.
    pub fn region_of(&self, gate: &str) -> Option<&RegionAddresses> {
        self.regions.iter().find(|region| region.gates.iter().any(|of| of == gate))
    }
}

/// Starts the gates, and registers their regions first, if there are any. Returns the relays between regions, one for each gate,
/// if a delay was asked for. Gates call one another through them.
pub async fn start_gates(
    addresses: &Addresses,
    round_trip: Option<Duration>,
    settings_of: impl Fn(&str, SocketAddr) -> anyhow::Result<GateSettings>,
    listeners: impl Iterator<Item = TcpListener>,
    running: &Running,
) -> anyhow::Result<Vec<Relay>> {
    let mut relays = Vec::new();
    let mut registry = RegionsBody::default();
    let mut gates = Vec::new();
    for (listener, url) in listeners.zip(&addresses.gates) {
        let region = addresses.region_of(url);
        let internal =
            region.map(|_| serve::listen(SocketAddr::from(([127, 0, 0, 1], 0)))).transpose()?;
        if let (Some(region), Some(internal)) = (region, &internal) {
            let mut address = internal.local_addr()?;
            if let Some(round_trip) = round_trip {
                let relay = Relay::start(address.port()).context("start a relay")?;
                relay.set_round_trip(round_trip);
                address.set_port(relay.port());
                relays.push(relay);
            }
            let address = format!("http://{address}");
            match registry.regions.iter_mut().find(|known| known.name == region.name) {
                Some(known) => known.gates.push(address),
                None => {
                    let (name, gates) = (region.name.to_owned(), vec![address]);
                    registry.regions.push(RegionBody { name, gates });
                }
            }
        }
        gates.push((listener, internal, url));
    }
    registry.home = registry.regions.first().map(|home| home.name.clone());
    let owner = migrate::owner(&SecretString::from(addresses.database_url.clone()))?;
    regions::register(&owner, &registry).await?;
    for (listener, internal, url) in gates {
        let settings = settings_of(url, listener.local_addr()?)?;
        serve::start_gate(settings, listener, internal, running)?;
    }
    Ok(relays)
}
