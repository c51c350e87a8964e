//! The signed-in person's name and password.

use leptos::prelude::*;
use weir_domain::names;
use weir_wire::sessions::{ChangePassword, Me, Password};

use crate::api::Api;
use crate::components::field::TextField;
use crate::components::input::{Input, PasswordField};
use crate::components::remote_data::RemoteData;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::toast::Toasts;

#[component]
pub(super) fn OwnName(name: String, me: RemoteData<Me>) -> impl IntoView {
    let api = expect_context::<Api>();
    let (action, toasts) = (SubmitAction::with_fields(&["name"]), expect_context::<Toasts>());
    let typed = Input::new(action, "name", &name, names::title);
    let saved = RwSignal::new(name);
    let rename = Callback::new(move |()| {
        let new = typed.text();
        action.run(api.rename_me(&new), move |_| {
            toasts.show("Name saved");
            saved.try_set(new);
            me.refetch();
        });
    });
    let incomplete =
        Signal::derive(move || saved.with(|saved| typed.is(saved)) || typed.is_invalid());
    view! {
        <SubmitForm action submit="Save" on_submit=rename incomplete>
            <h3>"Profile"</h3>
            <TextField label="Your name" autocomplete="name" value=typed.value problem=typed.problem />
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
            <PasswordField label="Current password" value=current action field="current_password" />
            <PasswordField label="New password" value=new action field="new_password" new=true />
            <p class="note" role="status">{move || changed.get().then_some("Password changed. Your other sessions were signed out.")}</p>
        </SubmitForm>
    }
}
