//! A virtualised table: only visible rows are rendered, so ten thousand scroll like ten.

use leptos::html;
use leptos::prelude::*;

use crate::model::window::Window;

/// The visible part of a table; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Viewport {
    node: NodeRef<html::Div>,
    scrolled_px: RwSignal<usize>,
    frame_px: RwSignal<usize>,
}

/// The height of a row with its border; must equal the value in the style sheet.
const ROW_PX: usize = 57;
/// The height of the frame until it has been measured.
const FRAME_PX: usize = 900;

impl Viewport {
    pub fn new() -> Self {
        Self {
            node: NodeRef::new(),
            scrolled_px: RwSignal::new(0),
            frame_px: RwSignal::new(FRAME_PX),
        }
    }

    /// The range of the `count` rows to render; tracked.
    pub fn window(self, count: usize) -> Window {
        Window::of(count, ROW_PX, self.scrolled_px.get(), self.frame_px.get())
    }

    /// Scrolls to the first row, for example after sorting.
    pub fn to_top(self) {
        if let Some(node) = self.node.get_untracked() {
            node.set_scroll_top(0);
        }
    }

    fn measure(self) {
        let Some(node) = self.node.get_untracked() else { return };
        let whole = |px: i32| usize::try_from(px).unwrap_or(0);
        self.scrolled_px.set(whole(node.scroll_top()) / ROW_PX * ROW_PX);
        self.frame_px.set(whole(node.client_height()).max(ROW_PX));
    }
}

/// The scrolling frame with a sticky head and spacers above and below the rendered rows.
#[component]
pub fn LongTable(
    #[prop(into)] label: String,
    viewport: Viewport,
    count: Signal<usize>,
    head: AnyView,
    children: Children,
) -> impl IntoView {
    let window = Memo::new(move |_| viewport.window(count.get()));
    let space = |px: usize| {
        (px > 0).then(|| view! { <tr class="space" aria-hidden="true"><td style=("height", format!("{px}px"))></td></tr> })
    };
    view! {
        <div
            class="table-wrap long"
            tabindex="0"
            role="region"
            aria-label=label
            node_ref=viewport.node
            on:scroll=move |_| viewport.measure()
        >
            <table aria-rowcount=move || count.get() + 1>
                <thead>{head}</thead>
                <tbody>{move || space(window.get().space_above_px)}</tbody>
                <tbody>{children()}</tbody>
                <tbody>{move || space(window.get().space_below_px)}</tbody>
            </table>
        </div>
    }
}
