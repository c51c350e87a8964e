//! Relative times.

use crate::model::duration;

/// `just now`, `3 min ago`, `in 2 h`; both times are milliseconds since 1970.
pub fn relative(at_ms: i64, now_ms: i64) -> String {
    let distance_ms = now_ms.abs_diff(at_ms);
    if distance_ms < 5_000 {
        return "just now".to_owned();
    }
    let about = match distance_ms / 1_000 {
        seconds @ ..60 => format!("{seconds} s"),
        // Rounded to the displayed unit, so that an expiry set to one week reads as seven days and not six.
        seconds if at_ms > now_ms => duration::about((seconds + half_unit_s(seconds)) * 1_000),
        seconds => duration::about(seconds * 1_000),
    };
    if at_ms < now_ms { format!("{about} ago") } else { format!("in {about}") }
}

/// Half of the unit in which a time of this length is displayed, in seconds.
const fn half_unit_s(seconds: u64) -> u64 {
    match seconds {
        ..120 => 0,
        120..7_200 => 30,
        7_200..172_800 => 1_800,
        _ => 43_200,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_and_future_times_read_differently() {
        assert_eq!(relative(1_000, 2_000), "just now");
        assert_eq!(relative(0, 5_999), "5 s ago");
        assert_eq!(relative(0, 240_000), "4 min ago");
        assert_eq!(relative(86_400_000 * 3, 0), "in 3 d");
        for age_ms in [0, 5_000, 40_000, 3_600_000] {
            assert_eq!(relative(86_400_000 * 7, age_ms), "in 7 d");
            assert_eq!(relative(86_400_000 * 30, age_ms), "in 30 d");
        }
        assert_eq!(relative(86_400_000, 60_000), "in 24 h");
        assert_eq!(relative(600_000, 20_000), "in 10 min");
    }
}
