//! Copy buttons.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::browser;

/// A button that copies a text and confirms it.
#[component]
pub fn CopyButton(
    #[prop(into)] text: Signal<String>,
    #[prop(into)] label: String,
    #[prop(default = "button")] class: &'static str,
) -> impl IntoView {
    let copied = RwSignal::new(None::<bool>);
    let copy = move |_| {
        let text = text.get_untracked();
        spawn_local(async move {
            let worked = browser::copy(&text).await;
            copied.try_set(Some(worked));
        });
    };
    Effect::new(move |_| {
        text.track();
        copied.set(None);
    });
    let shown = move || match copied.get() {
        None => label.clone(),
        Some(true) => "Copied".to_owned(),
        Some(false) => "Copying is blocked. Select the text and press Ctrl+C.".to_owned(),
    };
    view! { <button type="button" class=class on:click=copy aria-live="polite">{shown}</button> }
}

/// Code with a copy button.
#[component]
pub fn CodeBlock(#[prop(into)] code: Signal<String>, #[prop(into)] label: String) -> impl IntoView {
    let name = label.clone();
    view! {
        <div class="code-block" role="group" aria-label=name>
            <pre tabindex="0"><code>{code}</code></pre>
            <CopyButton text=code label=label />
        </div>
    }
}
