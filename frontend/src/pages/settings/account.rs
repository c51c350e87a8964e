//! One's own account: what one is called, and the password.

use leptos::prelude::*;
use weir_domain::names;
use weir_wire::sessions::{ChangePassword, Me, Password};

use crate::api::Api;
use crate::components::act::{Act, ActForm};
use crate::components::field::TextField;
use crate::components::load::Load;

/// What one is called.
#[component]
pub(super) fn OwnName(name: String, me: Load<Me>) -> impl IntoView {
    let api = expect_context::<Api>();
    let name = RwSignal::new(name);
    let act = Act::with_fields(&["name"]);
    let rename = Callback::new(move |()| {
        let name = name.get_untracked();
        act.run(async move { api.rename_me(name.trim()).await }, move |_| me.again());
    });
    let problem = act.checked("name", name, names::title);
    let incomplete = Signal::derive(move || name.with(|name| names::title(name.trim()).is_err()));
    view! {
        <ActForm act submit="Save" on_submit=rename incomplete>
            <h2>"You"</h2>
            <TextField label="Your name" autocomplete="name" value=name problem />
        </ActForm>
    }
}

/// The password.
#[component]
pub(super) fn OwnPassword() -> impl IntoView {
    let api = expect_context::<Api>();
    let (current, new) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let changed = RwSignal::new(false);
    let act = Act::with_fields(&["current_password", "new_password"]);
    let change = Callback::new(move |()| {
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
    });
    let incomplete =
        Signal::derive(move || current.with(String::is_empty) || new.with(String::is_empty));
    view! {
        <ActForm act submit="Change the password" on_submit=change incomplete>
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
                hint="8 to 128 characters, and not a common password"
            />
            <p class="note" role="status">{move || changed.get().then_some("Changed; all your other sessions have ended.")}</p>
        </ActForm>
    }
}
