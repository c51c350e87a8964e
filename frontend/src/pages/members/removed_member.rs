//! The API keys that a removed member created and that still work, with a way to revoke them.

use leptos::prelude::*;
use weir_wire::api_keys::ApiKey;
use weir_wire::members::RemovedMember;

use crate::api::Api;
use crate::components::feedback::SubmitProblem;
use crate::components::submit::SubmitAction;
use crate::pages::shell::TenantId;

/// The removed member's e-mail address and what they created.
pub(super) type RemovedState = RwSignal<Option<(String, RemovedMember)>>;

/// The panel; empty until a member who created something has been removed.
#[component]
pub(super) fn RemovedMemberPanel(removed_member: RemovedState) -> impl IntoView {
    move || {
        removed_member.get().map(|(email, removed)| {
            let revoked = match removed.invitations_revoked.len() {
                0 => None,
                1 => Some("One open invitation was revoked.".to_owned()),
                more => Some(format!("{more} open invitations were revoked.")),
            };
            view! {
                <section class="panel" role="status" aria-label="API keys of the removed member">
                    <h2>{email}" was removed"</h2>
                    {revoked.map(|text| view! { <p>{text}</p> })}
                    <Keys keys=removed.keys removed_member />
                </section>
            }
        })
    }
}

#[component]
fn Keys(keys: Vec<ApiKey>, removed_member: RemovedState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let names: Vec<_> = keys.iter().map(|key| view! { <li>{key.name.clone()}</li> }).collect();
    let ids: Vec<_> = keys.into_iter().map(|key| key.id).collect();
    let close = move |_| removed_member.set(None);
    if ids.is_empty() {
        return view! { <button type="button" class="button" on:click=close>"Close"</button> }
            .into_any();
    }
    let revoke = move |_| {
        let ids = ids.clone();
        let all = async move {
            for id in &ids {
                api.revoke_key(&tenant.now(), id).await?;
            }
            Ok(())
        };
        action.run(all, move |()| removed_member.set(None));
    };
    view! {
        <p>"These API keys created by the member still work:"</p>
        <ul>{names}</ul>
        <SubmitProblem problem=action.problem />
        <div class="row">
            <button type="button" class="button danger" disabled=action.busy on:click=revoke>"Revoke these keys"</button>
            <button type="button" class="button" on:click=close>"Keep them"</button>
        </div>
    }
    .into_any()
}
