//! The load of a gate, which it reports with its heartbeat.

use std::time::Instant;

use weir_store::GateLoad;

use crate::memory::leases::Holdings;
use crate::state::GateState;

/// The checks of the last interval, and what the gate holds. `None` until an interval has ended, and without statistics.
pub(super) fn measured(state: &GateState, now: Instant) -> Option<GateLoad> {
    let interval = state.traffic.interval(now)?;
    let Holdings { leases, units } = state.leases.holdings();
    let latencies = interval.counts.latencies;
    Some(GateLoad {
        interval_ms: u64::try_from(interval.length.as_millis()).unwrap_or(u64::MAX),
        checks: interval.counts.checks,
        denied: interval.counts.denied,
        from_memory: interval.from_memory,
        latency_p50_us: latencies.percentile_us(50),
        latency_p99_us: latencies.percentile_us(99),
        leases,
        leased_units: units,
        memory_bytes: resident_bytes(),
    })
}

/// The resident memory of this process. `None` if the system is not Linux.
fn resident_bytes() -> Option<u64> {
    resident(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_in_bytes() {
        let status = "Name:\tweir\nVmPeak:\t  900000 kB\nVmRSS:\t   84320 kB\nThreads:\t7\n";
        assert_eq!(resident(status), Some(84_320 * 1024));
        assert_eq!(resident("Name:\tweir\n"), None);
    }
}
