//! The table of profiles.

use leptos::prelude::*;
use weir_domain::profile;
use weir_wire::profiles::ProfileAnswer;
use weir_wire::tenants::Role;

use super::state::ProxiesState;
use crate::api::Api;
use crate::components::feedback::Empty;
use crate::components::owner::files_mark;
use crate::components::require_role::RequireRole;
use crate::components::table::{ConfirmedCall, NameCell, ObjectTable, RowButton};
use crate::model::owners;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn ProfileTable(profiles: Vec<ProfileAnswer>, state: ProxiesState) -> impl IntoView {
    if profiles.is_empty() {
        return view! {
            <Empty title="No profiles yet">
                <p>"A proxy asks "<code>"/authorize/{profile}"</code>" on a gate before it forwards a request. Envoy can call the rate limit service instead."</p>
            </Empty>
        }
        .into_any();
    }
    let rows: Vec<_> = profiles.into_iter().map(|profile| row(profile, state)).collect();
    view! {
        <ObjectTable label="Profiles" columns=&["Name", "Proxy", "Namespace", "Attributes", "Files"]>{rows}</ObjectTable>
    }
    .into_any()
}

fn row(answer: ProfileAnswer, state: ProxiesState) -> AnyView {
    let (id, name) = (answer.id.clone(), answer.profile.name.clone());
    let proxy = profile::Reads::from(answer.profile.reads).title();
    let namespace = answer.profile.namespace.clone();
    let attributes = match &answer.profile.domain {
        Some(domain) => format!("of the domain {domain}"),
        None => answer.profile.attributes.keys().cloned().collect::<Vec<_>>().join(", "),
    };
    let shown = answer.clone();
    let history = move |()| {
        state.history.set(Some(shown.clone()));
        state.history_open.set(true);
    };
    let set = answer.managed_by.clone();
    let files = files_mark(set.as_ref(), answer.edited);
    let edit = move |()| {
        state.editing.set(Some(answer.clone()));
        state.open.set(true);
    };
    view! {
        <tr>
            <NameCell name=name.clone() enabled=true />
            <td>{proxy}</td>
            <td>{namespace}</td>
            <td class="text-cell">{attributes}</td>
            <td>{files}</td>
            <td class="number">
                <RowButton text="Revisions" label=format!("Revisions of {name}") on_press=history />
                <RequireRole role=Role::Editor reason_shown=true>
                    <RowButton text="Edit" label=format!("Edit {name}") on_press=edit />
                    <Delete id name set state />
                </RequireRole>
            </td>
        </tr>
    }
    .into_any()
}

#[component]
fn Delete(id: String, name: String, set: Option<String>, state: ProxiesState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let owner = owners::sentence("profile", "profiles", &[set]).unwrap_or_default();
    let consequence = format!(
        "Proxies that ask by this profile get 503. Most then forward requests without a limit, or refuse all of them. {owner}"
    );
    let call = move |()| api.delete_profile(&tenant.now(), &id);
    view! {
        <ConfirmedCall text="Delete" name title="Delete this profile?" consequence confirm="Delete profile" call done=state.changed />
    }
}
