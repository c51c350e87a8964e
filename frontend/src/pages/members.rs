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
use crate::components::data_table::{Column, DataTable, table_in_url};
use crate::components::dialog::{Confirm, Drawer};
use crate::components::feedback::SubmitProblem;
use crate::components::page::PageHeader;
use crate::components::remote_data::{RemoteData, fetch_data, show, show_rows};
use crate::components::require_role::{RequireRole, RoleButton};
use crate::components::submit::SubmitAction;
use crate::components::table::ConfirmedButton;
use crate::components::toast::Toasts;
use crate::components::url_state::open_from_url;
use crate::pages::shell::TenantId;
use crate::session::Session;
use invitations::Invitations;
use invite::{IssuedLink, NewInvitation};
use removed_member::{RemovedMemberPanel, RemovedState};
use roles::permissions;

#[component]
pub fn Members() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let members = fetch_data(move || api.members(&tenant.get()));
    let invitations = fetch_data(move || api.invitations(&tenant.get()));
    let inviting = open_from_url("1");
    // Owned by the page, because the list is recreated after each action.
    let action = SubmitAction::new();
    let issued = RwSignal::new(None);
    let removed_member: RemovedState = RwSignal::new(None);
    provide_context(removed_member);
    view! {
        <PageHeader title="Members" lead="People with access to this tenant">
            <RoleButton role=Role::Admin text="Invite a member" class="button primary" on_press=move |()| inviting.set(true) />
        </PageHeader>
        <Drawer title="Invite a member" open=inviting>
            <NewInvitation open=inviting on_invited=Callback::new(move |()| invitations.refetch()) />
        </Drawer>
        <IssuedLink issued />
        <RemovedMemberPanel removed_member />
        <SubmitProblem problem=action.problem />
        {show_rows(members, move |rows| view! {
            <DataTable
                label="Members"
                nouns=("member", "members")
                rows
                columns=columns(members, action)
                id=|member| member.user_id.clone()
                view=table_in_url()
                empty=|| ()
            />
        })}
        {show(invitations, move |data| view! { <Invitations data invitations issued /> })}
    }
}

fn columns(members: RemoteData<Vec<Member>>, action: SubmitAction) -> Vec<Column<Member>> {
    let me = expect_context::<Session>().signed_in().map(|signed_in| signed_in.user.id);
    let (me_named, me_removed) = (me.clone(), me);
    vec![
        Column::new("member", "Member", |member: &Member| {
            format!("{} <{}>", member.name, member.email)
        })
        .by_text(|member| format!("{} {}", member.name, member.email))
        .cell(move |member| {
            let is_me = me_named.as_ref() == Some(&member.user_id);
            view! {
                <div class="name"><bdi>{member.name.clone()}</bdi>{is_me.then_some(" (you)")}</div>
                <div class="muted">{member.email.clone()}</div>
            }
            .into_any()
        }),
        Column::new("role", "Role", |member: &Member| role_name(member.role).to_owned())
            .by_number(|member| member.role as i64)
            .cell(move |member| {
                let Member { user_id, email, role, .. } = member.clone();
                view! { <RoleChoice user_id email role members action /> }.into_any()
            }),
        Column::time("since", "Since", |member: &Member| member.created_at),
        Column::last_time("seen", "Last seen", |member: &Member| member.last_seen_at),
        Column::actions(move |member: &Member| {
            let is_me = me_removed.as_ref() == Some(&member.user_id);
            let Member { user_id, email, .. } = member.clone();
            view! { <Remove user_id email is_me members action /> }.into_any()
        })
        .class("number row-actions"),
    ]
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
    let (toasts, person) = (expect_context::<Toasts>(), email.clone());
    let change = Callback::new(move |()| {
        let (user_id, role) = (user_id.clone(), chosen.get_untracked());
        let text = format!("{person} is now {}", role_with_article(role));
        action.run(
            async move {
                let answer = api.set_role(&tenant.now(), &user_id, role).await;
                members.refetch();
                answer
            },
            move |_| toasts.show(text),
        );
    });
    let options = ROLES.map(|option| {
        view! { <option value=role_name(option) prop:selected=option == role>{role_name(option)}</option> }
    });
    let label = format!("Role of {email}");
    let becomes = move || format!("Make {}", role_with_article(chosen.get()));
    let consequence = Signal::derive(move || {
        let role = chosen.get();
        format!("{email} becomes {}: {}.", role_with_article(role), permissions(role))
    });
    view! {
        <RequireRole role=Role::Admin reason_shown=true>
            <select node_ref=select aria-label=label disabled=action.busy on:change=choose>{options.collect_view()}</select>
        </RequireRole>
        <Confirm title="Change the role?" action=Signal::derive(becomes) open on_confirm=change>
            <p>{consequence}</p>
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
        let target = if is_me { "me" } else { user_id.as_str() };
        let navigate = navigate.clone();
        let email = removed.clone();
        action.run(api.remove_member(&tenant.now(), target), move |made| {
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
