//! The table of the open loop.

use std::fmt::Write as _;

use super::findings::Findings;
use crate::numbers::{Spread, Thousands};
use crate::turns::{LOADS, Paced};

/// Latencies of one variant at one load, over the rounds.
#[derive(Debug, Clone, Copy)]
pub struct Latency {
    pub per_second: f64,
    pub p50_ms: Spread,
    pub p99_ms: Spread,
    pub p999_ms: Spread,
    pub most_ms: Spread,
    pub client_p99_ms: Spread,
    pub service_us: Spread,
    pub redis_us: Spread,
    pub client_us: Spread,
}

impl Findings<'_> {
    /// Returns `None` if the variant was not measured or every turn was invalidated.
    pub fn latency(&self, label: &str, percent: u8) -> Option<Latency> {
        let of_cell = |paced: &&Paced| paced.variant == label && paced.percent == percent;
        let sound = self.paced.iter().filter(of_cell).filter(|paced| paced.invalidated.is_none());
        let turns: Vec<&Paced> = sound.collect();
        let spread = |of: fn(&Paced) -> f64| Spread::of(turns.iter().map(|paced| of(paced)));
        Some(Latency {
            per_second: turns.first()?.per_second,
            p50_ms: spread(|paced| paced.p50_ms)?,
            p99_ms: spread(|paced| paced.p99_ms)?,
            p999_ms: spread(|paced| paced.p999_ms)?,
            most_ms: spread(|paced| paced.most_ms)?,
            client_p99_ms: spread(|paced| paced.client_p99_ms)?,
            service_us: spread(|paced| paced.service_us)?,
            redis_us: spread(|paced| paced.redis_us)?,
            client_us: spread(|paced| paced.client_us)?,
        })
    }
}

pub fn table(findings: &Findings<'_>) -> String {
    if findings.paced.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n**Open loop, 64 connections, in ms from the moment a request was meant to leave**\n\n\
         | | load | requests/s | p50 | p99 | p99.9 | most | p99 by which the client was late | \
         µs/request: service | Redis | client |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for variant in findings.variants {
        for percent in LOADS {
            text.push_str(&row(findings, variant.label, percent));
        }
    }
    text
}

fn row(findings: &Findings<'_>, label: &str, percent: u8) -> String {
    let Some(latency) = findings.latency(label, percent) else {
        let invalidated =
            findings.paced.iter().find(|paced| paced.variant == label && paced.percent == percent);
        return invalidated
            .and_then(|paced| paced.invalidated.as_ref())
            .map_or(String::new(), |why| {
                format!("| ({label}) | {percent} % | invalidated: {why} |\n")
            });
    };
    let mut text = format!("| ({label}) | {percent} % | {} |", Thousands(latency.per_second));
    for Spread { median, least, most } in
        [latency.p50_ms, latency.p99_ms, latency.p999_ms, latency.most_ms]
    {
        let _ = write!(text, " {median:.2} ({least:.2}–{most:.2}) |");
    }
    let _ =
        write!(text, " {:.2} | {:.1} |", latency.client_p99_ms.median, latency.service_us.median);
    // For a constant, this figure would be the background work of Redis.
    let redis_us = latency.redis_us.median;
    let redis = if redis_us < 1.0 { "–".to_owned() } else { format!("{redis_us:.1}") };
    let _ = writeln!(text, " {redis} | {:.1} |", latency.client_us.median);
    text
}
