//! The duration of checks at the gates, in words.

use weir_wire::stats::Series;

use crate::model::gate_load::milliseconds;

/// The 99th percentile and the median of the newest step of a series that has both.
pub fn newest(series: &Series) -> Option<(String, String)> {
    let latency = series.latency.as_ref()?;
    let mut steps = latency.p99_us.iter().zip(&latency.p50_us).rev();
    let (p99_us, p50_us) = steps.find_map(|(p99, p50)| (*p99).zip(*p50))?;
    Some((milliseconds(p99_us), milliseconds(p50_us)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn series(latency: &serde_json::Value) -> Series {
        serde_json::from_value(json!({
            "start": "2026-11-21T22:40:00Z", "step_s": 60, "starts": null, "allowed": [9, 9, 0],
            "denied": [0, 0, 0], "shadow_denied": [0, 0, 0], "degraded": [0, 0, 0], "refunded": [0, 0, 0],
            "latency": latency, "as_of": "2026-11-21T22:43:20Z", "dropped": 0
        }))
        .expect("a series")
    }

    #[test]
    fn a_step_without_checks_has_no_latency() {
        let steps = json!({ "p50_us": [10, 90, null], "p99_us": [100, 1_300, null] });
        let expected = Some(("1.3 ms".to_owned(), "90 µs".to_owned()));
        assert_eq!(newest(&series(&steps)), expected, "the newest step with checks");
        assert_eq!(newest(&series(&json!({ "p50_us": [null], "p99_us": [null] }))), None);
        assert_eq!(newest(&series(&json!(null))), None, "a rule, or a range that began long ago");
    }
}
