//! Who belongs to the tenant, as what, and who is asked to.

mod invitations;
mod invite;
mod left;

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::members::Member;
use weir_wire::tenants::Role;

use crate::access::{ROLES, role_word};
use crate::api::Api;
use crate::components::act::Act;
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::ActProblem;
use crate::components::load::{Load, load, loaded};
use crate::components::needs::Needs;
use crate::components::page::PageHead;
use crate::components::time::When;
use crate::pages::shell::TenantId;
use crate::session::Session;
use invitations::Invitations;
use invite::NewInvitation;
use left::{Left, LeftBehind};

/// The page.
#[component]
pub fn Members() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let members = load(move || {
        let tenant = tenant.get();
        async move { api.members(&tenant).await }
    });
    let invitations = load(move || {
        let tenant = tenant.get();
        async move { api.invitations(&tenant).await }
    });
    // Of the page, not of the list: the list is made anew after each act.
    let act = Act::new();
    let left: Left = RwSignal::new(None);
    provide_context(left);
    view! {
        <PageHead title="Members" lead="Who may see and change what this tenant has." />
        <Needs role=Role::Admin>
            <NewInvitation on_invited=Callback::new(move |()| invitations.again()) />
        </Needs>
        <LeftBehind left />
        <ActProblem problem=act.problem />
        {loaded(members, move |data| view! { <List data members act /> })}
        {loaded(invitations, move |data| view! { <Invitations data invitations /> })}
    }
}

/// What a role lets one do, for whoever chooses it.
pub(super) fn role_options() -> Vec<(Role, String)> {
    let means = |role| match role {
        Role::Viewer => "reads",
        Role::Editor => "changes rules and overrides, tests",
        Role::Admin => "manages keys and members too",
        Role::Owner => "all, deleting the tenant too",
    };
    ROLES.map(|role| (role, format!("{}: {}", role_word(role), means(role)))).to_vec()
}

#[component]
fn List(data: Vec<Member>, members: Load<Vec<Member>>, act: Act) -> impl IntoView {
    let rows: Vec<_> =
        data.into_iter().map(|member| view! { <Line member members act /> }).collect();
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Members">
            <table>
                <thead><tr>
                    <th>"Member"</th><th>"Role"</th><th>"Since"</th>
                    <th><span class="hidden">"Actions"</span></th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

#[component]
fn Line(member: Member, members: Load<Vec<Member>>, act: Act) -> impl IntoView {
    let session = expect_context::<Session>();
    let is_me = session.signed_in().is_some_and(|signed_in| signed_in.user.id == member.user_id);
    let Member { user_id, email, name, role, created_at } = member;
    view! {
        <tr>
            <td>
                <div class="name"><bdi>{name}</bdi>{is_me.then_some(" (you)")}</div>
                <div class="quiet">{email.clone()}</div>
            </td>
            <td><RoleChoice user_id=user_id.clone() email=email.clone() role members act /></td>
            <td><When at=created_at /></td>
            <td class="number"><Remove user_id email is_me members act /></td>
        </tr>
    }
}

#[component]
fn RoleChoice(
    user_id: String,
    email: String,
    role: Role,
    members: Load<Vec<Member>>,
    act: Act,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let choose = move |event| {
        let chosen = event_target_value(&event);
        let Some(role) = ROLES.into_iter().find(|it| role_word(*it) == chosen) else { return };
        let user_id = user_id.clone();
        act.run(
            async move {
                let answer = api.set_role(&tenant.now(), &user_id, role).await;
                // Also when it was refused: the choice goes back to what holds.
                members.again();
                answer
            },
            |_| (),
        );
    };
    let options = ROLES.map(|it| {
        view! { <option value=role_word(it) prop:selected=it == role>{role_word(it)}</option> }
    });
    view! {
        <Needs role=Role::Admin told=true>
            <select aria-label=format!("Role of {email}") disabled=act.busy on:change=choose>{options.collect_view()}</select>
        </Needs>
    }
}

/// Removing another, or leaving.
#[component]
fn Remove(
    user_id: String,
    email: String,
    is_me: bool,
    members: Load<Vec<Member>>,
    act: Act,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let open = RwSignal::new(false);
    let navigate = use_navigate();
    let (left, removed) = (expect_context::<Left>(), email.clone());
    let (word, title) =
        if is_me { ("Leave", "Leave this tenant?") } else { ("Remove", "Remove this member?") };
    let consequence = if is_me {
        "You lose access at once, and need a new invitation to come back."
    } else {
        "They lose access at once, and invitations they made are revoked. API keys they made are shown next."
    };
    let remove = Callback::new(move |()| {
        let whom = if is_me { "me".to_owned() } else { user_id.clone() };
        let navigate = navigate.clone();
        let email = removed.clone();
        act.run(async move { api.remove_member(&tenant.now(), &whom).await }, move |made| {
            if is_me {
                navigate("/tenants", NavigateOptions::default());
            } else {
                left.set(made.map(|made| (email, made)));
                members.again();
            }
        });
    });
    let button = view! {
        <button
            type="button"
            class="button quiet-button"
            aria-label=format!("{word} {email}")
            disabled=act.busy
            on:click=move |_| open.set(true)
        >{word}</button>
    };
    view! {
        {if is_me { button.into_any() } else { view! { <Needs role=Role::Admin told=true>{button}</Needs> }.into_any() }}
        <ConfirmByName title consequence name=email act=word open on_confirm=remove />
    }
}
