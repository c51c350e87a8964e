//! The state of a chart over time that its parts share, and its zoom.

use leptos::prelude::*;

use crate::browser::zone_ms;
use crate::charts::stack::Stack;
use crate::model::chart::{ChartData, Hidden, span};
use crate::model::marker::Marker;

/// The time under the pointer, in milliseconds since 1970, shared by the charts of a page; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Crosshair(pub RwSignal<Option<i64>>);

impl Crosshair {
    /// The page's, or a new one.
    pub(super) fn shared() -> Self {
        use_context().unwrap_or_else(|| Self(RwSignal::new(None)))
    }
}

/// The range of a chart as its viewer can change it; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Zoom {
    /// Receives a range in milliseconds since 1970.
    pub to: Callback<(i64, i64)>,
    /// Returns to the range before the first zoom.
    pub reset: Callback<()>,
    pub is_zoomed: Signal<bool>,
}

/// The content of a chart; cheap to copy.
#[derive(Clone, Copy)]
pub(super) struct Chart {
    pub(super) label: &'static str,
    pub(super) data: Memo<ChartData>,
    pub(super) compared: Memo<Option<ChartData>>,
    pub(super) markers: Signal<Vec<Marker>>,
    pub(super) hidden: RwSignal<Hidden>,
    pub(super) stack: Memo<Stack>,
    pub(super) crosshair: Crosshair,
    pub(super) zoom: Option<Zoom>,
    /// Times without data, in milliseconds since 1970.
    pub(super) gaps: Signal<Vec<(i64, i64)>>,
}

impl Chart {
    /// The step under the crosshair; tracked.
    pub(super) fn step(self) -> Option<usize> {
        let at_ms = self.crosshair.0.get()?;
        self.data.with(|data| data.timeline.step_at(at_ms))
    }

    /// Shows a range, unless the range is fixed.
    pub(super) fn zoom_to(self, range: (i64, i64)) {
        if let Some(zoom) = self.zoom {
            zoom.to.run(range);
        }
    }

    /// The time of a step.
    pub(super) fn when(self, step: usize) -> String {
        self.data.with(|data| {
            let (from_ms, to_ms) = data.timeline.step_ms(step);
            span(from_ms, to_ms, data.step_ms, zone_ms)
        })
    }
}

/// Shows twice the time.
pub(super) fn zoom_out(chart: Chart) {
    let (from_ms, length_ms) =
        chart.data.with_untracked(|data| (data.timeline.start_ms(), data.timeline.length_ms()));
    chart.zoom_to((from_ms - length_ms / 2, from_ms + length_ms + length_ms / 2));
}

/// Shows the same length of time half a length later, or earlier.
pub(super) fn pan(chart: Chart, later: bool) {
    let (from_ms, length_ms) =
        chart.data.with_untracked(|data| (data.timeline.start_ms(), data.timeline.length_ms()));
    let shift_ms = if later { length_ms / 2 } else { -length_ms / 2 };
    chart.zoom_to((from_ms + shift_ms, from_ms + length_ms + shift_ms));
}
