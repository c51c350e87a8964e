//! Values that the browser retains: for good, or until the tab is closed. Ignored if storage is disabled.

use leptos::prelude::window;
use web_sys::Storage;

/// A value from local storage.
pub fn stored(name: &str) -> Option<String> {
    local()?.get_item(name).ok()?
}

/// Stores a value.
pub fn store(name: &str, value: &str) {
    if let Some(storage) = local() {
        drop(storage.set_item(name, value));
    }
}

/// Removes a value from local storage.
pub fn remove_stored(name: &str) {
    if let Some(storage) = local() {
        drop(storage.remove_item(name));
    }
}

/// A value of this tab, which survives a reload.
pub fn tab_value(name: &str) -> Option<String> {
    of_tab()?.get_item(name).ok()?
}

/// Sets or removes a value of this tab.
pub fn set_tab_value(name: &str, value: Option<&str>) {
    let Some(storage) = of_tab() else { return };
    drop(match value {
        Some(value) => storage.set_item(name, value),
        None => storage.remove_item(name),
    });
}

fn local() -> Option<Storage> {
    window().local_storage().ok()?
}

fn of_tab() -> Option<Storage> {
    window().session_storage().ok()?
}
