//! The metrics of each primary of Redis. They are not registered, because the primaries change and registered series remain.

use std::fmt::Write as _;

use weir_redis::limiter::PrimaryHealth;

/// The label of the only primary of a Redis that is no cluster.
const ONLY: &str = "redis";

/// Writes the metrics of the present primaries, at most one for each bucket, in Prometheus' text format.
pub(crate) fn render(primaries: &[PrimaryHealth], text: &mut String) {
    let up = ("weir_redis_primary_up", "1 while this primary decides checks.");
    push(text, up, primaries, |primary| u64::from(primary.up));
    let buckets =
        ("weir_redis_primary_buckets", "The number of the 64 buckets that this primary serves.");
    push(text, buckets, primaries, |primary| primary.buckets as u64);
    push_calls(text, primaries);
}

/// The durations of calls, as a histogram for each primary.
fn push_calls(text: &mut String, primaries: &[PrimaryHealth]) {
    const NAME: &str = "weir_redis_primary_call_seconds";
    let mut line = |line: std::fmt::Arguments<'_>| {
        text.write_fmt(line).expect("a string takes any text");
    };
    line(format_args!(
        "# HELP {NAME} Time from sending a call to this primary until it was answered or given up.\n\
         # TYPE {NAME} histogram\n"
    ));
    for PrimaryHealth { address, calls, .. } in primaries {
        let address = label(address);
        let count = calls.count();
        for (bound, count) in calls.cumulative() {
            let le = bound.as_secs_f64();
            line(format_args!("{NAME}_bucket{{primary={address:?},le=\"{le}\"}} {count}\n"));
        }
        line(format_args!("{NAME}_bucket{{primary={address:?},le=\"+Inf\"}} {count}\n"));
        let total = calls.total().as_secs_f64();
        line(format_args!("{NAME}_sum{{primary={address:?}}} {total}\n"));
        line(format_args!("{NAME}_count{{primary={address:?}}} {count}\n"));
    }
    line(format_args!("\n"));
}

/// The value of the label. Its debug form escapes what the text format escapes.
fn label(address: &str) -> &str {
    if address.is_empty() { ONLY } else { address }
}

fn push(
    text: &mut String,
    (name, help): (&str, &str),
    primaries: &[PrimaryHealth],
    value: impl Fn(&PrimaryHealth) -> u64,
) {
    let mut line = |line: std::fmt::Arguments<'_>| {
        text.write_fmt(line).expect("a string takes any text");
    };
    line(format_args!("# HELP {name} {help}\n# TYPE {name} gauge\n"));
    for primary in primaries {
        let address = label(&primary.address);
        line(format_args!("{name}{{primary={address:?}}} {}\n", value(primary)));
    }
    line(format_args!("\n"));
}

#[cfg(test)]
mod tests {
    use weir_redis::limiter::CallTimes;

    use super::*;

    #[test]
    fn each_primary_has_a_series_and_the_only_one_has_a_fixed_label() {
        let primary = |address: &str, up| PrimaryHealth {
            address: address.to_owned(),
            up,
            buckets: 21,
            calls: CallTimes::default(),
        };
        let mut text = String::new();
        render(&[primary("10.0.0.1:6379", true), primary("[::1]:1", false)], &mut text);
        assert!(text.contains("weir_redis_primary_up{primary=\"10.0.0.1:6379\"} 1\n"), "{text}");
        assert!(text.contains("weir_redis_primary_up{primary=\"[::1]:1\"} 0\n"), "{text}");
        assert!(text.contains("weir_redis_primary_buckets{primary=\"[::1]:1\"} 21\n"), "{text}");
        let calls = "weir_redis_primary_call_seconds";
        assert!(
            text.contains(&format!("{calls}_bucket{{primary=\"[::1]:1\",le=\"0.00025\"}} 0\n"))
        );
        assert!(text.contains(&format!("{calls}_bucket{{primary=\"[::1]:1\",le=\"+Inf\"}} 0\n")));
        assert!(text.contains(&format!("{calls}_count{{primary=\"[::1]:1\"}} 0\n")));
        let mut text = String::new();
        render(&[primary("", true)], &mut text);
        assert!(text.contains("weir_redis_primary_up{primary=\"redis\"} 1\n"), "{text}");
    }
}
