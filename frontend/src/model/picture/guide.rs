//! The pictures of the guide, from the code that draws the rule editor's: one for each algorithm.
//!
//! `cargo xtask guide --pictures` writes them into docs/pictures; without it the test compares.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use weir_wire::limits::LimitBody;
use weir_wire::words::Period as PeriodWord;

use super::tests::rule;
use super::{Pattern, Picture, WINDOWS};
use crate::charts::geometry::{Scale, area};
use crate::model::duration;
use crate::model::number::grouped;

#[test]
fn pictures_of_the_guide_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures");
    let writes = std::env::var_os("WEIR_WRITE_PICTURES").is_some();
    for (name, limit, pattern) in pictures() {
        let picture = Picture::of(&rule(&[limit]), pattern, &[]).expect("it limits");
        let drawn = svg(&picture);
        let file = folder.join(name).with_extension("svg");
        if writes {
            fs::create_dir_all(&folder).expect("the folder of pictures");
            fs::write(&file, &drawn).expect("write the picture");
        }
        let found = fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(found, drawn, "run: cargo xtask guide --pictures");
    }
}

fn pictures() -> [(&'static str, LimitBody, Pattern); 8] {
    let window_ms = 60_000;
    let quota = LimitBody::Quota {
        limit: 10,
        period: PeriodWord::Day,
        time_zone: "UTC".to_owned(),
        anchor_day: 1,
        ends_at: None,
    };
    let token_bucket =
        LimitBody::TokenBucket { capacity: 10, refill_tokens: 10, refill_interval_ms: window_ms };
    let leaky_bucket =
        LimitBody::LeakyBucket { capacity: 10, drain_units: 10, drain_interval_ms: window_ms };
    let log = LimitBody::SlidingWindowLog { limit: 10, window_ms, count_denied: false };
    [
        ("fixed_window", LimitBody::FixedWindow { limit: 10, window_ms }, Pattern::Boundary),
        ("sliding_window_log", log, Pattern::Boundary),
        (
            "sliding_window_counter",
            LimitBody::SlidingWindowCounter { limit: 10, window_ms },
            Pattern::Boundary,
        ),
        ("token_bucket", token_bucket, Pattern::Burst),
        ("leaky_bucket", leaky_bucket, Pattern::Steady),
        ("spacing", LimitBody::Spacing { interval_ms: 6_000 }, Pattern::Steady),
        ("quota", quota, Pattern::Boundary),
        (
            "concurrency",
            LimitBody::Concurrency { capacity: 10, lease_ms: window_ms },
            Pattern::Steady,
        ),
    ]
}

fn svg(picture: &Picture) -> String {
    let x = Scale { most: picture.span_us(), start: MARGIN, end: WIDTH - MARGIN };
    let y = Scale { most: picture.limit, start: GROUND, end: CEILING };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{}\" role=\"img\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n",
        WIDTH * 2,
        picture.summary(),
    );
    for at in 0..=WINDOWS {
        let along = x.place(picture.window_ms * 1000 * at);
        let _ = writeln!(
            svg,
            "<line class=\"edge\" x1=\"{along}\" x2=\"{along}\" y1=\"{CEILING}\" y2=\"{GROUND}\"/>"
        );
    }
    let end = WIDTH - MARGIN;
    let _ = writeln!(svg, "<path class=\"level\" d=\"{}\"/>", area(x, y, &picture.level));
    let _ = writeln!(
        svg,
        "<line class=\"full\" x1=\"{MARGIN}\" x2=\"{end}\" y1=\"{CEILING}\" y2=\"{CEILING}\"/>"
    );
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"{}\">Limit: {}</text>\n<text x=\"{MARGIN}\" y=\"{}\">0</text>\n\
         <text class=\"end\" x=\"{end}\" y=\"{}\">{}</text>",
        CEILING - 6,
        grouped(picture.limit),
        HEIGHT - 4,
        HEIGHT - 4,
        duration::short(picture.window_ms * WINDOWS),
    );
    for dot in &picture.dots {
        let (class, row) =
            if dot.admitted { ("admitted", ADMITTED_ROW) } else { ("refused", DENIED_ROW) };
        let along = x.place(dot.at_us);
        let _ = writeln!(svg, "<circle class=\"{class}\" cx=\"{along}\" cy=\"{row}\" r=\"4\"/>");
    }
    svg.push_str("</svg>\n");
    svg
}

/// The colours of the dashboard, for both themes.
const STYLE: &str = "text{font:11px system-ui,sans-serif;fill:#566066}.end{text-anchor:end}\
    .level{fill:#e2f0f1;stroke:#0b6e76}.edge{stroke:#dcdfe0}.full{stroke:#838b8f;stroke-dasharray:4 4}\
    .admitted{fill:#0b6e76}.refused{fill:none;stroke:#b3261e;stroke-width:2}\
    @media(prefers-color-scheme:dark){text{fill:#9fa9ae}.level{fill:#16343a;stroke:#5cc3cb}.edge{stroke:#2d3336}\
    .full{stroke:#757f84}.admitted{fill:#5cc3cb}.refused{stroke:#ff9b91}}";

const WIDTH: u64 = 360;
const MARGIN: u64 = 8;
const HEIGHT: u64 = 190;
const ADMITTED_ROW: u64 = 10;
const DENIED_ROW: u64 = 24;
const CEILING: u64 = 56;
const GROUND: u64 = 172;
