//! The addresses of the parts of `weir dev`.

use serde::Serialize;

/// The addresses of the parts.
#[derive(Debug)]
pub struct Addresses {
    pub control: String,
    pub gates: Vec<String>,
    /// The address with the owner's login.
    pub database_url: String,
    pub control_database_url: String,
    pub gate_database_url: String,
    /// That of the only region, or of the home.
    pub redis_url: String,
    /// Empty if there is one region.
    pub regions: Vec<RegionAddresses>,
}

/// The addresses of a region.
#[derive(Debug, Serialize)]
pub struct RegionAddresses {
    pub name: &'static str,
    pub gates: Vec<String>,
    pub redis_url: String,
}
