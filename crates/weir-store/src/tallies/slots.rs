//! The rows of a series: each holds the counts between two neighbouring bounds, and how complete the whole series is.

use time::OffsetDateTime;

use super::counts::{Counted, TallyCounts};
use crate::convert::{timestamp, unsigned};
use crate::error::StoreError;

/// A row of a series. Without decisions in the range there is one row, whose other columns are NULL.
pub(super) struct SlotRow {
    pub as_of: OffsetDateTime,
    pub dropped: i64,
    /// The place of the counts in the series, from 1.
    pub slot: Option<i32>,
    pub allowed: Option<i64>,
    pub denied: Option<i64>,
    pub shadow_denied: Option<i64>,
    pub degraded: Option<i64>,
    pub refunded: Option<i64>,
    pub recorded: Option<i64>,
}

/// Puts the rows into a series of `length` counts, which are 0 where there is no row.
pub(super) fn series(
    rows: &[SlotRow],
    length: usize,
) -> Result<Counted<Vec<TallyCounts>>, StoreError> {
    let Some(first) = rows.first() else {
        return Err(StoreError::corrupt("a series without freshness"));
    };
    let as_of = timestamp(first.as_of);
    let dropped = unsigned(first.dropped);
    let mut counts = vec![TallyCounts::default(); length];
    for row in rows {
        let slot = row.slot.and_then(|slot| usize::try_from(slot - 1).ok());
        if let Some(counts) = slot.and_then(|slot| counts.get_mut(slot)) {
            *counts = row.counts();
        }
    }
    Ok(Counted { counts, as_of, dropped })
}

impl SlotRow {
    fn counts(&self) -> TallyCounts {
        TallyCounts {
            allowed: self.allowed.map_or(0, unsigned),
            denied: self.denied.map_or(0, unsigned),
            shadow_denied: self.shadow_denied.map_or(0, unsigned),
            degraded: self.degraded.map_or(0, unsigned),
            refunded: self.refunded.map_or(0, unsigned),
            recorded: self.recorded.map_or(0, unsigned),
        }
    }
}
