//! The tables of `scale`.

use std::fmt::Write as _;

use hdrhistogram::Histogram;

use super::found::Found;
use crate::numbers::float;
use crate::steady::SteadyRun;
use crate::usage;

/// The printed line of one amount of data.
pub fn line(found: &Found) -> String {
    format!(
        "   {}: starts in {:.0} ms, {:.0} MiB, {:.0} MiB at the most; a change after p50 {:.1} ms, p99 {:.1} ms; \
         readers at the most {:.1} ms, without changes {:.1} ms{}",
        found.title,
        found.start.as_secs_f64() * 1_000.0,
        mebibytes(found.resident.now_bytes),
        mebibytes(found.resident.peak_bytes),
        quantile(&found.applied_ms, 0.5),
        quantile(&found.applied_ms, 0.99),
        most(&found.changing.latencies),
        most(&found.quiet.latencies),
        invalidated(found),
    )
}

pub fn table(all: &[Found], per_second: u32) -> String {
    let mut text = format!(
        "{}; {per_second} checks a second meanwhile. Times of changes and of readers in ms.\n\n\
         | | start | memory | at the most | change served, p50 | p99 | with the control plane's part, p50 | p99 | \
         readers without changes: p50, p99.9, most | with changes |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        usage::machine()
    );
    for found in all {
        let _ = writeln!(
            text,
            "| {}{} | {:.2} s | {:.0} MiB | {:.0} MiB | {:.1} | {:.1} | {:.1} | {:.1} | {} | {} |",
            found.title,
            invalidated(found),
            found.start.as_secs_f64(),
            mebibytes(found.resident.now_bytes),
            mebibytes(found.resident.peak_bytes),
            quantile(&found.applied_ms, 0.5),
            quantile(&found.applied_ms, 0.99),
            quantile(&found.whole_ms, 0.5),
            quantile(&found.whole_ms, 0.99),
            readers(&found.quiet),
            readers(&found.changing),
        );
    }
    text
}

fn invalidated(found: &Found) -> String {
    let wrong = |run: &SteadyRun| run.unexpected + run.unanswered;
    match wrong(&found.quiet) + wrong(&found.changing) {
        0 => String::new(),
        wrong => format!(" (invalidated: {wrong} wrong or missing answers)"),
    }
}

fn readers(run: &SteadyRun) -> String {
    let at = |quantile| float(run.latencies.value_at_quantile(quantile)) / 1_000.0;
    format!("{:.2}, {:.2}, {:.2}", at(0.5), at(0.999), most(&run.latencies))
}

fn most(latencies: &Histogram<u64>) -> f64 {
    float(latencies.max()) / 1_000.0
}

fn mebibytes(bytes: u64) -> f64 {
    float(bytes) / (1024.0 * 1024.0)
}

/// The value that this share of the values does not exceed.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let below = |nth: usize| float(nth as u64) < share * float(values.len() as u64);
    let at = (1..values.len()).find(|nth| !below(*nth)).unwrap_or(values.len());
    values.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn a_quantile_is_a_value_that_was_seen() {
        let values: Vec<f64> = (1..=50).map(f64::from).collect();
        let shown = |values: &[f64], share| format!("{:.0}", quantile(values, share));
        assert_eq!([0.5, 0.98, 0.99].map(|share| shown(&values, share)), ["25", "49", "50"]);
        assert_eq!((shown(&[], 0.5), shown(&[7.0], 0.99)), ("0".to_owned(), "7".to_owned()));
    }
}
