//! The target of a press or a key: a control, a field, or the page.

use leptos::prelude::window;
use wasm_bindgen::JsCast as _;
use web_sys::{Element, EventTarget, KeyboardEvent, MouseEvent};

use super::storage::{remove_stored, store, stored};

/// Whether a press is for a control inside the listening element, selects a text, or is a shortcut of the browser.
pub fn is_for_control(event: &MouseEvent) -> bool {
    let selects = window().get_selection().ok().flatten().is_some_and(|text| !text.is_collapsed());
    is_inside(event.target(), CONTROLS)
        || selects
        || event.ctrl_key()
        || event.meta_key()
        || event.button() != 0
}

/// The pressed key, if it is for the page: it is not typed into a field, belongs to no dialog or menu, and is no shortcut of
/// the browser. `None` while the person has switched these keys off.
pub fn page_key(event: &KeyboardEvent) -> Option<String> {
    let is_for_another = is_inside(event.target(), FIELDS)
        || event.ctrl_key()
        || event.meta_key()
        || event.alt_key()
        || event.default_prevented();
    (!is_for_another && page_keys_on()).then(|| event.key())
}

/// Whether single keys are shortcuts.
pub fn page_keys_on() -> bool {
    stored(PAGE_KEYS).is_none()
}

/// Switches single keys as shortcuts on or off. Speech input, for one, types keys that nobody meant.
pub fn switch_page_keys(on: bool) {
    if on { remove_stored(PAGE_KEYS) } else { store(PAGE_KEYS, "off") }
}

const PAGE_KEYS: &str = "weir.page-keys";

const CONTROLS: &str = "a, button, input, select, label, textarea, dialog, [popover]";
const FIELDS: &str = "input:not([type=checkbox]), select, textarea, dialog, [popover]";

fn is_inside(target: Option<EventTarget>, selector: &str) -> bool {
    let element = target.and_then(|target| target.dyn_into::<Element>().ok());
    element.is_some_and(|element| element.closest(selector).ok().flatten().is_some())
}
