//! Invitations that are not accepted yet.

use leptos::prelude::*;
use weir_wire::members::Invitation;
use weir_wire::tenants::Role;

use crate::access::role_word;
use crate::api::Api;
use crate::components::act::Act;
use crate::components::feedback::ActProblem;
use crate::components::load::Load;
use crate::components::needs::Needs;
use crate::components::time::When;
use crate::pages::shell::TenantId;

/// The list; nothing while there is none.
#[component]
pub(super) fn Invitations(
    data: Vec<Invitation>,
    invitations: Load<Vec<Invitation>>,
) -> impl IntoView {
    if data.is_empty() {
        return ().into_any();
    }
    let act = Act::new();
    let rows: Vec<_> = data.into_iter().map(|it| view! { <Line it invitations act /> }).collect();
    view! {
        <h2>"Open invitations"</h2>
        <ActProblem problem=act.problem />
        <div class="table-wrap" tabindex="0" role="region" aria-label="Open invitations">
            <table>
                <thead><tr>
                    <th>"Invited"</th><th>"Role"</th><th>"By"</th><th>"Ends"</th>
                    <th><span class="hidden">"Actions"</span></th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

#[component]
fn Line(it: Invitation, invitations: Load<Vec<Invitation>>, act: Act) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let Invitation { id, email, role, invited_by, expires_at, .. } = it;
    let revoke = move |_| {
        let id = id.clone();
        act.run(async move { api.revoke_invitation(&tenant.now(), &id).await }, move |()| {
            invitations.again();
        });
    };
    let label = format!("Revoke the invitation of {email}");
    view! {
        <tr>
            <td class="name">{email}</td>
            <td>{role_word(role)}</td>
            <td>{invited_by}</td>
            <td><When at=expires_at /></td>
            <td class="number">
                <Needs role=Role::Admin told=true>
                    <button type="button" class="button quiet-button" aria-label=label disabled=act.busy on:click=revoke>"Revoke"</button>
                </Needs>
            </td>
        </tr>
    }
}
