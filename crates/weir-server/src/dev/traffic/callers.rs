//! The callers of the demo: how many checks each of them sends at a time. Generated statistics and live traffic both follow them.

use weir_domain::time::Timestamp;

/// A program that sends checks with the same attributes.
#[derive(Debug)]
pub struct Caller {
    pub namespace: &'static str,
    pub attributes: &'static [(&'static str, &'static str)],
    /// Checks at the busiest time of the day.
    pub per_hour: u64,
    pub burst: Option<Burst>,
}

/// A time in which a caller sends more checks, again and again.
#[derive(Debug)]
pub struct Burst {
    pub every_s: u64,
    pub offset_s: u64,
    pub lasts_s: u64,
    pub per_hour: u64,
}

/// The load at the full hours of the day (UTC), in percent of the busiest one.
const DAY_PERCENT: [u64; 24] = [
    42, 38, 36, 35, 36, 40, 48, 60, 74, 86, 93, 97, 98, 99, 100, 98, 95, 90, 82, 74, 66, 58, 51, 46,
];
const HOUR_MS: u64 = 3_600_000;

impl Caller {
    /// The value of an attribute.
    pub fn value(&self, attribute: &str) -> Option<&'static str> {
        self.attributes.iter().find(|(name, _)| *name == attribute).map(|(_, value)| *value)
    }

    /// The number of checks in a span of time. It varies by the seed.
    pub fn checks(&self, at: Timestamp, span_ms: u64, seed: u64) -> u64 {
        let expected_milli = self.per_hour_at(at.as_millis_u64()) * span_ms / (HOUR_MS / 1_000);
        (expected_milli + random(seed) % 1_000) / 1_000
    }

    fn per_hour_at(&self, at_ms: u64) -> u64 {
        let at_s = at_ms / 1_000;
        let burst = self.burst.as_ref();
        match burst.filter(|burst| (at_s + burst.offset_s) % burst.every_s < burst.lasts_s) {
            Some(burst) => burst.per_hour,
            None => self.per_hour * day_percent(at_ms) / 100,
        }
    }
}

/// The load at a time, between those of two full hours.
fn day_percent(at_ms: u64) -> u64 {
    let load = |hour: u64| usize::try_from(hour % 24).map_or(100, |hour| DAY_PERCENT[hour]);
    let (hour, past_ms) = (at_ms / HOUR_MS, at_ms % HOUR_MS);
    (load(hour) * (HOUR_MS - past_ms) + load(hour + 1) * past_ms) / HOUR_MS
}

/// A number that depends on the seed only (`SplitMix64`).
pub fn random(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

const fn steady(
    namespace: &'static str,
    attributes: &'static [(&'static str, &'static str)],
    per_hour: u64,
) -> Caller {
    Caller { namespace, attributes, per_hour, burst: None }
}

const fn bursty(
    mut caller: Caller,
    every_s: u64,
    offset_s: u64,
    lasts_s: u64,
    per_hour: u64,
) -> Caller {
    caller.burst = Some(Burst { every_s, offset_s, lasts_s, per_hour });
    caller
}

/// All callers. A sketch of statistics has 64 subjects, which are enough for those of these callers.
pub const CALLERS: [Caller; 28] = [
    bursty(steady("api", &[("customer", "acme")], 9_000), 3_600, 900, 30, 36_000),
    steady("api", &[("customer", "northwind")], 14_400),
    steady("api", &[("customer", "globex")], 5_400),
    bursty(steady("api", &[("customer", "umbrella")], 3_600), 600, 0, 60, 43_200),
    bursty(steady("api", &[("customer", "c-2041")], 1_800), 2_700, 300, 40, 54_000),
    steady("api", &[("customer", "c-3377")], 1_500),
    steady("api", &[("customer", "c-4120")], 900),
    steady("api", &[("customer", "c-5586")], 600),
    steady("auth", &[("user", "u-1001"), ("ip", "198.51.100.10")], 60),
    steady("auth", &[("user", "u-1002"), ("ip", "198.51.100.10")], 50),
    steady("auth", &[("user", "u-1003"), ("ip", "198.51.100.10")], 240),
    steady("auth", &[("user", "u-1004"), ("ip", "198.51.100.11")], 40),
    steady("auth", &[("user", "u-1005"), ("ip", "198.51.100.11")], 40),
    steady("auth", &[("user", "u-1006"), ("ip", "198.51.100.12")], 30),
    steady("auth", &[("user", "u-1007"), ("ip", "198.51.100.12")], 30),
    steady("auth", &[("user", "u-1008"), ("ip", "198.51.100.13")], 30),
    steady("auth", &[("user", "u-1009"), ("ip", "198.51.100.13")], 20),
    steady("auth", &[("user", "u-1010"), ("ip", "198.51.100.14")], 20),
    bursty(steady("auth", &[("user", "u-1017"), ("ip", "203.0.113.9")], 12), 900, 120, 90, 3_600),
    bursty(steady("auth", &[("user", "u-1018"), ("ip", "203.0.113.9")], 12), 1_800, 60, 45, 1_800),
    bursty(steady("exports", &[("customer", "northwind")], 60), 1_200, 200, 60, 900),
    steady("exports", &[("customer", "acme")], 60),
    steady("exports", &[("customer", "globex")], 40),
    steady("exports", &[("customer", "umbrella")], 20),
    steady("models", &[("team", "search")], 500),
    steady("models", &[("team", "support")], 300),
    bursty(steady("models", &[("team", "research")], 240), 1_800, 700, 120, 1_800),
    steady("models", &[("team", "growth")], 120),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_of_a_caller_follow_the_day_and_its_bursts() {
        let caller = bursty(steady("api", &[], 3_600), 600, 0, 60, 36_000);
        let sum = |from_s: i64| -> u64 {
            let at = |second: i64| Timestamp::from_millis((from_s + second) * 1_000);
            (0..300).map(|second| caller.checks(at(second), 1_000, second.unsigned_abs())).sum()
        };
        let (night, noon) = (sum(3 * 3_600 + 100), sum(14 * 3_600 + 100));
        assert!((75..=135).contains(&night), "35 % of a check per second: {night}");
        assert!((285..=315).contains(&noon), "a check per second: {noon}");
        assert_eq!(
            caller.checks(Timestamp::from_millis(600_000), 1_000, 1),
            10,
            "in a burst, at any hour"
        );
        assert_eq!(sum(7), sum(7), "the same numbers each time");
    }
}
