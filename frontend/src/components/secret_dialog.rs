//! A secret that is shown once. The dialog stays until the person confirms that the secret is stored.

use leptos::prelude::*;

use crate::browser;
use crate::components::copy::CopyButton;
use crate::components::dialog::Dialog;

#[component]
pub fn SecretDialog(
    #[prop(into)] title: String,
    /// Why the secret must be stored now.
    notice: &'static str,
    #[prop(into)] secret: Signal<String>,
    /// The label of the button that copies the secret.
    copy: &'static str,
    /// Called once the person confirms.
    #[prop(into)]
    stored: Callback<()>,
    /// A second button that confirms, and what it does then.
    #[prop(optional)]
    next: Option<(&'static str, Callback<()>)>,
    /// Further facts.
    children: ChildrenFn,
) -> impl IntoView {
    let open = RwSignal::new(true);
    let confirm = move || {
        open.set(false);
        stored.run(());
    };
    let next = StoredValue::new(next);
    let second = move || {
        let (text, then) = next.get_value()?;
        let confirm = move |_| {
            confirm();
            then.run(());
        };
        Some(view! { <button type="button" class="button" on:click=confirm>{text}</button> })
    };
    let children = StoredValue::new(children);
    browser::focus_rendered("dialog.locked .copy-secret button");
    view! {
        <Dialog title open locked=true>
            <div class="stack">
                <p>{notice}</p>
                <div class="code-block" role="group" aria-label=copy>
                    <pre tabindex="0"><code>{secret}</code></pre>
                </div>
                {children.with_value(|children| children())}
                <div class="actions copy-secret">
                    <CopyButton text=secret label=copy class="button primary" />
                    <button type="button" class="button" on:click=move |_| confirm()>"I have saved it"</button>
                    {second()}
                </div>
            </div>
        </Dialog>
    }
}
