//! Open invitations.

use leptos::prelude::*;
use weir_wire::members::Invitation;
use weir_wire::tenants::Role;

use crate::access::role_name;
use crate::api::Api;
use crate::components::feedback::SubmitProblem;
use crate::components::remote_data::RemoteData;
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::table::{ObjectTable, RowButton};
use crate::components::time::RelativeTime;
use crate::pages::shell::TenantId;

/// The list; empty if there are none.
#[component]
pub(super) fn Invitations(
    data: Vec<Invitation>,
    invitations: RemoteData<Vec<Invitation>>,
) -> impl IntoView {
    if data.is_empty() {
        return ().into_any();
    }
    let action = SubmitAction::new();
    let rows: Vec<_> = data
        .into_iter()
        .map(|invitation| view! { <InvitationRow invitation invitations action /> })
        .collect();
    view! {
        <h2>"Open invitations"</h2>
        <SubmitProblem problem=action.problem />
        <ObjectTable label="Open invitations" columns=&["Invited", "Role", "By", "Expires"]>{rows}</ObjectTable>
    }
    .into_any()
}

#[component]
fn InvitationRow(
    invitation: Invitation,
    invitations: RemoteData<Vec<Invitation>>,
    action: SubmitAction,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let Invitation { id, email, role, invited_by, expires_at, .. } = invitation;
    let revoke = move |()| {
        let id = id.clone();
        action.run(async move { api.revoke_invitation(&tenant.now(), &id).await }, move |()| {
            invitations.refetch();
        });
    };
    let label = format!("Revoke the invitation of {email}");
    view! {
        <tr>
            <td class="name">{email}</td>
            <td>{role_name(role)}</td>
            <td>{invited_by}</td>
            <td><RelativeTime at=expires_at /></td>
            <td class="number">
                <RequireRole role=Role::Admin reason_shown=true>
                    <RowButton text="Revoke" label disabled=action.busy on_press=revoke />
                </RequireRole>
            </td>
        </tr>
    }
}
