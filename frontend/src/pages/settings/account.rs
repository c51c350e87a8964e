//! The signed-in person's name and password.

use leptos::prelude::*;
use weir_domain::names;
use weir_wire::sessions::{ChangePassword, Me, Password};

use crate::api::Api;
use crate::components::field::TextField;
use crate::components::remote_data::RemoteData;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::toast::Toasts;

#[component]
pub(super) fn OwnName(name: String, me: RemoteData<Me>) -> impl IntoView {
    let api = expect_context::<Api>();
    let (saved, name) = (RwSignal::new(name.clone()), RwSignal::new(name));
    let (action, toasts) = (SubmitAction::with_fields(&["name"]), expect_context::<Toasts>());
    let rename = Callback::new(move |()| {
        let new = name.get_untracked().trim().to_owned();
        action.run(api.rename_me(&new), move |_| {
            toasts.show("Name saved");
            saved.try_set(new);
            me.refetch();
        });
    });
    let problem = action.validated("name", name, names::title);
    let incomplete = Signal::derive(move || {
        let unchanged = saved.with(|saved| name.with(|name| name.trim() == saved));
        unchanged || name.with(|name| names::title(name.trim()).is_err())
    });
    view! {
        <SubmitForm action submit="Save" on_submit=rename incomplete>
            <h3>"Profile"</h3>
            <TextField label="Your name" autocomplete="name" value=name problem />
        </SubmitForm>
    }
}

#[component]
pub(super) fn OwnPassword() -> impl IntoView {
    let api = expect_context::<Api>();
    let (current, new) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let changed = RwSignal::new(false);
    let action = SubmitAction::with_fields(&["current_password", "new_password"]);
    let change = Callback::new(move |()| {
        changed.set(false);
        let body = ChangePassword {
            current_password: Password(current.get_untracked()),
            new_password: Password(new.get_untracked()),
        };
        action.run(api.change_password(&body), move |()| {
            current.set(String::new());
            new.set(String::new());
            changed.set(true);
        });
    });
    let incomplete =
        Signal::derive(move || current.with(String::is_empty) || new.with(String::is_empty));
    view! {
        <SubmitForm action submit="Change password" on_submit=change incomplete>
            <h3>"Password"</h3>
            <TextField
                label="Current password"
                kind="password"
                autocomplete="current-password"
                value=current
                problem=action.server_problem("current_password")
            />
            <TextField
                label="New password"
                kind="password"
                autocomplete="new-password"
                value=new
                problem=action.server_problem("new_password")
                hint="At least 8 characters. Avoid common passwords."
            />
            <p class="note" role="status">{move || changed.get().then_some("Password changed. Your other sessions were signed out.")}</p>
        </SubmitForm>
    }
}
