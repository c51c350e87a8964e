//! Light, dark or system theme.

use leptos::prelude::*;

use crate::browser;

/// Applies the stored theme; called once before the first render.
pub fn apply_stored() {
    apply(&stored());
}

#[component]
pub fn ThemeSwitch() -> impl IntoView {
    let chosen = RwSignal::new(stored());
    let choose = move |event| {
        let theme = event_target_value(&event);
        browser::store(NAME, &theme);
        apply(&theme);
        chosen.set(theme);
    };
    let option = move |value: &'static str, label: &'static str| {
        view! { <option value=value prop:selected=move || chosen.get() == value>{label}</option> }
    };
    view! {
        <label class="theme-switch">
            <span class="hidden">"Theme"</span>
            <select on:change=choose>
                {option("system", "System theme")}
                {option("light", "Light theme")}
                {option("dark", "Dark theme")}
            </select>
        </label>
    }
}

fn stored() -> String {
    browser::stored(NAME).unwrap_or_else(|| "system".to_owned())
}

fn apply(theme: &str) {
    browser::mark_document("data-theme", Some(theme).filter(|theme| *theme != "system"));
}

const NAME: &str = "weir.theme";
