//! Schedules: the times at which a rule applies.

use crate::draft::{RuleDraft, ScheduleDraft};
use crate::names::InvalidField;
use crate::time::Timestamp;

/// The most entries of `weekly`.
pub const WEEKLY_MAX: usize = 50;
const DAY_MINUTES: u16 = 24 * 60;
const WEEK_MINUTES: u16 = 7 * DAY_MINUTES;
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const FORM: &str = "must be days and hours such as `Mon-Fri 08:00-18:00`, `Sat,Sun 00:00-24:00` or `Fri 22:00-06:00`";

/// A checked schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schedule {
    draft: ScheduleDraft,
    #[cfg(feature = "calendar")]
    zone: jiff::tz::TimeZone,
    /// The minutes of the week, from Monday, in which the rule applies, in order. Empty: in all.
    #[cfg(feature = "calendar")]
    spans: Box<[Span]>,
}

/// Minutes of the week from the first to before the last.
type Span = (u16, u16);

impl Schedule {
    pub(super) fn parse(draft: &RuleDraft, wrong: &mut Vec<InvalidField>) -> Option<Self> {
        let draft = draft.active.as_ref()?;
        let before = wrong.len();
        let mut refuse = |field: String, reason: String| {
            wrong.push(InvalidField::new(field, reason));
        };
        let is_empty = draft.weekly.is_empty() && draft.from.is_none() && draft.until.is_none();
        if is_empty {
            refuse("active".to_owned(), "must have `weekly`, `from` or `until`".to_owned());
        }
        if draft.weekly.len() > WEEKLY_MAX {
            refuse("active.weekly".to_owned(), format!("must hold at most {WEEKLY_MAX} entries"));
        }
        if draft.from.zip(draft.until).is_some_and(|(from, until)| until <= from) {
            refuse("active.until".to_owned(), "must be later than `from`".to_owned());
        }
        if draft.zone.is_none() && !draft.weekly.is_empty() {
            refuse("active.zone".to_owned(), "must be given with `weekly`".to_owned());
        }
        let mut spans: Vec<Span> = Vec::new();
        for (at, entry) in draft.weekly.iter().enumerate() {
            let field = format!("active.weekly[{at}]");
            match spans_of(entry) {
                None => refuse(field, FORM.to_owned()),
                Some(own) if own.iter().any(|span| overlaps(&spans, *span)) => {
                    refuse(field, "must not overlap another entry".to_owned());
                }
                Some(own) => spans.extend(own),
            }
        }
        spans.sort_unstable();
        #[cfg(feature = "calendar")]
        let zone = match crate::algorithm::time_zone(draft.zone.as_deref().unwrap_or("UTC")) {
            Ok(zone) => zone,
            Err(invalid) => {
                refuse("active.zone".to_owned(), invalid.reason);
                return None;
            }
        };
        (wrong.len() == before).then(|| Self {
            draft: draft.clone(),
            #[cfg(feature = "calendar")]
            zone,
            #[cfg(feature = "calendar")]
            spans: spans.into(),
        })
    }

    /// Whether the rule applies at this time.
    #[cfg(feature = "calendar")]
    pub(crate) fn is_active(&self, now: Timestamp) -> bool {
        let begun = self.draft.from.is_none_or(|from| from <= now);
        let over = self.draft.until.is_some_and(|until| until <= now);
        begun && !over && (self.spans.is_empty() || self.holds(self.minute_of_week(now)))
    }

    /// The dashboard matches no requests, and has no time zones.
    #[cfg(not(feature = "calendar"))]
    pub(crate) fn is_active(&self, now: Timestamp) -> bool {
        let begun = self.draft.from.is_none_or(|from| from <= now);
        begun && self.draft.until.is_none_or(|until| now < until)
    }

    #[cfg(feature = "calendar")]
    fn holds(&self, minute: u16) -> bool {
        let next = self.spans.partition_point(|(start, _)| *start <= minute);
        next.checked_sub(1).is_some_and(|at| minute < self.spans[at].1)
    }

    /// The minute of the week by the clocks of the zone.
    #[cfg(feature = "calendar")]
    fn minute_of_week(&self, now: Timestamp) -> u16 {
        let instant = jiff::Timestamp::from_millisecond(now.as_millis());
        let local = self.zone.to_datetime(instant.unwrap_or(jiff::Timestamp::MAX));
        let part = |number: i8| u16::try_from(number).unwrap_or(0);
        let day = part(local.weekday().to_monday_zero_offset());
        day * DAY_MINUTES + part(local.hour()) * 60 + part(local.minute())
    }

    pub(crate) fn draft(&self) -> &ScheduleDraft {
        &self.draft
    }
}

/// The minutes of the week, from Monday, that the entries of `weekly` name, in order. `None` if one cannot be read or overlaps.
pub fn week_spans(weekly: &[String]) -> Option<Vec<(u16, u16)>> {
    let mut spans: Vec<Span> = Vec::new();
    for entry in weekly {
        let own = spans_of(entry)?;
        if own.iter().any(|span| overlaps(&spans, *span)) {
            return None;
        }
        spans.extend(own);
    }
    spans.sort_unstable();
    Some(spans)
}

/// The spans of an entry. Hours that end at or before their start end on the next day.
fn spans_of(entry: &str) -> Option<Vec<Span>> {
    let (days, hours) = entry.split_once(' ')?;
    let (start, end) = hours.split_once('-')?;
    let (start, end) = (minute(start)?, minute(end)?);
    if start == DAY_MINUTES || start == end {
        return None;
    }
    let end = if end < start { end + DAY_MINUTES } else { end };
    let mut spans = Vec::new();
    for days in days.split(',') {
        let (first, last) = days.split_once('-').unwrap_or((days, days));
        let (first, last) = (day(first)?, day(last)?);
        let count = (last + 7 - first) % 7 + 1;
        for number in 0..count {
            let midnight = (first + number) % 7 * DAY_MINUTES;
            let (from, until) = (midnight + start, midnight + end);
            let parts = [(from, until.min(WEEK_MINUTES)), (0, until.saturating_sub(WEEK_MINUTES))];
            for part in parts.into_iter().filter(|(from, until)| from < until) {
                if overlaps(&spans, part) {
                    return None;
                }
                spans.push(part);
            }
        }
    }
    Some(spans)
}

/// The number of a weekday from Monday.
fn day(name: &str) -> Option<u16> {
    let at = DAYS.iter().position(|day| *day == name)?;
    u16::try_from(at).ok()
}

/// The minute of the day of `HH:MM`, to `24:00`.
fn minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { text.parse::<u16>().ok() } else { None }
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let minute = hours * 60 + minutes;
    (minutes < 60 && minute <= DAY_MINUTES).then_some(minute)
}

fn overlaps(spans: &[Span], (from, until): Span) -> bool {
    spans.iter().any(|(other_from, other_until)| from < *other_until && *other_from < until)
}
