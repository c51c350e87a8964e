//! One key in the list, and what can be done to it.

use leptos::prelude::*;
use weir_wire::api_keys::{ApiKey, IssuedKey};
use weir_wire::tenants::Role;
use weir_wire::time::DateTime;

use super::scope_word;
use crate::api::Api;
use crate::browser;
use crate::components::act::{Act, ActForm};
use crate::components::dialog::{ConfirmByName, Dialog};
use crate::components::feedback::ActProblem;
use crate::components::field::Choice;
use crate::components::needs::Needs;
use crate::components::time::{Exactly, When};
use crate::model::expiry;
use crate::pages::shell::TenantId;
use crate::session::Session;

/// The line; `changed` gets the key with its new secret after a rotation.
#[component]
pub(super) fn Line(key_line: ApiKey, changed: Callback<Option<IssuedKey>>) -> impl IntoView {
    let ApiKey { id, name, scopes, hint, created_by, created_at, expires_at, .. } = key_line;
    let scopes = scopes.into_iter().map(scope_word).collect::<Vec<_>>().join(", ");
    let (last_used, former) = (key_line.last_used_at, key_line.created_by_former_member);
    let previous = key_line.previous_expires_at.filter(|at| !over(*at));
    view! {
        <tr>
            <td class="name">{name.clone()}</td>
            <td><code class="whole">"weir_"{hint}"_…"</code></td>
            <td>{scopes}</td>
            <td>
                <When at=created_at />
                <div class="quiet">"by "{created_by}</div>
                {former.then(|| view! { <span class="badge badge-shadow">"Maker was removed"</span> })}
            </td>
            <td>{last_used.map_or_else(|| "not yet".into_any(), |at| view! { <When at /> }.into_any())}</td>
            <td>
                {expires(expires_at)}
                {previous.map(|at| view! { <div class="quiet">"old secret works until "<Exactly at /></div> })}
            </td>
            <td class="number">
                <Needs role=Role::Admin told=true>
                    <Rotate id=id.clone() name=name.clone() changed />
                    <Revoke id name changed />
                </Needs>
            </td>
        </tr>
    }
}

fn expires(at: Option<DateTime>) -> AnyView {
    match at {
        None => "never".into_any(),
        Some(at) if over(at) => {
            view! { <span class="badge badge-shadow">"Expired"</span>" "<When at /> }.into_any()
        }
        Some(at) => view! { <When at /> }.into_any(),
    }
}

fn over(at: DateTime) -> bool {
    at.0.as_millis() <= browser::now_ms()
}

#[component]
fn Rotate(id: String, name: String, changed: Callback<Option<IssuedKey>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (open, act) = (RwSignal::new(false), Act::with_fields(&["overlap_s"]));
    let overlap_s = RwSignal::new(86_400_u32);
    let rotate = Callback::new(move |()| {
        let (id, overlap_s) = (id.clone(), overlap_s.get_untracked());
        let work = async move { api.rotate_key(&tenant.now(), &id, overlap_s).await };
        act.run(work, move |key| {
            open.try_set(false);
            changed.run(Some(key));
        });
    });
    let label = format!("Rotate {name}");
    view! {
        <button type="button" class="button quiet-button" aria-label=label on:click=move |_| open.set(true)>"Rotate"</button>
        <Dialog title=format!("Give {name} a new secret?") open>
            <ActForm act submit="Rotate key" on_submit=rotate class="stack" cancel=Callback::new(move |()| open.set(false))>
                <p>"The new secret is shown once. Name, scopes and expiry stay as they are."</p>
                <Choice
                    label="The old secret goes on working"
                    value=overlap_s.into()
                    options=expiry::overlaps()
                    problem=act.refused("overlap_s")
                    hint="Long enough to bring the new one everywhere"
                />
            </ActForm>
        </Dialog>
    }
}

#[component]
fn Revoke(id: String, name: String, changed: Callback<Option<IssuedKey>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let session = expect_context::<Session>();
    let (open, act) = (RwSignal::new(false), Act::new());
    let consequence = format!(
        "Whatever still uses {name} gets 401 from all gates within a second. This cannot be undone."
    );
    let revoke = Callback::new(move |()| {
        let key = id.clone();
        let gone = id.clone();
        act.run(async move { api.revoke_key(&tenant.now(), &key).await }, move |()| {
            session.forget(&gone);
            changed.run(None);
        });
    });
    let label = format!("Revoke {name}");
    view! {
        <button type="button" class="button quiet-button" aria-label=label on:click=move |_| open.set(true)>"Revoke"</button>
        <ActProblem problem=act.problem />
        <ConfirmByName title="Revoke this key?" consequence name act="Revoke key" open on_confirm=revoke />
    }
}
