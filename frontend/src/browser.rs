//! The few things of the browser that pages need besides the page itself.

use leptos::prelude::{document, request_animation_frame, window};
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{
    Element, HtmlElement, MouseEvent, ScrollIntoViewOptions, ScrollLogicalPosition, Storage,
};

/// What time it is, in milliseconds since 1970.
pub fn now_ms() -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "whole milliseconds of this age fit")]
    let now_ms = js_sys::Date::now() as i64;
    now_ms
}

/// The scheme, host and port of this page.
pub fn origin() -> String {
    window().location().origin().unwrap_or_default()
}

/// `next` as an address below this page's origin, or `None` if it leads anywhere else.
///
/// The browser's own URL parser decides, without the characters that it skips. Paths of the dashboard are plain, so any
/// other path is refused: the router decodes an address once more before it goes there.
pub fn own_address(next: &str) -> Option<String> {
    let bare: String = next.chars().filter(|c| !matches!(c, '\t' | '\r' | '\n')).collect();
    let url = web_sys::Url::new_with_base(&bare, &origin()).ok()?;
    let path = url.pathname();
    let is_own = url.origin() == origin() && is_plain_path(&path);
    is_own.then(|| format!("{path}{}{}", url.search(), url.hash()))
}

/// Loads the whole dashboard anew, at the same address.
pub fn reload() {
    drop(window().location().reload());
}

/// What was stored in this browser under a name.
pub fn stored(name: &str) -> Option<String> {
    storage()?.get_item(name).ok()?
}

/// Stores a preference; a browser that refuses forgets it.
pub fn store(name: &str, value: &str) {
    if let Some(storage) = storage() {
        drop(storage.set_item(name, value));
    }
}

/// Forgets what was stored under a name.
pub fn forget(name: &str) {
    if let Some(storage) = storage() {
        drop(storage.remove_item(name));
    }
}

/// Sets an attribute of the whole document.
pub fn mark_document(name: &str, value: Option<&str>) {
    let Some(root) = document().document_element() else { return };
    drop(match value {
        Some(value) => root.set_attribute(name, value),
        None => root.remove_attribute(name),
    });
}

/// Puts the keyboard into the first field that is wrong, once the page shows it.
pub fn focus_first_invalid() {
    request_animation_frame(|| {
        focus(document().query_selector("[aria-invalid=true]").ok().flatten());
    });
}

/// Moves the navigation, where it does not fit, so that the present page is seen in it.
pub fn show_current_page() {
    request_animation_frame(|| {
        let found = document().query_selector("nav [aria-current=page]").ok().flatten();
        let link = found.and_then(|link| link.dyn_into::<HtmlElement>().ok());
        if let Some((link, nav)) =
            link.and_then(|link| Some((link.clone(), link.parent_element()?)))
        {
            let spare = nav.client_width() - link.offset_width();
            nav.set_scroll_left(link.offset_left() - spare / 2);
        }
    });
}

/// Puts the keyboard into an element, if it is there and takes it.
pub fn focus(element: Option<Element>) {
    if let Some(element) = element.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        drop(element.focus());
    }
}

/// Scrolls a list so far that one of its lines is seen.
pub fn reveal(id: &str) {
    if let Some(line) = document().get_element_by_id(id) {
        let nearest = ScrollIntoViewOptions::new();
        nearest.set_block(ScrollLogicalPosition::Nearest);
        line.scroll_into_view_with_scroll_into_view_options(&nearest);
    }
}

/// How far along the element that listens a pointer is, if the element were `width` wide.
pub fn along(event: &MouseEvent, width: u64) -> Option<u64> {
    let element = event.current_target()?.dyn_into::<Element>().ok()?;
    let place = element.get_bounding_client_rect();
    let part = (f64::from(event.client_x()) - place.left()) / place.width().max(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a part of a width in pixels"
    )]
    let along = (part.clamp(0.0, 1.0) * width as f64) as u64;
    Some(along)
}

/// Whether the person asked their browser to transfer as little as it can; some browsers cannot be asked that.
pub fn saves_data() -> bool {
    let read = |from: &JsValue, name: &str| js_sys::Reflect::get(from, &name.into());
    read(&window().navigator(), "connection")
        .and_then(|connection| read(&connection, "saveData"))
        .is_ok_and(|saves| saves.is_truthy())
}

/// Waits.
pub async fn wait_ms(time_ms: i32) {
    let wait = js_sys::Promise::new(&mut |done, _| {
        drop(window().set_timeout_with_callback_and_timeout_and_arguments_0(&done, time_ms));
    });
    drop(wasm_bindgen_futures::JsFuture::from(wait).await);
}

/// Puts a text onto the clipboard; whether that worked.
pub async fn copy(text: &str) -> bool {
    if !window().is_secure_context() {
        return false; // there is no clipboard on an unprotected connection
    }
    let clipboard = window().navigator().clipboard();
    wasm_bindgen_futures::JsFuture::from(clipboard.write_text(text)).await.is_ok()
}

/// A time as the API writes it.
pub fn rfc3339(at_ms: i64) -> String {
    String::from(date(at_ms).to_iso_string())
}

/// A short local name of a time between others that are `step_s` apart: the minute, or the day.
pub fn moment(at_ms: i64, step_s: u32) -> String {
    let parts: &[(&str, &str)] = match step_s {
        ..60 => &[("hour", "2-digit"), ("minute", "2-digit"), ("second", "2-digit")],
        60..1800 => &[("hour", "2-digit"), ("minute", "2-digit")],
        1800..86_400 => {
            &[("day", "numeric"), ("month", "short"), ("hour", "2-digit"), ("minute", "2-digit")]
        }
        _ => &[("day", "numeric"), ("month", "short")],
    };
    let options = js_sys::Object::new();
    for (part, form) in parts {
        drop(js_sys::Reflect::set(&options, &(*part).into(), &(*form).into()));
    }
    drop(js_sys::Reflect::set(&options, &"hourCycle".into(), &"h23".into()));
    String::from(date(at_ms).to_locale_string("default", &options))
}

/// A time in the person's own language and time zone.
pub fn local_time(at_ms: i64) -> String {
    String::from(date(at_ms).to_locale_string("default", &JsValue::UNDEFINED))
}

/// The last moment of a day that is written as a date field writes it (`2026-11-21`), in the person's time zone.
pub fn day_end_ms(day: &str) -> Option<i64> {
    moment_of(day, "23:59:59.999")
}

/// The first moment of a day.
pub fn day_start_ms(day: &str) -> Option<i64> {
    moment_of(day, "00:00:00.000")
}

/// A text as a part of an address.
pub fn encoded(text: &str) -> String {
    String::from(js_sys::encode_uri_component(text))
}

/// Lets the person keep a text as a file.
pub fn save_file(name: &str, kind: &str, text: &str) {
    let parts = js_sys::Array::of1(&text.into());
    let options = web_sys::BlobPropertyBag::new();
    options.set_type(kind);
    let Ok(blob) = web_sys::Blob::new_with_str_sequence_and_options(&parts, &options) else {
        return;
    };
    let Ok(url) = web_sys::Url::create_object_url_with_blob(&blob) else { return };
    let link = document().create_element("a").ok().and_then(|it| it.dyn_into::<HtmlElement>().ok());
    if let Some(link) = link {
        drop(link.set_attribute("href", &url));
        drop(link.set_attribute("download", name));
        link.click();
    }
    drop(web_sys::Url::revoke_object_url(&url));
}

/// The text of the file that was chosen in a field.
pub async fn chosen_text(event: &web_sys::Event) -> Option<String> {
    let field = event.target()?.dyn_into::<web_sys::HtmlInputElement>().ok()?;
    let file = field.files()?.get(0)?;
    let text = wasm_bindgen_futures::JsFuture::from(file.text()).await.ok()?;
    text.as_string()
}

/// Whether a path consists of letters, digits, `_` and `-` between single slashes.
fn is_plain_path(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-');
    path.starts_with('/') && !path.contains("//") && path.chars().all(plain)
}

fn moment_of(day: &str, time: &str) -> Option<i64> {
    let at_ms = js_sys::Date::parse(&format!("{day}T{time}"));
    #[expect(clippy::cast_possible_truncation, reason = "whole milliseconds of this age fit")]
    at_ms.is_finite().then_some(at_ms as i64)
}

fn date(at_ms: i64) -> js_sys::Date {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are exact in a double")]
    let at_ms = at_ms as f64;
    js_sys::Date::new(&JsValue::from_f64(at_ms))
}

fn storage() -> Option<Storage> {
    window().local_storage().ok()?
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
