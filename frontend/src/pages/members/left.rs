//! What a removed member made: the keys that still work, to be revoked.

use leptos::prelude::*;
use weir_wire::api_keys::ApiKey;
use weir_wire::members::RemovedMember;

use crate::api::Api;
use crate::components::act::Act;
use crate::components::feedback::ActProblem;
use crate::pages::shell::TenantId;

/// Of whom, and what.
pub(super) type Left = RwSignal<Option<(String, RemovedMember)>>;

/// The panel; nothing until a member who made something was removed.
#[component]
pub(super) fn LeftBehind(left: Left) -> impl IntoView {
    move || {
        left.get().map(|(email, removed)| {
            let revoked = match removed.invitations_revoked.len() {
                0 => None,
                1 => Some("One invitation they made was revoked.".to_owned()),
                more => Some(format!("{more} invitations they made were revoked.")),
            };
            view! {
                <section class="panel" role="status" aria-label="What the removed member made">
                    <h2>{email}" was removed"</h2>
                    {revoked.map(|text| view! { <p>{text}</p> })}
                    <Keys keys=removed.keys left />
                </section>
            }
        })
    }
}

#[component]
fn Keys(keys: Vec<ApiKey>, left: Left) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let act = Act::new();
    let names: Vec<_> = keys.iter().map(|key| view! { <li>{key.name.clone()}</li> }).collect();
    let ids: Vec<_> = keys.into_iter().map(|key| key.id).collect();
    let close = move |_| left.set(None);
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
        act.run(all, move |()| left.set(None));
    };
    view! {
        <p>"These API keys they made still work:"</p>
        <ul>{names}</ul>
        <ActProblem problem=act.problem />
        <div class="row">
            <button type="button" class="button danger" disabled=act.busy on:click=revoke>"Revoke these keys"</button>
            <button type="button" class="button" on:click=close>"Leave them"</button>
        </div>
    }
    .into_any()
}
