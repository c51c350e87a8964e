//! The results of all turns, and their summaries.

use crate::numbers::{Spread, float};
use crate::turns::{Paced, Turn};
use crate::variants::Variant;

/// All measurements.
#[derive(Debug, Clone, Copy)]
pub struct Findings<'a> {
    pub variants: &'a [Variant],
    pub turns: &'a [Turn],
    pub paced: &'a [Paced],
    /// The time to match a request against 10,000 rules, in microseconds, if it was measured.
    pub match_us: Option<f64>,
    pub seconds: u64,
}

/// The compared figures of one variant at one number of connections: medians and spreads over the rounds.
#[derive(Debug, Clone, Copy)]
pub struct Summary {
    pub per_second: Spread,
    pub service_us: f64,
    pub redis_us: f64,
    pub script_us: f64,
    pub calls: f64,
}

impl Findings<'_> {
    /// Returns `None` if the variant was not measured or every turn was invalidated.
    pub fn summary(&self, label: &str, connections: u16) -> Option<Summary> {
        let turns: Vec<&Turn> = self.sound(label, connections).collect();
        let median = |of: fn(&Turn) -> u64| {
            let values = turns.iter().map(|turn| float(of(turn)) / float(turn.run.requests.max(1)));
            Spread::of(values).map(|spread| spread.median)
        };
        Some(Summary {
            per_second: Spread::of(turns.iter().map(|turn| turn.run.per_second))?,
            service_us: median(|turn| turn.usage.service_us)?,
            redis_us: median(|turn| turn.usage.redis_us)?,
            script_us: median(|turn| turn.usage.script_us)?,
            calls: median(|turn| turn.usage.calls)?,
        })
    }

    pub fn sound<'a>(&'a self, label: &'a str, connections: u16) -> impl Iterator<Item = &'a Turn> {
        let of_cell = move |turn: &&Turn| turn.variant == label && turn.connections == connections;
        self.turns.iter().filter(of_cell).filter(|turn| turn.invalidated.is_none())
    }

    pub fn connections(&self) -> Vec<u16> {
        let mut all: Vec<u16> = self.turns.iter().map(|turn| turn.connections).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
