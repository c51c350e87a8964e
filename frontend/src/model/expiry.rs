//! The expiry of a key or an override, as chosen in a form.

use weir_domain::time::Timestamp;
use weir_wire::time::DateTime;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// The existing expiry.
    AsItIs(DateTime),
    Never,
    AfterHours(u16),
    /// The end of an entered day.
    On,
}

impl Expiry {
    /// The choices with their labels.
    pub fn choices() -> Vec<(Self, String)> {
        let choice = |(hours, text): (u16, &str)| (Self::AfterHours(hours), format!("In {text}"));
        let times = [
            (1, "1 hour"),
            (4, "4 hours"),
            (24, "24 hours"),
            (7 * 24, "7 days"),
            (30 * 24, "30 days"),
            (90 * 24, "90 days"),
            (365 * 24, "365 days"),
        ];
        let (never, on) = ((Self::Never, "Never"), (Self::On, "On a date"));
        let [never, on] = [never, on].map(|(expiry, text)| (expiry, text.to_owned()));
        [never].into_iter().chain(times.map(choice)).chain([on]).collect()
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
            Self::AfterHours(hours) => now_ms.saturating_add(i64::from(hours) * HOUR_MS),
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

const HOUR_MS: i64 = 3_600_000;

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
        assert_eq!(at(Expiry::AfterHours(4), None), Ok(Some(4 * HOUR_MS + 1_000)));
        assert_eq!(at(Expiry::On, Some(2_000)), Ok(Some(2_000)));
        assert_eq!(at(Expiry::On, None), Err("must be a day"));
        assert_eq!(at(Expiry::On, Some(1_000)), Err("must be in the future"));
    }
}
