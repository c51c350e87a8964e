//! Budgets counted by this process: fixed windows, bounded in number.

use std::collections::{HashMap, VecDeque};

use weir_domain::time::Timestamp;
use weir_redis::attempts::Budget;

/// Counts of attempts. The oldest windows are evicted beyond the bound.
#[derive(Debug)]
pub(crate) struct Windows {
    by_name: HashMap<[u8; 16], Window>,
    /// The budgets in the order in which their windows began.
    begun: VecDeque<([u8; 16], Timestamp)>,
    entries_max: usize,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    begun: Timestamp,
    count: u32,
}

impl Windows {
    pub(crate) fn new(entries_max: usize) -> Self {
        Self { by_name: HashMap::new(), begun: VecDeque::new(), entries_max }
    }

    /// Charges one attempt to each budget. If one is exhausted, charges none and returns the milliseconds to wait.
    pub(crate) fn admit(
        &mut self,
        budgets: &[Budget],
        now: Timestamp,
        window_ms: i64,
    ) -> Result<(), i64> {
        let wait_ms = |budget: &Budget| {
            let window = self.by_name.get(&budget.name)?;
            let left_ms = window.left_ms(now, window_ms);
            (left_ms > 0 && window.count >= budget.attempts_max).then_some(left_ms)
        };
        match budgets.iter().filter_map(wait_ms).max() {
            Some(wait_ms) => Err(wait_ms),
            None => {
                for budget in budgets {
                    self.charge(budget.name, now, window_ms);
                }
                Ok(())
            }
        }
    }

    /// Takes one attempt back from each budget.
    pub(crate) fn refund(&mut self, budgets: &[Budget]) {
        for budget in budgets {
            if let Some(window) = self.by_name.get_mut(&budget.name) {
                window.count = window.count.saturating_sub(1);
            }
        }
    }

    fn charge(&mut self, name: [u8; 16], now: Timestamp, window_ms: i64) {
        match self.by_name.get_mut(&name) {
            Some(window) if window.left_ms(now, window_ms) > 0 => window.count += 1,
            _ => {
                while self.begun.len() >= self.entries_max {
                    self.evict_oldest();
                }
                self.begun.push_back((name, now));
                self.by_name.insert(name, Window { begun: now, count: 1 });
            }
        }
    }

    fn evict_oldest(&mut self) {
        let Some((name, begun)) = self.begun.pop_front() else { return };
        // A budget whose window began again has a later entry.
        if self.by_name.get(&name).is_some_and(|window| window.begun == begun) {
            self.by_name.remove(&name);
        }
    }
}

impl Window {
    fn left_ms(&self, now: Timestamp, window_ms: i64) -> i64 {
        let left_ms = self.begun.as_millis() + window_ms - now.as_millis();
        // A window that is far ahead began before the clock was set back.
        if left_ms > 2 * window_ms { 0 } else { left_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);
    const MINUTE_MS: i64 = 60_000;

    fn budget(name: u32) -> Budget {
        Budget { name: u128::from(name).to_be_bytes(), attempts_max: 2 }
    }

    #[test]
    fn a_spent_budget_waits_out_its_window_and_charges_no_other() {
        let mut windows = Windows::new(10);
        let both = [budget(1), budget(2)];
        for _ in 0..2 {
            assert_eq!(windows.admit(&both, NOW, MINUTE_MS), Ok(()));
        }
        let mixed = [budget(1), budget(3)];
        assert_eq!(windows.admit(&mixed, NOW.plus_ms(20_000), MINUTE_MS), Err(40_000));
        for _ in 0..2 {
            assert_eq!(windows.admit(&[budget(3)], NOW, MINUTE_MS), Ok(()));
        }
        windows.refund(&both);
        assert_eq!(windows.admit(&both, NOW, MINUTE_MS), Ok(()));
        assert_eq!(windows.admit(&both, NOW.plus_ms(MINUTE_MS), MINUTE_MS), Ok(()));
    }

    #[test]
    fn a_flood_of_names_evicts_the_oldest_and_never_the_whole_table() {
        let mut windows = Windows::new(1_000);
        for name in 0..2_500 {
            assert_eq!(windows.admit(&[budget(name)], NOW, MINUTE_MS), Ok(()));
        }
        assert_eq!(windows.by_name.len(), 1_000);
        assert_eq!(windows.begun.len(), 1_000);
        assert_eq!(windows.admit(&[budget(2_499)], NOW, MINUTE_MS), Ok(()));
        assert!(windows.admit(&[budget(2_499)], NOW, MINUTE_MS).is_err(), "still counted");
    }
}
