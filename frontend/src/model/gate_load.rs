//! The load of a gate in words.

use weir_wire::replicas::{GateLoad, Replica};

use crate::model::number::{bytes, grouped, per_second, quantity, share};

/// The names and texts of the load of a gate.
pub fn facts(load: &GateLoad) -> [(&'static str, String); 5] {
    let rate = per_second(load.checks.saturating_mul(1_000), load.interval_ms);
    let (checks, memory) = if load.checks == 0 {
        ("none".to_owned(), "–".to_owned())
    } else {
        let denied = share(load.denied, load.checks);
        let memory = share(load.from_memory, load.checks);
        (format!("{rate} per second, {denied} denied"), format!("{memory} of the checks"))
    };
    let durations = load.latency_p50_us.zip(load.latency_p99_us);
    let durations = durations.map_or_else(
        || "–".to_owned(),
        |(half, most)| format!("p50 {}, p99 {}", milliseconds(half), milliseconds(most)),
    );
    let counters = usize::try_from(load.leases).unwrap_or(usize::MAX);
    let leases = match load.leased_units {
        0 => "none".to_owned(),
        units => {
            let unit = if units == 1 { "unit" } else { "units" };
            format!("{} {unit} of {}", grouped(units), quantity(counters, "counter", "counters"))
        }
    };
    [
        ("Checks", checks),
        ("Without Redis", memory),
        ("Latency", durations),
        ("Leased", leases),
        ("Memory", load.memory_bytes.map_or_else(|| "–".to_owned(), bytes)),
    ]
}

/// The checks per second of the gates that report. `None` if none tells its load.
pub fn total_rate(gates: &[Replica]) -> Option<String> {
    let reporting = gates.iter().filter(|gate| gate.age_ms <= SILENT_AFTER_MS);
    let rates: Vec<u64> = reporting
        .filter_map(|gate| gate.load)
        .map(|load| load.checks.saturating_mul(1_000_000) / load.interval_ms.max(1))
        .collect();
    (!rates.is_empty()).then(|| per_second(rates.iter().sum(), 1_000))
}

/// The time without a heartbeat after which a gate counts as silent. It reports every two seconds, and the page reads every five.
pub const SILENT_AFTER_MS: u64 = 10_000;

/// `48 µs`, `0.4 ms`, `12 ms`.
pub fn milliseconds(time_us: u64) -> String {
    match time_us {
        ..100 => format!("{time_us} µs"),
        100..10_000 => format!("{}.{} ms", time_us / 1_000, time_us % 1_000 / 100),
        _ => format!("{} ms", grouped(time_us / 1_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: GateLoad = GateLoad {
        interval_ms: 2_000,
        checks: 2_480,
        denied: 310,
        from_memory: 1,
        latency_p50_us: Some(48),
        latency_p99_us: Some(12_500),
        leases: 3,
        leased_units: 1_250,
        memory_bytes: Some(84 << 20),
    };

    #[test]
    fn short_times_are_in_microseconds() {
        let shown = [0, 99, 100, 9_999, 10_000, 1_234_567].map(milliseconds);
        assert_eq!(shown, ["0 µs", "99 µs", "0.1 ms", "9.9 ms", "10 ms", "1,234 ms"]);
    }

    fn texts(load: &GateLoad) -> [String; 5] {
        facts(load).map(|(_, text)| text)
    }

    #[test]
    fn load_of_a_busy_gate_has_units() {
        let shown = texts(&LOAD);
        assert_eq!(
            shown,
            [
                "1.2k per second, 13% denied",
                "< 1% of the checks",
                "p50 48 µs, p99 12 ms",
                "1,250 units of 3 counters",
                "84 MiB",
            ]
        );
    }

    #[test]
    fn total_rate_is_that_of_the_gates_that_report() {
        let gate = |age_ms: u64, load: Option<GateLoad>| -> Replica {
            let mut gate = serde_json::json!({
                "id": "gate_1", "address": null, "rulebook_version": 1, "age_ms": age_ms, "applied_after_ms": 1,
                "applied_at": "2026-11-21T03:00:00Z", "started_at": "2026-11-21T03:00:00Z",
            });
            gate["load"] = serde_json::json!(load);
            serde_json::from_value(gate).expect("a gate")
        };
        let slow = GateLoad { checks: 1, interval_ms: 4_000, ..LOAD };
        let rate = |gates: &[Replica]| total_rate(gates);
        assert_eq!(rate(&[gate(0, Some(LOAD)), gate(0, Some(LOAD))]).as_deref(), Some("2.4k"));
        assert_eq!(rate(&[gate(0, Some(slow)), gate(0, Some(slow))]).as_deref(), Some("0.5"));
        assert_eq!(rate(&[gate(0, Some(slow)), gate(12_000, Some(LOAD))]).as_deref(), Some("0.2"));
        assert_eq!((rate(&[gate(0, None)]), rate(&[])), (None, None));
    }

    #[test]
    fn gate_without_checks_has_no_shares() {
        let idle = GateLoad {
            checks: 0,
            denied: 0,
            from_memory: 0,
            latency_p50_us: None,
            latency_p99_us: None,
            leases: 0,
            leased_units: 0,
            memory_bytes: None,
            ..LOAD
        };
        assert_eq!(texts(&idle), ["none", "–", "–", "none", "–"]);
        let rare = GateLoad { checks: 1, denied: 0, leases: 1, leased_units: 1, ..LOAD };
        let [checks, .., leased, _] = texts(&rare);
        assert_eq!(
            (checks.as_str(), leased.as_str()),
            ("0.5 per second, 0% denied", "1 unit of 1 counter")
        );
    }
}
