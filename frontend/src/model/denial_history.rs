//! Denials of the log as counts over time.

use weir_domain::time::Timestamp;
use weir_wire::stats::{DenialEntry, Series};
use weir_wire::time::DateTime;

/// The lengths of steps, in seconds.
const STEPS_S: [u32; 6] = [60, 120, 300, 600, 1_200, 1_800];
const STEPS_MAX: i64 = 60;
/// The shortest time that a series shows.
const LENGTH_MIN_MS: i64 = 3_600_000;

/// The denials of a range, or from the oldest on to now, in at most about an hour of steps.
pub fn denial_series(
    denials: &[DenialEntry],
    as_of: DateTime,
    now_ms: i64,
    range: Option<(i64, i64)>,
) -> Series {
    let oldest_ms = denials.iter().map(|denial| denial.at.0.as_millis()).min().unwrap_or(now_ms);
    let (from_ms, to_ms) = range.unwrap_or((oldest_ms.min(now_ms - LENGTH_MIN_MS), now_ms));
    let fits = |step: &u32| (to_ms - from_ms) / (i64::from(*step) * 1_000) <= STEPS_MAX;
    let step_s = STEPS_S.into_iter().find(fits).unwrap_or(STEPS_S[5]);
    let step_ms = i64::from(step_s) * 1_000;
    let start_ms = from_ms.div_euclid(step_ms) * step_ms;
    let steps = usize::try_from((to_ms - 1 - start_ms).max(0) / step_ms + 1).unwrap_or(1);
    let (mut denied, mut shadow_denied) = (vec![0; steps], vec![0; steps]);
    for denial in denials {
        let step = (denial.at.0.as_millis() - start_ms).div_euclid(step_ms);
        let counts = if denial.shadow { &mut shadow_denied } else { &mut denied };
        if let Some(count) = usize::try_from(step).ok().and_then(|step| counts.get_mut(step)) {
            *count += u64::from(denial.stands_for);
        }
    }
    Series {
        start: DateTime(Timestamp::from_millis(start_ms)),
        step_s,
        starts: None,
        allowed: vec![0; steps],
        denied,
        shadow_denied,
        degraded: vec![0; steps],
        refunded: vec![0; steps],
        recorded: vec![0; steps],
        latency: None,
        as_of,
        dropped: 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn denials_are_counted_in_steps() {
        let denial = |at: &str, shadow: bool, stands_for: u32| -> DenialEntry {
            serde_json::from_value(json!({
                "id": "denial_1", "at": at, "namespace": "api", "rule_id": "rule_1", "rule": "r", "shadow": shadow,
                "subject": {"user": "u-1"}, "cost": 1, "retry_after_ms": 10, "degraded": false, "stands_for": stands_for
            }))
            .expect("a denial")
        };
        let denials = [
            denial("2026-11-21T22:39:30Z", false, 1),
            denial("2026-11-21T22:39:10Z", false, 4),
            denial("2026-11-21T22:30:00Z", true, 1),
        ];
        let now_ms = denials[0].at.0.as_millis() + 30_000;
        let hour = denial_series(&denials, denials[0].at, now_ms, None);
        assert_eq!((hour.step_s, hour.denied.len()), (60, 60), "from 21:40 to 22:40");
        assert_eq!((hour.denied[59], hour.shadow_denied[50]), (5, 1));
        let range = Some((now_ms - 120_000, now_ms));
        assert_eq!(denial_series(&denials, denials[0].at, now_ms, range).denied, [0, 5]);
        let day = denial_series(&denials, denials[0].at, now_ms + 86_400_000, None);
        assert_eq!((day.step_s, day.denied[0]), (1_800, 5));
    }
}
