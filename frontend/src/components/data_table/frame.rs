//! The scrolling frame of a table. If rows have a fixed height, only visible lines are rendered, between spacers.

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::HtmlElement;

use super::head::TableHead;
use super::row::{GroupRow, Row, row_keys};
use super::state::{Table, TableLine};
use crate::components::control_flow::For;
use crate::model::window::Window;

/// The height of a row until it has been measured, comfortable and compact.
const ROW_PX: [usize; 2] = [57, 45];
/// The height of the heading of a group; must equal the value in the style sheet.
const GROUP_PX: usize = 40;
/// The height of the frame until it has been measured.
const FRAME_PX: usize = 900;

/// The visible part of a table; cheap to copy.
#[derive(Debug, Clone, Copy)]
struct Viewport {
    node: NodeRef<html::Div>,
    scrolled_px: RwSignal<usize>,
    frame_px: RwSignal<usize>,
    row_px: RwSignal<usize>,
}

impl Viewport {
    fn measure(self) {
        let Some(node) = self.node.try_get_untracked().flatten() else { return };
        let whole = |px: i32| usize::try_from(px).unwrap_or(0);
        let row = node.query_selector("tr[data-id]").ok().flatten();
        let row = row.and_then(|row| row.dyn_into::<HtmlElement>().ok());
        if let Some(row_px) = row.map(|row| whole(row.offset_height())).filter(|px| *px > 0) {
            set_if_new(self.row_px, row_px);
        }
        // In steps of some rows, so that small movements cause no rendering.
        let step_px = self.row_px.get_untracked() * STEP_ROWS;
        set_if_new(self.scrolled_px, whole(node.scroll_top()) / step_px * step_px);
        set_if_new(self.frame_px, whole(node.client_height()).max(step_px) + step_px);
    }
}

/// The rows by which the frame moves before other rows are rendered.
const STEP_ROWS: usize = 4;

fn set_if_new(signal: RwSignal<usize>, value: usize) {
    if signal.get_untracked() != value {
        signal.set(value);
    }
}

/// The frame with a sticky head.
#[component]
pub(super) fn Frame(table: Table) -> impl IntoView {
    let viewport = Viewport {
        node: NodeRef::new(),
        scrolled_px: RwSignal::new(0),
        frame_px: RwSignal::new(FRAME_PX),
        row_px: RwSignal::new(ROW_PX[usize::from(table.compact.get_untracked())]),
    };
    let tops = Memo::new(move |_| {
        let row_px = viewport.row_px.get();
        let px =
            |line: &TableLine| if matches!(line, TableLine::Group(..)) { GROUP_PX } else { row_px };
        table.lines.with(|lines| tops(lines.iter().map(px)))
    });
    let window = Memo::new(move |_| {
        if table.is_virtual {
            let (scrolled_px, frame_px) = (viewport.scrolled_px.get(), viewport.frame_px.get());
            tops.with(|tops| Window::of(tops, scrolled_px, frame_px))
        } else {
            Window::whole(table.lines.with(Vec::len))
        }
    });
    // The height of rows depends on these.
    Effect::new(move |_| {
        table.compact.track();
        table.columns.track();
        request_animation_frame(move || viewport.measure());
    });
    let resized = window_event_listener(leptos::ev::resize, move |_| viewport.measure());
    let keys = row_keys(table, viewport.node);
    on_cleanup(move || {
        resized.remove();
        keys.remove();
    });
    show_first_rows_of_another_order(table, viewport.node);
    let visible = move || {
        table.source.changed.get();
        let Window { from, to, .. } = window.get();
        table.lines.with(|lines| lines.get(from..to.min(lines.len())).unwrap_or_default().to_vec())
    };
    let space = |px: usize| {
        (px > 0).then(|| view! { <tr class="space" aria-hidden="true"><td style=("height", format!("{px}px"))></td></tr> })
    };
    let lines = move || table.columns.with(Vec::len).to_string();
    view! {
        <div
            class="table-wrap table-cards"
            class:long=table.is_virtual
            data-density=move || if table.compact.get() { "compact" } else { "comfortable" }
            tabindex="0"
            role="region"
            aria-label=table.label.get_value()
            node_ref=viewport.node
            style=("--lines", lines)
            on:scroll=move |_| viewport.measure()
        >
            <table aria-rowcount=move || table.order.with(Vec::len) + 1>
                <TableHead table />
                <tbody>{move || space(window.get().space_above_px)}</tbody>
                <tbody>
                    <For each=visible key=move |line| table.line_key(line) let:line>
                        {match line {
                            TableLine::Group(name, count) => view! { <GroupRow table name count /> }.into_any(),
                            TableLine::Row(at, number) => view! { <Row table at number /> }.into_any(),
                        }}
                    </For>
                </tbody>
                <tbody>{move || space(window.get().space_below_px)}</tbody>
            </table>
        </div>
    }
}

/// Another order or filter shows its first rows.
fn show_first_rows_of_another_order(table: Table, frame: NodeRef<html::Div>) {
    Effect::new(move |before: Option<Vec<usize>>| {
        let order = table.order.get();
        if let (Some(before), Some(node)) = (before, frame.get_untracked())
            && before != order
        {
            node.set_scroll_top(0);
        }
        order
    });
}

/// The distances of lines from the first, and at the end the height of all.
fn tops(heights: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut top = 0;
    let mut tops = vec![0];
    tops.extend(heights.map(|px| {
        top += px;
        top
    }));
    tops
}
