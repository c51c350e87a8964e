//! The expiry of a key or an override, as chosen in a form.

use weir_domain::time::Timestamp;
use weir_wire::time::DateTime;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// The existing expiry.
    AsItIs(DateTime),
    Never,
    AfterDays(u16),
    /// The end of an entered day.
    On,
}

impl Expiry {
    /// The choices with their labels.
    pub fn choices() -> Vec<(Self, String)> {
        let in_days = |days| (Self::AfterDays(days), format!("In {days} days"));
        let never = (Self::Never, "Never".to_owned());
        let on = (Self::On, "On a date".to_owned());
        vec![never, in_days(30), in_days(90), in_days(365), on]
    }

    /// The time of the choice; `day_end_ms` is the end of the entered day, if it is valid.
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

/// How long the old secret can stay valid after a rotation, in seconds, with labels.
pub fn overlaps() -> Vec<(u32, String)> {
    let overlap = |seconds, called: &str| (seconds, called.to_owned());
    vec![
        overlap(0, "Revoke immediately"),
        overlap(3_600, "Keep for 1 hour"),
        overlap(86_400, "Keep for 24 hours"),
        overlap(7 * 86_400, "Keep for 7 days"),
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
