//! A table of any length: only the rows in sight exist, so ten thousand scroll like ten.

use leptos::html;
use leptos::prelude::*;

use crate::model::window::Window;

/// What is in sight of a long table; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Sight {
    node: NodeRef<html::Div>,
    scrolled_px: RwSignal<usize>,
    frame_px: RwSignal<usize>,
}

/// How high a row is, its line included; the style sheet says the same.
const ROW_PX: usize = 57;
/// Until the browser tells.
const FRAME_PX: usize = 900;

impl Sight {
    pub fn new() -> Self {
        Self {
            node: NodeRef::new(),
            scrolled_px: RwSignal::new(0),
            frame_px: RwSignal::new(FRAME_PX),
        }
    }

    /// The rows of `count` to have; tracked.
    pub fn window(self, count: usize) -> Window {
        Window::of(count, ROW_PX, self.scrolled_px.get(), self.frame_px.get())
    }

    /// Back to the first row, as after another order.
    pub fn to_top(self) {
        if let Some(node) = self.node.get_untracked() {
            node.set_scroll_top(0);
        }
    }

    fn look(self) {
        let Some(node) = self.node.get_untracked() else { return };
        let whole = |px: i32| usize::try_from(px).unwrap_or(0);
        self.scrolled_px.set(whole(node.scroll_top()) / ROW_PX * ROW_PX);
        self.frame_px.set(whole(node.client_height()).max(ROW_PX));
    }
}

/// The frame with the head, which stays, and between two spaces the rows of the window.
#[component]
pub fn LongTable(
    #[prop(into)] label: String,
    sight: Sight,
    count: Signal<usize>,
    head: AnyView,
    children: Children,
) -> impl IntoView {
    let window = Memo::new(move |_| sight.window(count.get()));
    let space = |px: usize| {
        (px > 0).then(|| view! { <tr class="space" aria-hidden="true"><td style=("height", format!("{px}px"))></td></tr> })
    };
    view! {
        <div
            class="table-wrap long"
            tabindex="0"
            role="region"
            aria-label=label
            node_ref=sight.node
            on:scroll=move |_| sight.look()
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
