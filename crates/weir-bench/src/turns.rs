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
    /// The reason why the figures of the turn are invalid, if there is one.
    pub invalidated: Option<String>,
}

/// One paced turn of one variant.
#[derive(Debug, Clone)]
pub struct Paced {
    pub variant: &'static str,
    /// The load, in percent of the throughput of the closed loop.
    pub percent: u8,
    pub per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
    pub most_ms: f64,
    /// The 99th percentile of the delay that the client itself added, in milliseconds.
    pub client_p99_ms: f64,
    /// The processor time of each process per request, in microseconds.
    pub service_us: f64,
    pub redis_us: f64,
    pub client_us: f64,
    /// The reason why the figures of the turn are invalid, if there is one.
    pub invalidated: Option<String>,
}

/// The loads, in percent.
pub const LOADS: [u8; 3] = [25, 50, 75];
