//! The targets at 64 connections, and whether they were reached.

use std::fmt::Write as _;

use super::findings::Findings;

/// The table of targets whose variants were measured, with whether each was reached.
pub fn table(findings: &Findings<'_>) -> String {
    let mut text = String::from(
        "\n**Targets** (64 connections)\n\n| target | wanted | measured | reached |\n\
         | --- | --- | ---: | --- |\n",
    );
    let mut found = rates(findings);
    found.extend(tail(findings));
    found.extend(costs(findings));
    let matching = "one request against 10,000 rules, µs of matching";
    found.extend(findings.match_us.map(|took_us| at_most(matching, 2.0, took_us)));
    for Target { what, wanted, measured, reached } in found {
        let word = if reached { "yes" } else { "no" };
        let _ = writeln!(text, "| {what} | {wanted} | {measured:.2} | {word} |");
    }
    text
}

struct Target {
    what: String,
    wanted: String,
    measured: f64,
    reached: bool,
}

const CONNECTIONS: u16 = 64;

/// The throughput of one variant as a share of another one's.
fn rates(findings: &Findings<'_>) -> Vec<Target> {
    let wanted = [
        ("d", "a", 0.65),
        ("d", "b", 1.1),
        ("e", "d", 0.7),
        ("e2", "d", 0.45),
        ("f", "d", 0.85),
        ("g", "a", 0.9),
        ("h", "a", 0.85),
        ("k", "d", 0.95),
        ("l", "d", 0.95),
        ("m", "d", 0.8),
    ];
    let rate = |label: &'static str| Some(findings.summary(label, CONNECTIONS)?.per_second.median);
    let target = |(variant, of, least): (&'static str, &'static str, f64)| {
        let measured = rate(variant)? / rate(of)?;
        Some(Target {
            what: format!("throughput of ({variant}) over ({of})"),
            wanted: format!("≥ {least}"),
            measured,
            reached: measured >= least,
        })
    };
    wanted.into_iter().filter_map(target).collect()
}

/// The latency of (d) at half its throughput, compared with (a) at half of its own.
fn tail(findings: &Findings<'_>) -> Option<Target> {
    let p99_ms = |label: &'static str| Some(findings.latency(label, 50)?.p99_ms.median);
    let ratio = p99_ms("d")? / p99_ms("a")?;
    Some(at_most("p99 of (d) over (a), each at 50 % of its load", 2.0, ratio))
}

/// The processor time per check in (d).
fn costs(findings: &Findings<'_>) -> Vec<Target> {
    let Some(exact) = findings.summary("d", CONNECTIONS) else { return Vec::new() };
    let mut targets = vec![at_most("(d) in Redis' script, µs per check", 3.0, exact.script_us)];
    if let Some(ceiling) = findings.summary("a", CONNECTIONS) {
        let above = exact.service_us - ceiling.service_us;
        targets.push(at_most("(d) in the gate above (a), processor µs per check", 5.0, above));
    }
    if let Some(cluster) = findings.summary("j", CONNECTIONS) {
        targets.push(at_most("(j) in Redis, processor µs per check", 12.0, cluster.redis_us));
        let above = cluster.service_us - exact.service_us;
        targets.push(at_most("(j) in the gate above (d), processor µs per check", 2.0, above));
    }
    if let Some(cluster) = findings.summary("j", 256) {
        let what = "(j) in Redis at 256 connections, processor µs per check";
        targets.push(at_most(what, 6.0, cluster.redis_us));
    }
    targets
}

fn at_most(what: &str, most: f64, measured: f64) -> Target {
    let wanted = format!("≤ {most}");
    Target { what: what.to_owned(), wanted, measured, reached: measured <= most }
}
