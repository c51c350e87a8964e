//! The decisions that a gate counted, to verify the numbers of the client.

use anyhow::Result;

use crate::fixture::Fixture;
use crate::variants::{Kind, Variant};

/// The decisions that a gate counted.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    pub allowed: f64,
    pub denied: f64,
    pub degraded: f64,
}

impl Outcomes {
    pub async fn of(fixture: &Fixture, variant: &Variant) -> Result<Self> {
        if variant.kind != Kind::Weir {
            return Ok(Self::default());
        }
        let text = fixture.metrics().await?;
        let sum = |name: &str| {
            let lines = text.lines().filter(|line| line.starts_with(name));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        Ok(Self {
            allowed: sum("weir_checks_total{outcome=\"allowed\"}"),
            denied: sum("weir_checks_total{outcome=\"denied\"}"),
            degraded: sum("weir_degraded_checks_total"),
        })
    }

    pub fn since(&self, before: &Self) -> Self {
        Self {
            allowed: self.allowed - before.allowed,
            denied: self.denied - before.denied,
            degraded: self.degraded - before.degraded,
        }
    }
}
