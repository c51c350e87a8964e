//! The results of single turns.

use crate::closed::ClosedRun;
use crate::usage::Usage;

/// One turn of one variant in the closed loop.
#[derive(Debug, Clone)]
pub struct Turn {
    pub variant: &'static str,
    pub connections: u16,
    pub run: ClosedRun,
    pub usage: Usage,
    /// Why its figures mean nothing.
    pub invalidated: Option<String>,
}

/// One paced turn of one variant.
#[derive(Debug, Clone)]
pub struct Paced {
    pub variant: &'static str,
    /// Of the closed loop's throughput.
    pub percent: u8,
    pub per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
    pub most_ms: f64,
    /// How late the client was by itself, for one request in a hundred.
    pub client_p99_ms: f64,
    /// Processor time of each for one request, in microseconds.
    pub service_us: f64,
    pub redis_us: f64,
    pub client_us: f64,
    /// Why its figures mean nothing.
    pub invalidated: Option<String>,
}

/// The loads, in percent.
pub const LOADS: [u8; 3] = [25, 50, 75];
