//! What a gate says that it decided: the second witness beside the client.

use anyhow::Result;

use crate::arms::{Arm, Kind};
use crate::world::World;

/// What a gate counted.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    pub allowed: f64,
    pub denied: f64,
    pub degraded: f64,
}

impl Outcomes {
    pub async fn of(world: &World, arm: &Arm) -> Result<Self> {
        if arm.kind != Kind::Weir {
            return Ok(Self::default());
        }
        let text = world.metrics().await?;
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
