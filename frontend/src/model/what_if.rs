//! Texts for what-if runs.

use weir_wire::simulate::{
    Interval, RecordedNamespace, SimulateAnswer, SimulatedVariant, TRACE_BYTES_MAX, TraceBody,
    TraceFormat,
};

use crate::model::number::{grouped, quantity};

/// The checks to replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceSource {
    /// Checks recorded in the last number of minutes.
    Last(i64),
    /// Checks from a file.
    File,
}

impl TraceSource {
    pub const ALL: [(Self, &str); 5] = [
        (Self::Last(15), "Last 15 minutes"),
        (Self::Last(60), "Last hour"),
        (Self::Last(6 * 60), "Last 6 hours"),
        (Self::Last(24 * 60), "Last 24 hours"),
        (Self::File, "From a file"),
    ];

    /// The source of a run without another choice.
    pub const DEFAULT: Self = Self::Last(60);
}

/// The part of a run that the URL has beside its rule and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTime {
    pub source: TraceSource,
    /// A range selected in the chart, in milliseconds since 1970.
    pub zoomed: Option<(i64, i64)>,
}

impl RunTime {
    /// Reads it from URL parameters; the default for those that are missing or unknown.
    pub fn of(parameter: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name| parameter(name)?.parse::<i64>().ok();
        let known = |minutes| {
            TraceSource::ALL.into_iter().find(|(source, _)| *source == TraceSource::Last(minutes))
        };
        let source =
            number("minutes").and_then(known).map_or(TraceSource::DEFAULT, |(source, _)| source);
        let zoomed = number("from").zip(number("to")).filter(|(from, to)| from < to);
        Self { source, zoomed }
    }

    /// The URL parameters, each after `&`. A file is not in the URL.
    pub fn query(self) -> String {
        let minutes = match self.source {
            TraceSource::Last(minutes) if self.source != TraceSource::DEFAULT => {
                format!("&minutes={minutes}")
            }
            TraceSource::Last(_) => String::new(),
            TraceSource::File => return String::new(),
        };
        let zoomed = self.zoomed.map(|(from, to)| format!("&from={from}&to={to}"));
        minutes + &zoomed.unwrap_or_default()
    }
}

/// Detects the format of a trace: JSON lines or CSV.
pub fn trace(text: String) -> Result<TraceBody, String> {
    if text.len() > TRACE_BYTES_MAX {
        return Err("must be at most 10 MiB".to_owned());
    }
    let json = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with('{');
    let format = if json { TraceFormat::JsonLines } else { TraceFormat::Csv };
    Ok(TraceBody { format, text })
}

/// How much of a namespace's traffic is recorded.
pub fn recorded(recorded: &RecordedNamespace) -> String {
    let (stored, seen) = (grouped(recorded.recorded), grouped(recorded.seen));
    if recorded.rate >= 1.0 {
        format!("{stored} of {seen} checks recorded, for all subjects")
    } else {
        format!(
            "{stored} of {seen} checks recorded: all checks of {} of the subjects",
            percent(recorded.rate)
        )
    }
}

/// The accuracy of a run, as one sentence.
pub fn certainty(answer: &SimulateAnswer) -> String {
    let certainty = &answer.certainty;
    let subjects =
        quantity(usize::try_from(certainty.subjects).unwrap_or(usize::MAX), "subject", "subjects");
    let checks = answer.candidate.allowed + answer.candidate.denied;
    let checks = quantity(usize::try_from(checks).unwrap_or(usize::MAX), "check", "checks");
    if certainty.rate >= 1.0 {
        return format!(
            "{checks} of {subjects}. Every check was replayed, so the results are exact."
        );
    }
    let of = format!(
        "{checks} of {subjects}, a sample of about {} of all subjects with all of their checks.",
        percent(certainty.rate)
    );
    match (certainty.denied_before, certainty.denied_after) {
        (Some(before), Some(after)) => format!(
            "{of} With 95% confidence, {} of all checks are denied now, and {} would be.",
            between(before),
            between(after)
        ),
        _ => of,
    }
}

fn between(interval: Interval) -> String {
    let (low, high) = (percent(interval.low), percent(interval.high));
    if low == high { low } else { format!("{low} to {high}") }
}

/// The checks and subjects that a variant would deny if all subjects had it, and how long an experiment beside the first one needs.
pub fn variant(variant: &SimulatedVariant, all: &[SimulatedVariant]) -> String {
    let SimulatedVariant { name, denied, subjects_denied, needed_s } = variant;
    let [subjects, denied] =
        [subjects_denied, denied].map(|count| usize::try_from(*count).unwrap_or(usize::MAX));
    let denied = format!(
        "{name} for all would deny {} of {}",
        quantity(denied, "check", "checks"),
        quantity(subjects, "subject", "subjects")
    );
    let Some(first) = all.first().filter(|first| first.name != *name) else {
        return format!("{denied}.");
    };
    let first = &first.name;
    match needed_s {
        Some(seconds) => format!(
            "{denied}. At this traffic an experiment needs about {} to distinguish it from {first}.",
            about(*seconds)
        ),
        None => format!(
            "{denied}. That is as many subjects as {first}, so an experiment cannot distinguish them."
        ),
    }
}

/// A time in whole minutes, hours or days, rounded up.
fn about(seconds: u64) -> String {
    let (count, one, many) = match seconds {
        0..7_200 => (seconds.div_ceil(60), "minute", "minutes"),
        7_200..172_800 => (seconds.div_ceil(3_600), "hour", "hours"),
        _ => (seconds.div_ceil(86_400), "day", "days"),
    };
    quantity(usize::try_from(count).unwrap_or(usize::MAX), one, many)
}

/// A percentage, with one decimal below 10 %.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
}

#[cfg(test)]
mod tests {
    use weir_domain::time::Timestamp;
    use weir_wire::simulate::{Certainty, SimulatedSide, SimulatedSubjects};
    use weir_wire::time::DateTime;

    use super::*;

    fn answer(rate: f64) -> SimulateAnswer {
        let side = |denied| SimulatedSide {
            met: 10,
            allowed: 10 - denied,
            denied,
            allowed_series: vec![10 - denied, 0],
            denied_series: vec![denied, 0],
        };
        let interval = |share: f64| Some(Interval { share, low: share - 0.02, high: share + 0.02 });
        let at = DateTime(Timestamp::from_millis(60_000));
        SimulateAnswer {
            from: at,
            to: at,
            start: at,
            step_ms: 30_000,
            warmup_ms: 0,
            warmup_needed_ms: 0,
            present: side(0),
            candidate: side(4),
            subjects: SimulatedSubjects {
                seen: 2,
                more_denied: 1,
                less_denied: 0,
                data: Vec::new(),
            },
            certainty: Certainty {
                rate,
                subjects: 2,
                checks: 10,
                denied_before: interval(0.03),
                denied_after: interval(0.4),
                change: None,
                method: String::new(),
            },
            variants: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn variants_say_how_long_an_experiment_needs() {
        let of = |name: &str, subjects_denied, needed_s| SimulatedVariant {
            name: name.to_owned(),
            denied: 1_200,
            subjects_denied,
            needed_s,
        };
        let all = [of("a", 1, None), of("b", 20, Some(200_000)), of("c", 1, None)];
        let texts = all.each_ref().map(|one| variant(one, &all));
        assert_eq!(texts[0], "a for all would deny 1,200 checks of 1 subject.");
        assert!(texts[1].ends_with("an experiment needs about 3 days to distinguish it from a."));
        assert!(texts[2].ends_with("an experiment cannot distinguish them."));
        assert_eq!([60, 7_200].map(about), ["1 minute", "2 hours"]);
    }

    #[test]
    fn accuracy_is_one_sentence_with_bounds_for_a_sample() {
        assert_eq!(
            certainty(&answer(1.0)),
            "10 checks of 2 subjects. Every check was replayed, so the results are exact."
        );
        assert_eq!(
            certainty(&answer(0.25)),
            "10 checks of 2 subjects, a sample of about 25% of all subjects with all of their checks. \
             With 95% confidence, 1.0% to 5.0% of all checks are denied now, and 38% to 42% would be."
        );
    }

    #[test]
    fn the_time_of_a_run_is_in_the_url() {
        let read = |query: &str| {
            let pairs: Vec<_> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
            RunTime::of(|name| {
                let pair = pairs.iter().find(|(one, _)| *one == name);
                pair.map(|(_, value)| (*value).to_owned())
            })
        };
        let default = RunTime { source: TraceSource::Last(60), zoomed: None };
        assert_eq!((default.query().as_str(), read("")), ("", default));
        let day = RunTime { source: TraceSource::Last(1440), zoomed: Some((1_000, 2_000)) };
        assert_eq!(day.query(), "&minutes=1440&from=1000&to=2000");
        assert_eq!(read(&day.query()), day);
        assert_eq!(read("minutes=7&from=2&to=1"), default, "what no page writes");
        assert_eq!(RunTime { source: TraceSource::File, ..day }.query(), "");
    }

    #[test]
    fn trace_formats_are_detected() {
        let format = |text: &str| trace(text.to_owned()).map(|trace| trace.format);
        assert_eq!(format("time,user\n"), Ok(TraceFormat::Csv));
        assert_eq!(format("\u{feff}\n {\"time\": 1}"), Ok(TraceFormat::JsonLines));
        assert!(trace("x".repeat(TRACE_BYTES_MAX + 1)).is_err());
    }
}
