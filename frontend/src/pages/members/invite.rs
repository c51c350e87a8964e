//! Asking somebody to join, and the link to give them, once.

use leptos::prelude::*;
use weir_domain::names;
use weir_wire::members::{Invite, IssuedInvitation};
use weir_wire::tenants::Role;

use super::role_options;
use crate::access::a_role;
use crate::api::Api;
use crate::browser;
use crate::components::act::{Act, ActForm};
use crate::components::copy::CodeBlock;
use crate::components::field::{Choice, TextField};
use crate::pages::shell::TenantId;

/// The form, or the link just made until it is passed on.
#[component]
pub(super) fn NewInvitation(on_invited: Callback<()>) -> impl IntoView {
    let issued = RwSignal::new(None::<IssuedInvitation>);
    move || match issued.get() {
        Some(made) => view! { <Link made issued /> }.into_any(),
        None => view! { <Form issued on_invited /> }.into_any(),
    }
}

#[component]
fn Form(issued: RwSignal<Option<IssuedInvitation>>, on_invited: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (email, role) = (RwSignal::new(String::new()), RwSignal::new(Role::Viewer));
    let act = Act::with_fields(&["email"]);
    let invite = Callback::new(move |()| {
        let body =
            Invite { email: email.get_untracked().trim().to_owned(), role: role.get_untracked() };
        act.run(async move { api.invite(&tenant.now(), &body).await }, move |made| {
            on_invited.run(());
            issued.set(Some(made));
        });
    });
    let wrong = act.checked("email", email, |typed| Ok(names::email(typed)?));
    let incomplete =
        Signal::derive(move || email.with(|email| names::email(email.trim()).is_err()));
    view! {
        <ActForm act submit="Invite" on_submit=invite incomplete>
            <h2>"Invite somebody"</h2>
            <div class="row">
                <TextField label="E-mail" kind="email" value=email problem=wrong />
                <Choice label="Role" value=role.into() options=role_options() />
            </div>
        </ActForm>
    }
}

#[component]
fn Link(made: IssuedInvitation, issued: RwSignal<Option<IssuedInvitation>>) -> impl IntoView {
    let IssuedInvitation { invitation, token } = made;
    // Behind the hash, so that no server's log has it.
    let link = format!("{}/accept#{}", browser::origin(), token.0);
    let lead = format!(
        "Give {} this link; it makes them {} of this tenant. Weir sends no mail.",
        invitation.email,
        a_role(invitation.role)
    );
    view! {
        <div class="panel" role="group" aria-label="New invitation">
            <h2>"Invitation of "{invitation.email}</h2>
            <p>{lead}</p>
            <CodeBlock code=link label="Copy the link" />
            <p class="note">"Shown this one time. It works once, for this address, in the next 7 days."</p>
            <button type="button" class="button primary" on:click=move |_| issued.set(None)>"I passed it on"</button>
        </div>
    }
}
