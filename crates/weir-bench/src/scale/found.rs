//! The results for one amount of data.

use std::time::Duration;

use crate::steady::SteadyRun;

/// The results for one amount of data.
#[derive(Debug)]
pub struct Found {
    pub title: String,
    pub start: Duration,
    pub resident_bytes: u64,
    /// The times from the answer of the control plane until the gate serves the change, in milliseconds.
    pub applied_ms: Vec<f64>,
    /// The times from the request to the control plane until the gate serves the change, in milliseconds.
    pub whole_ms: Vec<f64>,
    pub quiet: SteadyRun,
    pub changing: SteadyRun,
}
