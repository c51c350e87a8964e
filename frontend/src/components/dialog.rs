//! Modal dialogs, on the browser's `dialog` element: it traps focus and closes on Escape.

use leptos::html;
use leptos::prelude::*;

use crate::components::control_flow::Show;
use crate::components::field::TextField;
use crate::components::field::fresh_id;
use crate::components::icon::Icon;

#[component]
pub fn Dialog(
    #[prop(into)] title: Signal<String>,
    open: RwSignal<bool>,
    /// The layout: a box in the middle, or `drawer` for a panel at the edge.
    #[prop(default = "")]
    class: &'static str,
    /// Only the content closes it: neither Escape nor a press outside.
    #[prop(optional)]
    locked: bool,
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
        let Some(dialog) = node.get_untracked().filter(|dialog| !dialog.open()) else { return };
        if locked && open.get_untracked() {
            drop(dialog.show_modal());
        } else {
            open.set(false);
        }
    };
    // The browser can close a dialog on a second Escape although the first was refused.
    let keys = move |event: leptos::ev::KeyboardEvent| {
        if locked && event.key() == "Escape" {
            event.prevent_default();
        }
    };
    let refuse = move |event: leptos::ev::Event| {
        if locked {
            event.prevent_default();
        }
    };
    view! {
        <dialog node_ref=node class=class class:locked=locked aria-labelledby=label_id on:close=closed on:cancel=refuse on:keydown=keys>
            <h2 id=id>{title}</h2>
            <Show when=move || open.get()>{children()}</Show>
        </dialog>
    }
}

/// A form at the edge of the window, over the list that it belongs to.
#[component]
pub fn Drawer(
    #[prop(into)] title: Signal<String>,
    open: RwSignal<bool>,
    children: ChildrenFn,
) -> impl IntoView {
    let children = StoredValue::new(children);
    view! {
        <Dialog title open class="drawer">
            <button type="button" class="button plain-button icon-button close" aria-label="Close" on:click=move |_| open.set(false)>
                <Icon name="x" />
            </button>
            {children.with_value(|children| children())}
        </Dialog>
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
    let consequence = StoredValue::new(consequence);
    view! {
        <ConfirmTyped title required=Signal::stored(name) action open on_confirm>
            <p>{consequence.get_value()}</p>
        </ConfirmTyped>
    }
}

/// A confirmation that requires a text, such as the name of an object.
#[component]
pub fn ConfirmTyped(
    #[prop(into)] title: String,
    required: Signal<String>,
    #[prop(into)] action: String,
    open: RwSignal<bool>,
    on_confirm: Callback<()>,
    /// The consequence.
    children: ChildrenFn,
) -> impl IntoView {
    let typed = RwSignal::new(String::new());
    let matches = move || required.with(|required| *required == typed.get().trim());
    let (children, action) = (StoredValue::new(children), StoredValue::new(action));
    let confirm = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        if untrack(matches) {
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
                {children.with_value(|children| children())}
                <TextField label=format!("Type {} to confirm", required.get()) value=typed />
                <div class="actions">
                    <button type="submit" class="button danger" disabled=move || !matches()>{action.get_value()}</button>
                    <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
                </div>
            </form>
        </Dialog>
    }
}
