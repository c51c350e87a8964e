//! The browser APIs that pages need besides the DOM.

mod input;
mod popover;
mod storage;

use leptos::prelude::{document, request_animation_frame, window};
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{Element, HtmlElement, MouseEvent, ScrollIntoViewOptions, ScrollLogicalPosition};

use crate::charts::time_ticks::{date_time, time_of_day};

pub use input::{is_for_control, page_key, page_keys_on, switch_page_keys};
pub use popover::{Anchor, hide_popover, is_popover_open, place_beside};
pub use storage::{remove_stored, set_tab_value, store, stored, tab_value};

/// The current time in milliseconds since 1970.
pub fn now_ms() -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "whole milliseconds of this age fit")]
    let now_ms = js_sys::Date::now() as i64;
    now_ms
}

/// The scheme, host and port of this page.
pub fn origin() -> String {
    window().location().origin().unwrap_or_default()
}

/// The query of this page's address, without its question mark.
pub fn query() -> String {
    let search = window().location().search().unwrap_or_default();
    search.trim_start_matches('?').to_owned()
}

/// Returns `next` as a path on this page's origin, or `None` if it leads elsewhere.
///
/// The browser's own URL parser decides. Only plain paths are accepted, because the router decodes a path once more
/// before it navigates.
pub fn same_origin_path(next: &str) -> Option<String> {
    let bare: String = next.chars().filter(|c| !matches!(c, '\t' | '\r' | '\n')).collect();
    let url = web_sys::Url::new_with_base(&bare, &origin()).ok()?;
    let path = url.pathname();
    let is_own = url.origin() == origin() && is_plain_path(&path);
    is_own.then(|| format!("{path}{}{}", url.search(), url.hash()))
}

/// Opens an empty tab; `None` if the browser does not permit it.
pub fn open_tab() -> Option<web_sys::Window> {
    window().open_with_url_and_target("", "_blank").ok().flatten()
}

/// Reloads the dashboard at the current address.
pub fn reload() {
    drop(window().location().reload());
}

/// Sets an attribute of the document element.
pub fn mark_document(name: &str, value: Option<&str>) {
    let Some(root) = document().document_element() else { return };
    drop(match value {
        Some(value) => root.set_attribute(name, value),
        None => root.remove_attribute(name),
    });
}

/// Focuses the first invalid field once it has rendered.
pub fn focus_first_invalid() {
    focus_rendered("[aria-invalid=true]");
}

/// Focuses the first element of a selector once it has rendered.
pub fn focus_rendered(selector: &'static str) {
    request_animation_frame(move || {
        if let Some(element) = find(selector) {
            drop(element.focus());
        }
    });
}

/// The first element of a selector, if it can have the focus.
pub fn find(selector: &str) -> Option<HtmlElement> {
    document().query_selector(selector).ok().flatten()?.dyn_into().ok()
}

/// Removes an element.
pub fn remove_element(id: &str) {
    if let Some(element) = document().get_element_by_id(id) {
        element.remove();
    }
}

/// Focuses an element, if there is one that takes focus.
pub fn focus(element: Option<Element>) {
    if let Some(element) = element.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        drop(element.focus());
    }
}

/// Scrolls a list so that one of its options is visible.
pub fn reveal(id: &str) {
    if let Some(line) = document().get_element_by_id(id) {
        let nearest = ScrollIntoViewOptions::new();
        nearest.set_block(ScrollLogicalPosition::Nearest);
        line.scroll_into_view_with_scroll_into_view_options(&nearest);
    }
}

/// The horizontal position of a pointer in the listening element, scaled to `width`.
pub fn pointer_position(event: &MouseEvent, width: u64) -> Option<u64> {
    let element = event.current_target()?.dyn_into::<Element>().ok()?;
    let place = element.get_bounding_client_rect();
    let part = (f64::from(event.client_x()) - place.left()) / place.width().max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a part of a width in pixels"
    )]
    let pointer_position = (part.clamp(0.0, 1.0) * width as f64) as u64;
    Some(pointer_position)
}

/// Whether the browser's data saver is on; `false` where the browser does not report it.
pub fn data_saver_on() -> bool {
    let read = |from: &JsValue, name: &str| js_sys::Reflect::get(from, &name.into());
    read(&window().navigator(), "connection")
        .and_then(|connection| read(&connection, "saveData"))
        .is_ok_and(|saves| saves.is_truthy())
}

/// Waits for `ms` milliseconds.
pub async fn wait_ms(time_ms: i32) {
    let wait = js_sys::Promise::new(&mut |done, _| {
        drop(window().set_timeout_with_callback_and_timeout_and_arguments_0(&done, time_ms));
    });
    drop(wasm_bindgen_futures::JsFuture::from(wait).await);
}

/// Copies a text to the clipboard. Returns whether that succeeded.
pub async fn copy(text: &str) -> bool {
    if !window().is_secure_context() {
        return false; // there is no clipboard on an unprotected connection
    }
    let clipboard = window().navigator().clipboard();
    wasm_bindgen_futures::JsFuture::from(clipboard.write_text(text)).await.is_ok()
}

/// Whether the browser knows a time zone of this name.
pub fn is_time_zone(name: &str) -> bool {
    let construct = || {
        let intl = js_sys::Reflect::get(&js_sys::global(), &"Intl".into())?;
        let format = js_sys::Reflect::get(&intl, &"DateTimeFormat".into())?;
        let options = js_sys::Object::new();
        js_sys::Reflect::set(&options, &"timeZone".into(), &name.into())?;
        let arguments = js_sys::Array::of2(&JsValue::UNDEFINED, &options);
        js_sys::Reflect::construct(format.unchecked_ref::<js_sys::Function>(), &arguments)
    };
    construct().is_ok()
}

/// A time in the format of the API.
pub fn rfc3339(at_ms: i64) -> String {
    String::from(date(at_ms).to_iso_string())
}

/// Whether times are shown and entered in UTC instead of the person's time zone.
pub fn shows_utc() -> bool {
    SHOWS_UTC.with(|shows| *shows)
}

/// Shows times in UTC, or in the shown time zone. The page is loaded again, so that all its times follow.
pub fn show_utc(utc: bool) {
    store(TIMES, if utc { "utc" } else { "local" });
    reload();
}

/// The distance of the shown time zone from UTC at a time, in milliseconds.
pub fn zone_ms(at_ms: i64) -> i64 {
    if shows_utc() {
        return 0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole minutes of at most a day")]
    let behind_min = date(at_ms).get_timezone_offset() as i64;
    -behind_min * 60_000
}

/// A whole time, such as `Sat 21 Nov 2026, 22:34:00`, in the form of the charts.
pub fn local_time(at_ms: i64) -> String {
    let zone = if shows_utc() { " UTC" } else { "" };
    format!("{}{zone}", date_time(at_ms, zone_ms))
}

/// The time of day, such as `22:47:10`.
pub fn clock_time(at_ms: i64) -> String {
    time_of_day(at_ms, 1_000, zone_ms)
}

/// The time of day with milliseconds, such as `22:47:10.204`.
pub fn exact_clock_time(at_ms: i64) -> String {
    format!("{}.{:03}", clock_time(at_ms), at_ms.rem_euclid(1_000))
}

/// The hint of a field for a day that something ends with.
pub fn day_end_hint() -> &'static str {
    if shows_utc() {
        "At the end of the day, in UTC"
    } else {
        "At the end of the day, in your time zone"
    }
}

/// The last millisecond of a day such as `2026-11-21` in the shown time zone.
pub fn day_end_ms(day: &str) -> Option<i64> {
    parse_local(day, "23:59:59.999")
}

/// The first millisecond of a day such as `2026-11-21` in the shown time zone.
pub fn day_start_ms(day: &str) -> Option<i64> {
    parse_local(day, "00:00:00.000")
}

/// A time as the value of a `datetime-local` field, in the shown time zone.
pub fn local_input(at_ms: i64) -> String {
    let local = rfc3339(at_ms + zone_ms(at_ms));
    local.chars().take("2026-11-21T22:40".len()).collect()
}

/// The time in a `datetime-local` field.
pub fn parse_local_input(text: &str) -> Option<i64> {
    let (day, time) = text.split_once('T')?;
    parse_local(day, time)
}

/// A text encoded as a URL component.
pub fn encode_component(text: &str) -> String {
    String::from(js_sys::encode_uri_component(text))
}

/// Downloads a text as a file.
pub fn save_file(name: &str, kind: &str, text: &str) {
    let parts = js_sys::Array::of1(&text.into());
    let options = web_sys::BlobPropertyBag::new();
    options.set_type(kind);
    let Ok(blob) = web_sys::Blob::new_with_str_sequence_and_options(&parts, &options) else {
        return;
    };
    let Ok(url) = web_sys::Url::create_object_url_with_blob(&blob) else { return };
    let link = document()
        .create_element("a")
        .ok()
        .and_then(|element| element.dyn_into::<HtmlElement>().ok());
    if let Some(link) = link {
        drop(link.set_attribute("href", &url));
        drop(link.set_attribute("download", name));
        link.click();
    }
    drop(web_sys::Url::revoke_object_url(&url));
}

/// The text of the file chosen in a file input.
pub async fn read_chosen_file(event: &web_sys::Event) -> Option<String> {
    let field = event.target()?.dyn_into::<web_sys::HtmlInputElement>().ok()?;
    let file = field.files()?.get(0)?;
    let text = wasm_bindgen_futures::JsFuture::from(file.text()).await.ok()?;
    text.as_string()
}

/// The name of the choice in the local storage.
const TIMES: &str = "weir.times";

thread_local! {
    /// Read once, because a change loads the page again.
    static SHOWS_UTC: bool = stored(TIMES).is_some_and(|times| times == "utc");
}

/// Whether a path consists of letters, digits, `_` and `-` between single slashes.
fn is_plain_path(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-');
    path.starts_with('/') && !path.contains("//") && path.chars().all(plain)
}

fn parse_local(day: &str, time: &str) -> Option<i64> {
    let zone = if shows_utc() { "Z" } else { "" };
    let at_ms = js_sys::Date::parse(&format!("{day}T{time}{zone}"));
    #[expect(clippy::cast_possible_truncation, reason = "whole milliseconds of this age fit")]
    at_ms.is_finite().then_some(at_ms as i64)
}

fn date(at_ms: i64) -> js_sys::Date {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are exact in a double")]
    let at_ms = at_ms as f64;
    js_sys::Date::new(&JsValue::from_f64(at_ms))
}

#[cfg(test)]
mod tests {
    use super::is_plain_path;

    #[test]
    fn only_paths_of_the_dashboard_are_plain() {
        for own in ["/", "/t/tenant_01abc/rules", "/accept"] {
            assert!(is_plain_path(own), "{own}");
        }
        for other in ["", "t", "//evil", "/t//evil", "/%09/evil", "/%2F/evil", "/\\evil", "/a.b"] {
            assert!(!is_plain_path(other), "{other}");
        }
    }
}
