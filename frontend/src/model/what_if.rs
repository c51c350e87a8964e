//! Texts for what-if runs.

use weir_wire::simulate::{
    Interval, RecordedNamespace, SimulateAnswer, TRACE_BYTES_MAX, TraceBody, TraceFormat,
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
            warnings: Vec::new(),
        }
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
    fn trace_formats_are_detected() {
        let format = |text: &str| trace(text.to_owned()).map(|trace| trace.format);
        assert_eq!(format("time,user\n"), Ok(TraceFormat::Csv));
        assert_eq!(format("\u{feff}\n {\"time\": 1}"), Ok(TraceFormat::JsonLines));
        assert!(trace("x".repeat(TRACE_BYTES_MAX + 1)).is_err());
    }
}
