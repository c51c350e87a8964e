//! The share of denied checks in a window: the checks that are counted, and whether the share is reached. Alerts and their
//! back-tests use it.

use weir_domain::alert::{Condition, Watched, share_reached};
use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;
use weir_store::{TallyCounts, TallyFilter};

pub(super) const MINUTE_MS: i64 = 60_000;

/// A condition of kind `denial_share`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DenialShare<'a> {
    of: &'a Watched,
    pub(super) share_percent: u8,
    pub(super) window_s: u32,
    checks_min: u64,
}

/// The checks of a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Checks {
    pub(super) denied: u64,
    /// All checks, the denied ones included.
    pub(super) all: u64,
}

impl Checks {
    /// The sum of both.
    pub(super) fn plus(self, others: Self) -> Self {
        Self { denied: self.denied + others.denied, all: self.all + others.all }
    }

    /// These without `others`, which are a part of them.
    pub(super) fn less(self, others: Self) -> Self {
        Self { denied: self.denied - others.denied, all: self.all - others.all }
    }

    /// The share of denied checks, in percent; 0 of none.
    pub(super) fn denied_percent(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
        let denied = self.denied as f64;
        #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
        let all = self.all.max(1) as f64;
        denied * 100.0 / all
    }
}

impl<'a> DenialShare<'a> {
    /// The condition, if it is of this kind.
    pub(crate) fn of(condition: &'a Condition) -> Option<Self> {
        match condition {
            Condition::Quota { .. } => None,
            Condition::DenialShare { of, share_percent, window_s, checks_min } => Some(Self {
                of,
                share_percent: *share_percent,
                window_s: *window_s,
                checks_min: *checks_min,
            }),
        }
    }

    /// The checks that are watched.
    pub(super) fn filter(&self, tenant_id: TenantId) -> TallyFilter {
        let (rule_id, namespaces) = match self.of {
            Watched::Everything => (None, None),
            Watched::Namespace(name) => (None, Some(vec![name.clone()])),
            Watched::Rule(id) => (Some(*id), None),
        };
        TallyFilter { tenant_id, rule_id, namespaces, region: None }
    }

    /// The start and the end of the window of an evaluation. The part of the present minute that is over is added to the
    /// whole minutes before it.
    pub(crate) fn window(&self, now: Timestamp) -> (Timestamp, Timestamp) {
        let minute_ms = now.as_millis().div_euclid(MINUTE_MS) * MINUTE_MS;
        let from = Timestamp::from_millis(minute_ms - self.window_ms());
        (from, Timestamp::from_millis(minute_ms + MINUTE_MS))
    }

    /// The checks of these counts.
    pub(super) fn checks(&self, counts: &TallyCounts) -> Checks {
        // A shadow rule refuses nothing, so the checks that it would have refused count as denied. In the totals of all rules
        // they are part of the allowed checks.
        let shadow = if matches!(self.of, Watched::Rule(_)) { counts.shadow_denied } else { 0 };
        let denied = counts.denied + shadow;
        Checks { denied, all: counts.allowed + denied }
    }

    /// Whether there are enough checks for a share.
    pub(super) fn has_share(&self, checks: Checks) -> bool {
        checks.all >= self.checks_min.max(1)
    }

    /// Whether the share is reached by the checks of a window.
    pub(super) fn is_reached(&self, checks: Checks) -> bool {
        share_reached(self.share_percent, self.checks_min, checks.denied, checks.all)
    }

    /// The time from which the share can be announced again.
    pub(super) fn silent_until(&self, announced_at: Timestamp) -> Timestamp {
        announced_at.plus_ms(self.window_ms())
    }

    fn window_ms(&self) -> i64 {
        i64::from(self.window_s) * 1000
    }
}
