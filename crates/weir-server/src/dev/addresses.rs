//! The addresses of the parts of `weir dev`.

/// The addresses at which the parts are reached.
#[derive(Debug)]
pub struct Addresses {
    pub control: String,
    pub gates: Vec<String>,
    /// With the owner's login.
    pub database_url: String,
    pub control_database_url: String,
    pub gate_database_url: String,
    pub redis_url: String,
}
