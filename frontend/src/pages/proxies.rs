//! Profiles: how the requests that proxies ask about become checks.

mod form;
mod revisions;
mod state;
mod table;
mod tester;

use leptos::prelude::*;
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::dialog::Drawer;
use crate::components::guide_link::GuideLink;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show_table};
use crate::components::require_role::RoleButton;
use crate::pages::shell::TenantId;
use form::ProfileForm;
use revisions::ProfileRevisions;
use state::ProxiesState;
use table::ProfileTable;

#[component]
pub fn Proxies() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let profiles = fetch_data(move || api.profiles(&tenant.get()));
    let state = ProxiesState {
        changed: Callback::new(move |()| profiles.refetch()),
        editing: RwSignal::new(None),
        open: RwSignal::new(false),
        history: RwSignal::new(None),
        history_open: RwSignal::new(false),
    };
    let new = move |()| {
        state.editing.set(None);
        state.open.set(true);
    };
    let title = move || match state.editing.get() {
        None => "New profile".to_owned(),
        Some(before) => format!("Change {}", before.profile.name),
    };
    let history_title = move || match state.history.get() {
        None => "Revisions".to_owned(),
        Some(now) => format!("Revisions of {}", now.profile.name),
    };
    let history = move || {
        let now = state.history.get_untracked();
        now.map(|now| view! { <ProfileRevisions now state /> })
    };
    view! {
        <PageHeader
            title="Proxies"
            lead="A profile turns the requests that a proxy asks about into checks."
        >
            <RoleButton role=Role::Editor text="New profile" class="button primary" on_press=new />
        </PageHeader>
        <p><GuideLink page="proxies/index" text="Set up nginx, Traefik, Caddy, HAProxy or Envoy" /></p>
        {show_table(profiles, move |profiles| view! { <ProfileTable profiles state /> })}
        <Drawer title=Signal::derive(title) open=state.open>
            <ProfileForm editing=state.editing.get_untracked() state />
        </Drawer>
        <Drawer title=Signal::derive(history_title) open=state.history_open>{history()}</Drawer>
    }
}
