//! Elements above the page, which the browser closes on Escape and on a press outside.

use leptos::prelude::{document, window};
use wasm_bindgen::JsCast as _;
use web_sys::{Element, MouseEvent};

/// Distances from the edges of the window, in pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Anchor {
    pub top: Option<i32>,
    pub bottom: Option<i32>,
    pub left: Option<i32>,
    pub right: Option<i32>,
}

/// A place beside the pressed button: below it in the upper part of the window, and otherwise above it.
pub fn place_beside(event: &MouseEvent) -> Anchor {
    let target = event.current_target().and_then(|target| target.dyn_into::<Element>().ok());
    let Some(button) = target else { return Anchor::default() };
    let rect = button.get_bounding_client_rect();
    let (width, height) = (length(window().inner_width()), length(window().inner_height()));
    let (in_upper, in_left) = (rect.bottom() < height * UPPER, rect.left() < width / 2.0);
    let gap = |distance: f64| Some(whole(distance + GAP_PX));
    Anchor {
        top: in_upper.then(|| gap(rect.bottom())).flatten(),
        bottom: (!in_upper).then(|| gap(height - rect.top())).flatten(),
        left: in_left.then(|| whole(rect.left())),
        right: (!in_left).then(|| whole(width - rect.right())),
    }
}

pub fn is_popover_open(element: &Element) -> bool {
    element.matches(":popover-open").unwrap_or(false)
}

pub fn hide_popover(id: &str) {
    let Some(element) = document().get_element_by_id(id) else { return };
    if is_popover_open(&element)
        && let Ok(hide) = js_sys::Reflect::get(&element, &"hidePopover".into())
        && let Some(hide) = hide.dyn_ref::<js_sys::Function>()
    {
        drop(hide.call0(&element));
    }
}

fn length(value: Result<wasm_bindgen::JsValue, wasm_bindgen::JsValue>) -> f64 {
    value.ok().and_then(|value| value.as_f64()).unwrap_or_default()
}

#[expect(clippy::cast_possible_truncation, reason = "a distance in a window")]
fn whole(distance: f64) -> i32 {
    distance.round() as i32
}

/// The part of the window in which a menu opens downwards.
const UPPER: f64 = 0.6;
const GAP_PX: f64 = 4.0;
