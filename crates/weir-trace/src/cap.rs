//! The number of traces that are continued in each second.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Admits up to a number of traces in each second, counted from the first of them.
#[derive(Debug)]
pub(crate) struct Cap {
    per_second: u32,
    second: Mutex<Option<Second>>,
}

#[derive(Debug, Clone, Copy)]
struct Second {
    began: Instant,
    admitted: u32,
}

impl Cap {
    pub(crate) fn new(per_second: u32) -> Self {
        Self { per_second, second: Mutex::new(None) }
    }

    /// Whether another trace can be continued at `now`.
    pub(crate) fn admits(&self, now: Instant) -> bool {
        let mut second = self.second.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current =
            |second: &Second| now.duration_since(second.began) < Duration::from_secs(1);
        let current = second.filter(is_current).unwrap_or(Second { began: now, admitted: 0 });
        let admits = current.admitted < self.per_second;
        *second = Some(Second { admitted: current.admitted + u32::from(admits), ..current });
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_admits_the_same_number() {
        let (cap, start) = (Cap::new(2), Instant::now());
        let admitted = |at_ms: &u64| cap.admits(start + Duration::from_millis(*at_ms));
        let admitted: Vec<u64> =
            [0, 1, 2, 999, 1_000, 1_001, 1_002, 3_500].into_iter().filter(admitted).collect();
        assert_eq!(admitted, [0, 1, 1_000, 1_001, 3_500]);
    }
}
