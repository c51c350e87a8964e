//! One's own account: what one is called, and the password.

use leptos::prelude::*;
use weir_wire::sessions::{ChangePassword, Me, Password};

use crate::api::Api;
use crate::components::act::Act;
use crate::components::feedback::ActProblem;
use crate::components::field::TextField;
use crate::components::load::Load;

/// What one is called.
#[component]
pub(super) fn OwnName(name: String, me: Load<Me>) -> impl IntoView {
    let api = expect_context::<Api>();
    let name = RwSignal::new(name);
    let act = Act::new();
    let rename = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let name = name.get_untracked();
        act.run(async move { api.rename_me(&name).await }, move |_| me.again());
    };
    view! {
        <form class="panel" on:submit=rename>
            <h2>"You"</h2>
            <TextField label="Your name" autocomplete="name" value=name problem=act.refused("name") />
            <ActProblem problem=act.problem />
            <button type="submit" class="button primary" disabled=act.busy>"Save"</button>
        </form>
    }
}

/// The password.
#[component]
pub(super) fn OwnPassword() -> impl IntoView {
    let api = expect_context::<Api>();
    let (current, new) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let changed = RwSignal::new(false);
    let act = Act::new();
    let change = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        changed.set(false);
        let body = ChangePassword {
            current_password: Password(current.get_untracked()),
            new_password: Password(new.get_untracked()),
        };
        act.run(async move { api.change_password(&body).await }, move |()| {
            current.set(String::new());
            new.set(String::new());
            changed.set(true);
        });
    };
    view! {
        <form class="panel" on:submit=change>
            <h2>"Password"</h2>
            <TextField
                label="Present password"
                kind="password"
                autocomplete="current-password"
                value=current
                problem=act.refused("current_password")
            />
            <TextField
                label="New password"
                kind="password"
                autocomplete="new-password"
                value=new
                problem=act.refused("new_password")
                hint="8 to 128 characters, and not one of the commonest"
            />
            <ActProblem problem=act.problem />
            <div class="actions">
                <button type="submit" class="button primary" disabled=act.busy>"Change the password"</button>
                <p class="note" role="status">{move || changed.get().then_some("Changed; all your other sessions have ended.")}</p>
            </div>
        </form>
    }
}
