//! The addresses of the parts of `weir dev`.

/// The addresses of the parts.
#[derive(Debug)]
pub struct Addresses {
    pub control: String,
    pub gates: Vec<String>,
    /// The address with the owner's login.
    pub database_url: String,
    pub control_database_url: String,
    pub gate_database_url: String,
    pub redis_url: String,
}
