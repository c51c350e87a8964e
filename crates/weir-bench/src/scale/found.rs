//! The results for one amount of data.

use std::time::Duration;

use crate::steady::SteadyRun;
use crate::usage::Resident;

/// The results for one amount of data.
#[derive(Debug)]
pub struct Found {
    pub title: String,
    pub start: Duration,
    /// The memory of the gate after its start.
    pub resident: Resident,
    /// The times from the answer of the control plane until the gate serves the change, in milliseconds.
    pub applied_ms: Vec<f64>,
    /// The times from the request to the control plane until the gate serves the change, in milliseconds.
    pub whole_ms: Vec<f64>,
    pub quiet: SteadyRun,
    pub changing: SteadyRun,
}
