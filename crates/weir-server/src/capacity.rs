//! `weir capacity`: how many gates and which Redis a load needs, from the measurements of docs/performance.md.

use std::io::Write as _;

use anyhow::Context as _;
use clap::Args;

#[derive(Debug, Args)]
pub struct CapacityArgs {
    /// Peak checks per second, 1 to 10,000,000
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    checks: u32,
    /// Limits per check, of all matching rules together, 1 to 64
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    limits: u32,
    /// Subjects that send checks within the longest window, 1 to 1,000,000,000
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    subjects: u32,
    /// Processor cores of a gate, 1 to 64
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    gate_cores: u32,
    /// Round-trip time from a gate to Redis in microseconds, 50 to 100,000
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(50..=100_000))]
    redis_round_trip_us: u32,
}

/// Processor time of a gate for a check of one limit at half of its load: (d) of the open loop.
const GATE_CHECK_US: f64 = 22.0;
/// The same for each further limit: "Counters".
const GATE_LIMIT_US: f64 = 0.7;
/// Processor time of Redis for a check of one limit in a large call: the dearest algorithm that has no log, (spacing).
const REDIS_CHECK_US: f64 = 5.2;
/// The same for each further limit: "Counters".
const REDIS_LIMIT_US: f64 = 2.1;
/// Processor time of Redis for a call, whatever is in it: a call of one check, (d) with one connection, less the check.
const REDIS_CALL_US: f64 = 24.0;
/// The share of a core or of memory that is planned for. The rest is for peaks, and for a gate that is away.
const PLANNED_SHARE: f64 = 0.5;
/// Bytes of a subject and of each of its counters: "Memory" of docs/operate/redis.md.
const SUBJECT_BYTES: f64 = 136.0;
const COUNTER_BYTES: f64 = 64.0;
/// Connections of a process to each primary of Redis, and to Postgres.
const REDIS_CONNECTIONS: u32 = 5;
const POSTGRES_CONNECTIONS: u32 = 10;
/// Control planes that the connections count.
const CONTROL_PLANES: u32 = 2;
/// The number of buckets: more primaries are of no use.
const PRIMARIES_MAX: u32 = 64;

/// The estimate for a load.
#[derive(Debug, PartialEq)]
struct Needs {
    /// Cores that gates keep busy.
    gate_cores: f64,
    /// Gates, of which one can be away.
    gates: u32,
    /// Cores that Redis keeps busy.
    redis_cores: f64,
    primaries: u32,
    redis_bytes: f64,
    redis_connections: u32,
    postgres_connections: u32,
}

pub fn run(args: &CapacityArgs) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    out.write_all(text(args, &needs(args)).as_bytes())
        .and_then(|()| out.flush())
        .context("print the estimate")
}

fn needs(args: &CapacityArgs) -> Needs {
    let checks = f64::from(args.checks);
    let further = f64::from(args.limits - 1);
    let cores = |us: f64| us / 1_000_000.0;
    let gate_cores = cores(checks * (GATE_CHECK_US + GATE_LIMIT_US * further));
    let gates = whole(gate_cores / PLANNED_SHARE / f64::from(args.gate_cores)).max(1) + 1;
    // A gate has one call in flight at a time.
    let calls_of_gate = 1_000_000.0 / f64::from(args.redis_round_trip_us);
    let calls = checks.min(f64::from(gates) * calls_of_gate);
    let of_checks = checks * (REDIS_CHECK_US + REDIS_LIMIT_US * further);
    let redis_cores = cores(of_checks + calls * REDIS_CALL_US);
    let primaries = whole(redis_cores / PLANNED_SHARE).clamp(1, PRIMARIES_MAX);
    let bytes = SUBJECT_BYTES + COUNTER_BYTES * f64::from(args.limits);
    Needs {
        gate_cores,
        gates,
        redis_cores,
        primaries,
        redis_bytes: f64::from(args.subjects) * bytes,
        redis_connections: (gates + CONTROL_PLANES) * REDIS_CONNECTIONS,
        postgres_connections: (gates + CONTROL_PLANES) * POSTGRES_CONNECTIONS,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the bounds of the arguments keep it below 2^32"
)]
fn whole(number: f64) -> u32 {
    number.ceil() as u32
}

fn text(args: &CapacityArgs, needs: &Needs) -> String {
    let Needs { gate_cores, gates, redis_cores, primaries, redis_bytes, .. } = needs;
    let mib = redis_bytes / 1_048_576.0;
    let planned = mib / PLANNED_SHARE;
    let each = if args.gate_cores == 1 {
        "1 core".to_owned()
    } else {
        format!("{} cores", args.gate_cores)
    };
    let redis = if *primaries == 1 {
        "one primary".to_owned()
    } else {
        format!("a cluster of {primaries} primaries, or leased rules")
    };
    format!(
        "gates         {gate_cores:.2} cores busy: {gates} gates of {each}, of which one can be away\n\
         redis         {redis_cores:.2} cores busy: {redis}\n\
         redis memory  {mib:.0} MiB of counters: maxmemory {planned:.0}mb in all\n\
         connections   {} to each primary of Redis, {} to Postgres, with {CONTROL_PLANES} control planes\n",
        needs.redis_connections, needs.postgres_connections
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        args: CapacityArgs,
    }

    fn parse(line: &str) -> Result<CapacityArgs, clap::Error> {
        let words = std::iter::once("capacity").chain(line.split_whitespace());
        CommandLine::try_parse_from(words).map(|parsed| parsed.args)
    }

    fn of(line: &str) -> Needs {
        needs(&parse(line).expect("valid"))
    }

    /// Rows of docs/performance.md: one gate at loopback, where a call takes about 100 µs under load.
    #[test]
    fn estimate_is_not_below_what_was_measured_nor_far_above() {
        for (row, checks, limits, gate_us, redis_us) in [
            ("(d) at 25 %", 17_157, 1, 38.3, 18.8),
            ("(d) at 50 %", 34_315, 1, 22.0, 10.0),
            ("(d)", 68_629, 1, 13.5, 4.5),
            ("(e)", 36_375, 10, 16.9, 21.9),
            ("(f)", 18_509, 20, 27.1, 43.8),
        ] {
            let estimate = of(&format!(
                "--checks {checks} --limits {limits} --gate-cores 64 --redis-round-trip-us 100"
            ));
            let per_check = |cores: f64| cores * 1_000_000.0 / f64::from(checks);
            let (gate, redis) = (per_check(estimate.gate_cores), per_check(estimate.redis_cores));
            // Half of the cores is planned for, so a gate that spends twice as much still fits.
            assert!(gate / PLANNED_SHARE >= gate_us && gate <= 2.0 * gate_us, "{row}: {gate}");
            assert!(redis >= redis_us && redis <= 4.0 * redis_us, "{row}: {redis}");
        }
    }

    /// The three hashes that docs/operate/redis.md names.
    #[test]
    fn memory_is_that_of_the_measured_hashes() {
        for (limits, bytes) in [(1, 200.0), (10, 776.0), (20, 1416.0)] {
            let needs = of(&format!("--checks 1 --limits {limits} --subjects 1"));
            assert!((needs.redis_bytes - bytes).abs() < 0.5, "{limits}: {needs:?}");
        }
    }

    #[test]
    fn a_gate_can_be_away_and_a_redis_that_is_too_small_becomes_a_cluster() {
        assert_eq!((of("--checks 1").gates, of("--checks 1").primaries), (2, 1));
        let large = of("--checks 1000000 --gate-cores 4");
        assert_eq!(large.gates, 12);
        assert!(large.primaries > 10, "{large:?}");
        let most = "--checks 10000000 --limits 64 --subjects 1000000000 --redis-round-trip-us 50";
        assert_eq!(of(most).primaries, PRIMARIES_MAX);
    }

    #[test]
    fn argument_outside_its_bounds_is_named_with_them() {
        for (line, bounds) in [
            ("--checks 0", "1..=10000000"),
            ("--checks 10000001", "1..=10000000"),
            ("--checks 1 --limits 65", "1..=64"),
            ("--checks 1 --subjects 0", "1..=1000000000"),
            ("--checks 1 --gate-cores 65", "1..=64"),
            ("--checks 1 --redis-round-trip-us 49", "50..=100000"),
        ] {
            let refused = parse(line).expect_err(line).to_string();
            let name = line.rsplit(" --").next().unwrap_or(line).trim_start_matches("--");
            let name = name.split(' ').next().unwrap_or_default();
            assert!(refused.contains(name) && refused.contains(bounds), "{refused}");
        }
    }
}
