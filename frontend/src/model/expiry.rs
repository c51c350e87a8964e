//! When a key or an override shall end, as somebody chooses it.

use weir_domain::time::Timestamp;
use weir_wire::time::DateTime;

/// What can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// The end that is there.
    AsItIs(DateTime),
    Never,
    AfterDays(u16),
    /// At the end of a day that is typed.
    On,
}

impl Expiry {
    /// The choices with what they are called.
    pub fn choices() -> Vec<(Self, String)> {
        let in_days = |days| (Self::AfterDays(days), format!("in {days} days"));
        let never = (Self::Never, "never".to_owned());
        let on = (Self::On, "at the end of a day".to_owned());
        vec![never, in_days(30), in_days(90), in_days(365), on]
    }

    /// The time it stands for; `day_end_ms` is the end of the typed day, if that is one.
    pub fn at(
        self,
        now_ms: i64,
        day_end_ms: Option<i64>,
    ) -> Result<Option<DateTime>, &'static str> {
        let at_ms = match self {
            Self::Never => return Ok(None),
            Self::AsItIs(at) => at.0.as_millis(),
            Self::AfterDays(days) => now_ms.saturating_add(i64::from(days) * DAY_MS),
            Self::On => day_end_ms.ok_or("must be a day")?,
        };
        if at_ms <= now_ms {
            return Err("must be in the future");
        }
        Ok(Some(DateTime(Timestamp::from_millis(at_ms))))
    }
}

/// How long the secret before a rotation may go on, in seconds, with what that is called.
pub fn overlaps() -> Vec<(u32, String)> {
    let overlap = |seconds, called: &str| (seconds, called.to_owned());
    vec![
        overlap(0, "not at all: it ends at once"),
        overlap(3_600, "for 1 hour"),
        overlap(86_400, "for 24 hours"),
        overlap(7 * 86_400, "for 7 days"),
    ]
}

const DAY_MS: i64 = 86_400_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_become_times() {
        let at = |expiry: Expiry, day_end_ms| {
            expiry.at(1_000, day_end_ms).map(|at| at.map(|at| at.0.as_millis()))
        };
        assert_eq!(at(Expiry::Never, None), Ok(None));
        let set = |at_ms| Expiry::AsItIs(DateTime(Timestamp::from_millis(at_ms)));
        assert_eq!(at(set(2_000), None), Ok(Some(2_000)));
        assert_eq!(at(set(1_000), None), Err("must be in the future"));
        assert_eq!(at(Expiry::AfterDays(30), None), Ok(Some(30 * DAY_MS + 1_000)));
        assert_eq!(at(Expiry::On, Some(2_000)), Ok(Some(2_000)));
        assert_eq!(at(Expiry::On, None), Err("must be a day"));
        assert_eq!(at(Expiry::On, Some(1_000)), Err("must be in the future"));
    }
}
