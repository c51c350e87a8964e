//! Open invitations.

use leptos::prelude::*;
use weir_wire::members::{Invitation, Invite, IssuedInvitation};
use weir_wire::tenants::Role;

use crate::access::role_name;
use crate::api::Api;
use crate::components::data_table::{Column, DataTable, own_view};
use crate::components::dialog::Confirm;
use crate::components::feedback::SubmitProblem;
use crate::components::remote_data::RemoteData;
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::table::RowButton;
use crate::pages::shell::TenantId;

/// The list; empty if there are none.
#[component]
pub(super) fn Invitations(
    data: Vec<Invitation>,
    invitations: RemoteData<Vec<Invitation>>,
    /// Receives a new link of one of them.
    issued: RwSignal<Option<IssuedInvitation>>,
) -> impl IntoView {
    if data.is_empty() {
        return ().into_any();
    }
    let action = SubmitAction::new();
    let columns = vec![
        Column::text("invited", "Invited", |invitation: &Invitation| invitation.email.clone())
            .class("name"),
        Column::new("role", "Role", |invitation: &Invitation| {
            role_name(invitation.role).to_owned()
        }),
        Column::new("by", "By", |invitation: &Invitation| invitation.invited_by.clone()),
        Column::time("expires", "Expires", |invitation: &Invitation| invitation.expires_at),
        Column::actions(move |invitation: &Invitation| {
            let Invitation { id, email, role, .. } = invitation.clone();
            let again = Invite { email: email.clone(), role };
            view! {
                <RequireRole role=Role::Admin reason_shown=true>
                    <NewLink again invitations issued action />
                    <Revoke id email invitations action />
                </RequireRole>
            }
            .into_any()
        })
        .class("number row-actions"),
    ];
    view! {
        <h2>"Open invitations"</h2>
        <SubmitProblem problem=action.problem />
        <DataTable
            label="Open invitations"
            nouns=("invitation", "invitations")
            rows=Signal::stored(data)
            columns
            id=|invitation| invitation.id.clone()
            view=own_view()
            empty=|| ()
        />
    }
    .into_any()
}

/// Invites the person again, because a link is shown only once.
#[component]
fn NewLink(
    again: Invite,
    invitations: RemoteData<Vec<Invitation>>,
    issued: RwSignal<Option<IssuedInvitation>>,
    action: SubmitAction,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let open = RwSignal::new(false);
    let label = format!("New link for {}", again.email);
    let invite = Callback::new(move |()| {
        action.run(api.invite(&tenant.now(), &again), move |made| {
            invitations.refetch();
            issued.set(Some(made));
        });
    });
    view! {
        <RowButton text="New link" label disabled=action.busy on_press=move |()| open.set(true) />
        <Confirm title="Make a new link?" action="Make a new link" open on_confirm=invite>
            <p>"The former link stops working. The new one works once, within 7 days."</p>
        </Confirm>
    }
}

#[component]
fn Revoke(
    id: String,
    email: String,
    invitations: RemoteData<Vec<Invitation>>,
    action: SubmitAction,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let revoke = move |()| {
        action.run(api.revoke_invitation(&tenant.now(), &id), move |()| {
            invitations.refetch();
        });
    };
    let label = format!("Revoke the invitation of {email}");
    view! { <RowButton text="Revoke" label disabled=action.busy on_press=revoke /> }
}
