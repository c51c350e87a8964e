//! Evaluates a share of denied checks over stored minutes, as [`watch`](super::watch) evaluates it while they pass.
//!
//! An alert is evaluated every 30 seconds, with the part of the minute that is over. A back-test evaluates each minute once,
//! with all its checks, and counts times by the start of the minute. Nothing was announced before its first minute.

use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;
use weir_store::{Counted, Resolution, TallyCounts, Tx};

use crate::alerting::denial_share::{Checks, DenialShare, MINUTE_MS};
use crate::error::ControlError;

/// The time of a back-test: whole minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BacktestTime {
    /// The start of the first minute.
    pub(crate) from: Timestamp,
    /// The end of the last minute.
    pub(crate) to: Timestamp,
}

/// The result of a back-test.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Backtest {
    /// All firings, oldest first.
    pub(crate) firings: Vec<Firing>,
    /// The share of each minute's window, in percent. `None` where the window has too few checks.
    pub(crate) shares_percent: Vec<Option<f64>>,
    /// The time up to which every gate has reported its decisions.
    pub(crate) as_of: Timestamp,
    /// The number of decisions that gates could not record.
    pub(crate) dropped: u64,
}

/// A firing. It lasts while the share is reached, and continues if the share is reached again before it can be announced again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Firing {
    /// The start of the first minute in which the share is reached.
    pub(crate) from: Timestamp,
    /// The end of the last such minute.
    pub(crate) to: Timestamp,
    /// The number of announcements.
    pub(crate) messages: u64,
    /// The highest share, in percent.
    pub(crate) highest_percent: f64,
    /// The denied checks of the window with the highest share.
    pub(crate) denied: u64,
    /// All checks of that window.
    pub(crate) checks: u64,
}

/// Evaluates the share in each minute of the time.
pub(crate) async fn backtest(
    tx: &mut Tx,
    tenant_id: TenantId,
    share: DenialShare<'_>,
    time: BacktestTime,
) -> Result<Backtest, ControlError> {
    let (first, _) = share.window(time.from);
    let minutes = (time.to.as_millis() - first.as_millis()) / MINUTE_MS;
    let bounds: Vec<Timestamp> = (0..=minutes).map(|at| first.plus_ms(at * MINUTE_MS)).collect();
    let filter = share.filter(tenant_id);
    let counted = tx.tallies().series(&filter, &bounds, Resolution::Minute).await?;
    Ok(evaluate(share, time, &bounds, &counted))
}

/// The result for the counts between each two neighbours of `bounds`.
fn evaluate(
    share: DenialShare<'_>,
    time: BacktestTime,
    bounds: &[Timestamp],
    counted: &Counted<Vec<TallyCounts>>,
) -> Backtest {
    let sums = sums(share, &counted.counts);
    let position = |at: Timestamp| bounds.partition_point(|bound| *bound < at);
    let mut firings: Vec<Firing> = Vec::new();
    let mut shares_percent = Vec::new();
    let mut silent_until = time.from;
    for &minute in bounds.iter().filter(|at| (time.from..time.to).contains(*at)) {
        let (start, end) = share.window(minute);
        let checks = sums[position(end)].less(sums[position(start)]);
        shares_percent.push(share.has_share(checks).then(|| checks.denied_percent()));
        if !share.is_reached(checks) {
            continue;
        }
        let announced = minute >= silent_until;
        if announced {
            silent_until = share.silent_until(minute);
        }
        match firings.last_mut().filter(|last| !announced || last.to == minute) {
            Some(last) => last.extend(minute, checks, announced),
            None => firings.push(Firing::begin(minute, checks)),
        }
    }
    Backtest { firings, shares_percent, as_of: counted.as_of, dropped: counted.dropped }
}

/// The checks before each bound, from the first bound on.
fn sums(share: DenialShare<'_>, counts: &[TallyCounts]) -> Vec<Checks> {
    let mut sum = Checks::default();
    let mut sums = vec![sum];
    for counts in counts {
        sum = sum.plus(share.checks(counts));
        sums.push(sum);
    }
    sums
}

impl Firing {
    fn begin(minute: Timestamp, checks: Checks) -> Self {
        Self {
            from: minute,
            to: minute.plus_ms(MINUTE_MS),
            messages: 1,
            highest_percent: checks.denied_percent(),
            denied: checks.denied,
            checks: checks.all,
        }
    }

    fn extend(&mut self, minute: Timestamp, checks: Checks, announced: bool) {
        self.to = minute.plus_ms(MINUTE_MS);
        self.messages += u64::from(announced);
        let percent = checks.denied_percent();
        if percent > self.highest_percent {
            self.highest_percent = percent;
            (self.denied, self.checks) = (checks.denied, checks.all);
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_domain::alert::{Condition, Watched};

    use super::*;

    /// Runs minutes of (allowed, denied) checks against 50 % of at least ten checks. The first minutes, as many as a window
    /// has, precede the back-test.
    fn run(window_s: u32, minutes: &[(u64, u64)]) -> Backtest {
        let condition = Condition::DenialShare {
            of: Watched::Everything,
            share_percent: 50,
            window_s,
            checks_min: 10,
        };
        let share = DenialShare::of(&condition).expect("a share");
        let at =
            |minute: usize| Timestamp::from_millis(i64::try_from(minute).expect("few") * MINUTE_MS);
        let counts = |&(allowed, denied): &(u64, u64)| TallyCounts {
            allowed,
            denied,
            ..TallyCounts::default()
        };
        let counted = Counted {
            counts: minutes.iter().map(counts).collect(),
            as_of: at(minutes.len()),
            dropped: 0,
        };
        let bounds: Vec<Timestamp> = (0..=minutes.len()).map(at).collect();
        let from = Timestamp::from_millis(i64::from(window_s) * 1000);
        let time = BacktestTime { from, to: at(minutes.len()) };
        evaluate(share, time, &bounds, &counted)
    }

    fn minutes(firing: &Firing) -> (i64, i64, u64) {
        (firing.from.as_millis() / MINUTE_MS, firing.to.as_millis() / MINUTE_MS, firing.messages)
    }

    #[test]
    fn firing_lasts_while_the_window_reaches_the_share_and_is_announced_once_per_window() {
        let quiet = (10, 0);
        let found = run(120, &[quiet, quiet, (0, 100), quiet, quiet, quiet, quiet, quiet, (0, 40)]);
        assert_eq!(found.firings.iter().map(minutes).collect::<Vec<_>>(), [(2, 5, 2), (8, 9, 1)]);
        assert_eq!((found.firings[0].denied, found.firings[0].checks), (100, 120));
        assert_eq!(found.shares_percent.len(), 7);
        assert_eq!(found.shares_percent[3], Some(0.0));
    }

    #[test]
    fn share_that_is_reached_again_too_early_for_a_message_continues_the_firing() {
        let none = (0, 0);
        // The windows have 10 denied of 20 checks, 10 of 30, and 20 of 40.
        let found = run(180, &[none, none, none, (10, 10), (10, 0), (0, 10)]);
        assert_eq!(found.firings.iter().map(minutes).collect::<Vec<_>>(), [(3, 6, 1)]);
    }

    #[test]
    fn too_few_checks_have_no_share() {
        let found = run(120, &[(0, 0), (0, 0), (0, 9), (0, 0)]);
        assert_eq!((found.firings.len(), found.shares_percent), (0, vec![None, None]));
    }
}
