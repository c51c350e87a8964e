//! Inviting a person, and the link, shown once.

use leptos::prelude::*;
use weir_domain::names;
use weir_wire::members::{Invite, IssuedInvitation};
use weir_wire::tenants::Role;

use super::roles::role_options;
use crate::access::role_with_article;
use crate::api::Api;
use crate::browser;
use crate::components::copy::CodeBlock;
use crate::components::dialog::Drawer;
use crate::components::field::{Choice, TextField};
use crate::components::input::Input;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::pages::shell::TenantId;

/// The form, or the link until the person confirms that it was sent.
#[component]
pub(super) fn NewInvitation(open: RwSignal<bool>, on_invited: Callback<()>) -> impl IntoView {
    let issued = RwSignal::new(None::<IssuedInvitation>);
    move || match issued.get() {
        Some(made) => view! { <Link made open /> }.into_any(),
        None => view! { <Form issued on_invited /> }.into_any(),
    }
}

#[component]
fn Form(issued: RwSignal<Option<IssuedInvitation>>, on_invited: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::with_fields(&["email"]);
    let email = Input::new(action, "email", "", |typed| Ok(names::email(typed)?));
    let role = RwSignal::new(Role::Viewer);
    let invite = Callback::new(move |()| {
        let body = Invite { email: email.text(), role: role.get_untracked() };
        action.run(api.invite(&tenant.now(), &body), move |made| {
            on_invited.run(());
            issued.set(Some(made));
        });
    });
    view! {
        <SubmitForm action submit="Invite" on_submit=invite incomplete=email.invalid()>
            <TextField label="E-mail" kind="email" value=email.value problem=email.problem />
            <Choice label="Role" value=role.into() options=role_options() />
        </SubmitForm>
    }
}

/// The link that replaces one that was lost, until the person confirms that it was sent.
#[component]
pub(super) fn IssuedLink(issued: RwSignal<Option<IssuedInvitation>>) -> impl IntoView {
    let open = RwSignal::new(false);
    Effect::new(move |_| open.set(issued.with(Option::is_some)));
    view! {
        <Drawer title="New link" open>
            {move || issued.get().map(|made| view! { <Link made open /> })}
        </Drawer>
    }
}

#[component]
fn Link(made: IssuedInvitation, open: RwSignal<bool>) -> impl IntoView {
    let IssuedInvitation { invitation, token, mailed } = made;
    // In the fragment, so that it does not appear in server logs.
    let link = format!("{}/accept#{}", browser::origin(), token.0);
    let (email, role) = (&invitation.email, role_with_article(invitation.role));
    let lead = if mailed {
        format!("This link was also sent to {email}. It lets them join this tenant as {role}.")
    } else {
        format!("Send this link to {email}. It lets them join this tenant as {role}.")
    };
    view! {
        <div class="panel" role="group" aria-label="New invitation">
            <h2>"Invitation of "{invitation.email}</h2>
            <p>{lead}</p>
            <CodeBlock code=link label="Copy link" />
            <p class="note">"The link is shown only once. It can be used once, by this address, within 7 days."</p>
            <button type="button" class="button primary" on:click=move |_| open.set(false)>"Done"</button>
        </div>
    }
}
