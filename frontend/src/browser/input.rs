//! The target of a press or a key: a control, a field, or the page.

use leptos::prelude::window;
use wasm_bindgen::JsCast as _;
use web_sys::{Element, EventTarget, KeyboardEvent, MouseEvent};

/// Whether a press is for a control inside the listening element, selects a text, or is a shortcut of the browser.
pub fn is_for_control(event: &MouseEvent) -> bool {
    let selects = window().get_selection().ok().flatten().is_some_and(|text| !text.is_collapsed());
    is_inside(event.target(), CONTROLS)
        || selects
        || event.ctrl_key()
        || event.meta_key()
        || event.button() != 0
}

/// Whether a key is typed into a field, belongs to a dialog or menu, or is a shortcut of the browser.
pub fn is_typing(event: &KeyboardEvent) -> bool {
    is_inside(event.target(), FIELDS) || event.ctrl_key() || event.meta_key() || event.alt_key()
}

const CONTROLS: &str = "a, button, input, select, label, textarea, dialog, [popover]";
const FIELDS: &str = "input:not([type=checkbox]), select, textarea, dialog, [popover]";

fn is_inside(target: Option<EventTarget>, selector: &str) -> bool {
    let element = target.and_then(|target| target.dyn_into::<Element>().ok());
    element.is_some_and(|element| element.closest(selector).ok().flatten().is_some())
}
