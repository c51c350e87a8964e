//! Toasts: short confirmations at the edge of the window, with a way to undo.

use std::time::Duration;

use leptos::prelude::*;

use crate::components::control_flow::For;
use crate::components::icon::Icon;

/// The toasts of the dashboard; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Toasts {
    shown: RwSignal<Vec<Toast>>,
    next_id: StoredValue<u32>,
}

#[derive(Debug, Clone)]
struct Toast {
    id: u32,
    text: Signal<String>,
    undo: Option<Callback<()>>,
}

impl Toasts {
    pub fn new() -> Self {
        Self { shown: RwSignal::new(Vec::new()), next_id: StoredValue::new(0) }
    }

    /// Confirms an action.
    pub fn show(self, text: impl Into<String>) {
        let text = text.into();
        self.add(Signal::stored(text), None, READ);
    }

    /// Confirms an action that can be undone, for half a minute.
    pub fn show_undoable(self, text: impl Into<String>, undo: Callback<()>) {
        let text = text.into();
        self.add(Signal::stored(text), Some(undo), UNDO);
    }

    fn add(self, text: Signal<String>, undo: Option<Callback<()>>, lasts: Duration) {
        let id = self.next_id.get_value();
        self.next_id.set_value(id + 1);
        self.shown.update(|shown| {
            shown.push(Toast { id, text, undo });
            let surplus = shown.len().saturating_sub(MAX);
            shown.drain(..surplus);
        });
        set_timeout(move || self.dismiss(id), lasts);
    }

    fn dismiss(self, id: u32) {
        self.shown.try_update(|shown| shown.retain(|toast| toast.id != id));
    }
}

/// The stack of toasts, which screen readers announce.
#[component]
pub fn ToastStack(toasts: Toasts) -> impl IntoView {
    view! {
        <div class="toasts" role="status" aria-label="Notifications">
            <For each=move || toasts.shown.get() key=|toast| toast.id let:toast>
                <div class="toast">
                    <Icon name="circle-check" />
                    <p>{toast.text}</p>
                    {toast.undo.map(|undo| view! {
                        <button type="button" class="button plain-button" on:click=move |_| {
                            toasts.dismiss(toast.id);
                            undo.run(());
                        }>"Undo"</button>
                    })}
                    <button type="button" class="button plain-button icon-button" aria-label="Dismiss" on:click=move |_| toasts.dismiss(toast.id)>
                        <Icon name="x" />
                    </button>
                </div>
            </For>
        </div>
    }
}

const READ: Duration = Duration::from_secs(6);
const UNDO: Duration = Duration::from_secs(30);
/// The most toasts at a time.
const MAX: usize = 3;
