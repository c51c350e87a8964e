//! The members of the tenant, their roles, and open invitations.

mod invitations;
mod invite;
mod removed_member;
mod roles;

use leptos::html;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::members::Member;
use weir_wire::tenants::Role;

use crate::access::{ROLES, role_name, role_with_article};
use crate::api::Api;
use crate::components::dialog::Confirm;
use crate::components::feedback::SubmitProblem;
use crate::components::page::PageHeader;
use crate::components::remote_data::{RemoteData, fetch_data, show};
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::table::{ConfirmedButton, ObjectTable};
use crate::components::time::RelativeTime;
use crate::pages::shell::TenantId;
use crate::session::Session;
use invitations::Invitations;
use invite::NewInvitation;
use removed_member::{RemovedMemberPanel, RemovedState};
use roles::permissions;

#[component]
pub fn Members() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let members = fetch_data(move || {
        let tenant = tenant.get();
        async move { api.members(&tenant).await }
    });
    let invitations = fetch_data(move || {
        let tenant = tenant.get();
        async move { api.invitations(&tenant).await }
    });
    // Owned by the page, because the list is recreated after each action.
    let action = SubmitAction::new();
    let removed_member: RemovedState = RwSignal::new(None);
    provide_context(removed_member);
    view! {
        <PageHeader title="Members" lead="People with access to this tenant" />
        <RequireRole role=Role::Admin>
            <NewInvitation on_invited=Callback::new(move |()| invitations.refetch()) />
        </RequireRole>
        <RemovedMemberPanel removed_member />
        <SubmitProblem problem=action.problem />
        {show(members, move |data| view! { <List data members action /> })}
        {show(invitations, move |data| view! { <Invitations data invitations /> })}
    }
}

#[component]
fn List(
    data: Vec<Member>,
    members: RemoteData<Vec<Member>>,
    action: SubmitAction,
) -> impl IntoView {
    let rows: Vec<_> =
        data.into_iter().map(|member| view! { <MemberRow member members action /> }).collect();
    view! {
        <ObjectTable label="Members" columns=&["Member", "Role", "Since"]>{rows}</ObjectTable>
    }
}

#[component]
fn MemberRow(
    member: Member,
    members: RemoteData<Vec<Member>>,
    action: SubmitAction,
) -> impl IntoView {
    let session = expect_context::<Session>();
    let is_me = session.signed_in().is_some_and(|signed_in| signed_in.user.id == member.user_id);
    let Member { user_id, email, name, role, created_at } = member;
    view! {
        <tr>
            <td>
                <div class="name"><bdi>{name}</bdi>{is_me.then_some(" (you)")}</div>
                <div class="muted">{email.clone()}</div>
            </td>
            <td><RoleChoice user_id=user_id.clone() email=email.clone() role members action /></td>
            <td><RelativeTime at=created_at /></td>
            <td class="number"><Remove user_id email is_me members action /></td>
        </tr>
    }
}

#[component]
fn RoleChoice(
    user_id: String,
    email: String,
    role: Role,
    members: RemoteData<Vec<Member>>,
    action: SubmitAction,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (open, chosen) = (RwSignal::new(false), RwSignal::new(role));
    let select = NodeRef::<html::Select>::new();
    let choose = move |event| {
        let name = event_target_value(&event);
        if let Some(role) = ROLES.into_iter().find(|role| role_name(*role) == name) {
            chosen.set(role);
            open.set(true);
        }
    };
    // Without a confirmation the select shows the stored role again.
    Effect::new(move |_| {
        if let (false, Some(select)) = (open.get(), select.get()) {
            select.set_value(role_name(role));
        }
    });
    let change = Callback::new(move |()| {
        let (user_id, role) = (user_id.clone(), chosen.get_untracked());
        action.run(
            async move {
                let answer = api.set_role(&tenant.now(), &user_id, role).await;
                members.refetch();
                answer
            },
            |_| (),
        );
    });
    let options = ROLES.map(|option| {
        view! { <option value=role_name(option) prop:selected=option == role>{role_name(option)}</option> }
    });
    let label = format!("Role of {email}");
    let becomes = move || format!("Make {}", role_with_article(chosen.get()));
    let consequence = move || {
        format!(
            "{email} becomes {}: {}.",
            role_with_article(chosen.get()),
            permissions(chosen.get())
        )
    };
    let consequence = StoredValue::new(consequence);
    view! {
        <RequireRole role=Role::Admin reason_shown=true>
            <select node_ref=select aria-label=label disabled=action.busy on:change=choose>{options.collect_view()}</select>
        </RequireRole>
        <Confirm title="Change the role?" action=Signal::derive(becomes) open on_confirm=change>
            <p>{move || consequence.with_value(|text| text())}</p>
        </Confirm>
    }
}

/// Removes another member, or leaves the tenant.
#[component]
fn Remove(
    user_id: String,
    email: String,
    is_me: bool,
    members: RemoteData<Vec<Member>>,
    action: SubmitAction,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let navigate = use_navigate();
    let (removed_member, removed) = (expect_context::<RemovedState>(), email.clone());
    let (word, title) =
        if is_me { ("Leave", "Leave this tenant?") } else { ("Remove", "Remove this member?") };
    let consequence = if is_me {
        "You lose access immediately and need a new invitation to return."
    } else {
        "They lose access immediately, and their open invitations are revoked. Their API keys keep working; you can revoke them in the next step."
    };
    let remove = Callback::new(move |()| {
        let target = if is_me { "me".to_owned() } else { user_id.clone() };
        let navigate = navigate.clone();
        let email = removed.clone();
        action.run(async move { api.remove_member(&tenant.now(), &target).await }, move |made| {
            if is_me {
                navigate("/tenants", NavigateOptions::default());
            } else {
                removed_member.set(made.map(|made| (email, made)));
                members.refetch();
            }
        });
    });
    let button = view! {
        <ConfirmedButton text=word name=email title consequence confirm=word action problem_shown=false on_confirm=remove />
    };
    if is_me {
        return button.into_any();
    }
    view! { <RequireRole role=Role::Admin reason_shown=true>{button}</RequireRole> }.into_any()
}
