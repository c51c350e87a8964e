//! Modal dialogs, on the browser's `dialog` element: it traps focus and closes on Escape.

use leptos::html;
use leptos::prelude::*;

use crate::components::field::TextField;
use crate::components::field::fresh_id;

#[component]
pub fn Dialog(
    #[prop(into)] title: String,
    open: RwSignal<bool>,
    children: ChildrenFn,
) -> impl IntoView {
    let node = NodeRef::<html::Dialog>::new();
    let id = fresh_id();
    let label_id = id.clone();
    Effect::new(move |_| {
        let Some(dialog) = node.get() else { return };
        match (open.get(), dialog.open()) {
            (true, false) => drop(dialog.show_modal()),
            (false, true) => dialog.close(),
            _ => {}
        }
    });
    // The event arrives asynchronously, so the dialog can already be open again.
    let closed = move |_| {
        if node.get_untracked().is_some_and(|dialog| !dialog.open()) {
            open.set(false);
        }
    };
    view! {
        <dialog node_ref=node aria-labelledby=label_id on:close=closed>
            <h2 id=id>{title}</h2>
            <Show when=move || open.get()>{children()}</Show>
        </dialog>
    }
}

/// A confirmation of an action that can be undone. `on_confirm` runs after the dialog has closed.
#[component]
pub fn Confirm(
    #[prop(into)] title: String,
    /// The label of the button that confirms.
    #[prop(into)]
    action: Signal<String>,
    open: RwSignal<bool>,
    #[prop(into)] on_confirm: Callback<()>,
    /// The consequence.
    children: ChildrenFn,
) -> impl IntoView {
    let children = StoredValue::new(children);
    let confirm = move |_| {
        on_confirm.run(());
        open.set(false);
    };
    view! {
        <Dialog title open>
            <div class="stack">
                {children.with_value(|children| children())}
                <div class="actions">
                    <button type="button" class="button primary" on:click=confirm>{action}</button>
                    <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
                </div>
            </div>
        </Dialog>
    }
}

/// A confirmation that states the consequence and requires the object's name.
#[component]
pub fn ConfirmByName(
    #[prop(into)] title: String,
    #[prop(into)] consequence: String,
    #[prop(into)] name: String,
    #[prop(into)] action: String,
    open: RwSignal<bool>,
    #[prop(into)] on_confirm: Callback<()>,
) -> impl IntoView {
    let typed = RwSignal::new(String::new());
    let name = StoredValue::new(name);
    let matches = move || name.with_value(|name| *name == typed.get().trim());
    let (consequence, action) = (StoredValue::new(consequence), StoredValue::new(action));
    let confirm = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        if matches() {
            open.set(false);
            on_confirm.run(());
        }
    };
    Effect::new(move |_| {
        open.track();
        typed.set(String::new());
    });
    view! {
        <Dialog title open>
            <form on:submit=confirm>
                <p>{consequence.get_value()}</p>
                <TextField label=format!("Type {} to confirm", name.get_value()) value=typed />
                <div class="actions">
                    <button type="submit" class="button danger" disabled=move || !matches()>{action.get_value()}</button>
                    <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
                </div>
            </form>
        </Dialog>
    }
}
