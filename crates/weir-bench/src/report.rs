//! The tables in Markdown, and their positions in a page.

mod findings;
mod latency;
mod targets;

use std::fmt::Write as _;

use crate::numbers::{Thousands, float};
use crate::turns::{Paced, Turn};
use crate::usage;
use crate::variants::{Kind, LABELS, THROTTLECRAB, Variant};
use findings::Summary;

pub use findings::Findings;

/// The printed line of one turn.
pub fn line(turn: &Turn) -> String {
    let checks = float(turn.run.requests.max(1));
    let each = |total: u64| float(total) / checks;
    let invalidated =
        turn.invalidated.as_ref().map_or(String::new(), |why| format!("  INVALIDATED: {why}"));
    format!(
        "({}) {:>3} connections {:>9}/s  service {:5.1} µs  Redis {:5.1} µs  in scripts {:4.1} µs  \
         {:.2} calls{invalidated}",
        turn.variant,
        turn.connections,
        Thousands(turn.run.per_second).to_string(),
        each(turn.usage.service_us),
        each(turn.usage.redis_us),
        each(turn.usage.script_us),
        each(turn.usage.calls),
    )
}

/// The printed line of one paced turn.
pub fn paced_line(paced: &Paced) -> String {
    let invalidated =
        paced.invalidated.as_ref().map_or(String::new(), |why| format!("  INVALIDATED: {why}"));
    format!(
        "({}) at {:>2} %: {:>7}/s  p50 {:.2} ms  p99 {:.2} ms  most {:.2} ms{invalidated}",
        paced.variant,
        paced.percent,
        Thousands(paced.per_second).to_string(),
        paced.p50_ms,
        paced.p99_ms,
        paced.most_ms,
    )
}

/// All tables, for the page.
pub fn tables(findings: &Findings<'_>) -> String {
    let rounds = findings.turns.iter().filter(|turn| Some(turn.variant) == first_variant(findings));
    let rounds = rounds.filter(|turn| turn.connections == 64).count();
    let mut text = format!(
        "{}; {rounds} rounds of {} s each after a warm-up of 2 s; median, and in brackets the \
         least and the most.\n",
        usage::machine(),
        findings.seconds
    );
    for connections in findings.connections() {
        text.push_str(&closed(findings, connections));
    }
    text.push_str(&latency::table(findings));
    text.push_str(&targets::table(findings));
    text
}

fn first_variant(findings: &Findings<'_>) -> Option<&'static str> {
    findings.variants.first().map(|variant| variant.label)
}

fn closed(findings: &Findings<'_>, connections: u16) -> String {
    let mut text = format!(
        "\n**Closed loop, {connections} connection{}**\n\n\
         | | variant | checks/s | of (a) | of (b) | service µs/check | Redis µs/check | of it in \
         scripts | Redis calls/check |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | \
         ---: |\n",
        if connections == 1 { "" } else { "s" }
    );
    let ceiling = findings.summary("a", connections);
    let plain = findings.summary("b", connections);
    for label in LABELS {
        if let Some(variant) = findings.variants.iter().find(|variant| variant.label == label) {
            text.push_str(&row(findings, variant, connections, (ceiling, plain)));
        } else if label == "c" {
            let _ = writeln!(text, "| (c) | {THROTTLECRAB} | not measured: not installed |");
        }
    }
    text
}

/// The row of one variant at one number of connections, relative to (a) and (b).
fn row(
    findings: &Findings<'_>,
    variant: &Variant,
    connections: u16,
    (ceiling, plain): (Option<Summary>, Option<Summary>),
) -> String {
    let turns = findings.turns.iter();
    let turns =
        turns.filter(|turn| turn.variant == variant.label && turn.connections == connections);
    let (sound, invalidated) = turns.partition::<Vec<&Turn>, _>(|turn| turn.invalidated.is_none());
    let Some(summary) = findings.summary(variant.label, connections) else {
        let why = invalidated.first().and_then(|turn| turn.invalidated.as_ref());
        return why.map_or(String::new(), |why| {
            format!("| ({}) | {} | invalidated: {why} |\n", variant.label, variant.title)
        });
    };
    let rate = summary.per_second;
    let ratio = |to: Option<Summary>| {
        to.map_or("–".to_owned(), |base| format!("{:.2}", rate.median / base.per_second.median))
    };
    let note = if invalidated.is_empty() {
        String::new()
    } else {
        format!(" ({} of {} turns invalidated)", invalidated.len(), invalidated.len() + sound.len())
    };
    format!(
        "| ({}) | {}{note} | {} ({}–{}) | {} | {} | {:.1} | {} |\n",
        variant.label,
        variant.title,
        Thousands(rate.median),
        Thousands(rate.least),
        Thousands(rate.most),
        ratio(ceiling),
        ratio(plain),
        summary.service_us,
        redis(variant, &summary),
    )
}

fn redis(variant: &Variant, summary: &Summary) -> String {
    if matches!(variant.kind, Kind::Constant | Kind::InMemory) {
        return "– | – | –".to_owned();
    }
    format!("{:.1} | {:.1} | {:.3}", summary.redis_us, summary.script_us, summary.calls)
}

/// Replaces the text between the markers of this name. Returns `None` if the markers are missing.
pub fn replace(page: &str, name: &str, text: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- bench:{name} -->"), format!("<!-- end of {name} -->"));
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{}\n{end}{after}", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::replace;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let page = "x\n<!-- bench:a -->\nold\n<!-- end of a -->\ny";
        let new = "x\n<!-- bench:a -->\nnew\n<!-- end of a -->\ny";
        assert_eq!(replace(page, "a", "\nnew\n").as_deref(), Some(new));
        assert_eq!(replace(page, "b", "new"), None);
    }
}
