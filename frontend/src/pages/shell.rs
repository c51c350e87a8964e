//! The frame around the pages of a tenant: navigation, tenant switch, account.

mod account;
mod fired;
mod navigation;
mod notices;
mod palette;
mod seen;
mod shortcuts;
mod status;
mod tenant;

use std::collections::BTreeSet;
use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::components::Outlet;
use leptos_router::hooks::{use_location, use_navigate, use_params_map};
use weir_wire::sessions::Me;

use crate::access::Access;
use crate::api::Api;
use crate::browser;
use crate::components::control_flow::Show;
use crate::components::feedback::{Empty, LoadingSkeleton, ProblemPanel};
use crate::components::icon::Icon;
use crate::components::logo::Logo;
use crate::components::namespace::SharedNamespace;
use crate::components::page::PageHeader;
use crate::components::region::KnownRegions;
use crate::components::remote_data::{RemoteData, fetch_data};
use crate::components::timer::repeat;
use crate::pages::lazy::fetch_ahead;
use crate::session::{Session, SessionState};
pub use account::Account;
use fired::provide_fired;
use navigation::{BottomTabs, Navigation};
use notices::Notices;
use palette::Palette;
pub use palette::server_hits;
use seen::provide_seen;
use shortcuts::{Shortcuts, ShortcutsOpen};
use status::StatusStrip;
pub use tenant::TenantId;

/// The frame; its pages render once the person is signed in.
#[component]
pub fn Shell() -> impl IntoView {
    let session = expect_context::<Session>();
    let params = use_params_map();
    let tenant = TenantId(Memo::new(move |_| {
        params.with(|params| params.get("tenant")).unwrap_or_default()
    }));
    provide_context(tenant);
    let namespace = SharedNamespace::new();
    provide_context(namespace);
    provide_context(KnownRegions(RwSignal::new(BTreeSet::new())));
    Effect::new(move |_| {
        tenant.get();
        namespace.clear();
    });
    let signed_in = Memo::new(move |_| matches!(session.state(), SessionState::SignedIn(_)));
    view! {
        <Show when=move || signed_in.get() fallback=|| view! {
            <main class="narrow"><h1 class="hidden">"Signing in"</h1><LoadingSkeleton /></main>
        }>
            <Frame />
        </Show>
    }
}

#[component]
fn Frame() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let me = fetch_data(move || api.me());
    provide_context(me);
    provide_seen(api, tenant);
    let known = latest(me);
    provide_fired(api, tenant, Signal::derive(move || known.with(Option::is_some)));
    let (searching, shortcuts) = (RwSignal::new(false), RwSignal::new(false));
    provide_context(ShortcutsOpen(shortcuts));
    let membership = Memo::new(move |_| {
        let id = tenant.get();
        known
            .get()
            .and_then(|me| me.memberships.into_iter().find(|membership| membership.tenant_id == id))
    });
    provide_context(Access::new(Memo::new(move |_| {
        membership.get().map(|membership| membership.role)
    })));
    Effect::new(move |_| {
        if let Some(membership) = membership.get() {
            browser::store(LAST_TENANT, &membership.tenant_id);
        }
    });
    Effect::new(move |prefetched: Option<bool>| {
        let loaded = known.with(Option::is_some);
        if loaded && prefetched != Some(true) {
            fetch_ahead();
        }
        loaded || prefetched == Some(true)
    });
    // Without this data neither the tenants nor the role are known, even if the page itself has loaded.
    let unknown = move || {
        let retry = Callback::new(move |()| me.refetch());
        let problem =
            me.problem().filter(|problem| known.with(Option::is_none) && !problem.is_unreachable());
        problem.map(|problem| view! { <ProblemPanel problem retry /> })
    };
    // Until the memberships are known, the page loads as if the person were a member.
    let is_foreign =
        Memo::new(move |_| known.with(Option::is_some) && membership.with(Option::is_none));
    // The page is made anew for another tenant, so that it shows nothing of the one before.
    let page = move || {
        tenant.get();
        view! { <Outlet /> }
    };
    view! {
        <Show when=move || !is_foreign.get() fallback=|| view! { <UnknownTenant /> }>
            <div class="shell">
                <a class="skip" href="#content">"Skip to content"</a>
                <aside class="side">
                    <a class="brand" href="/"><Logo /></a>
                    <TenantSwitch known />
                    <Palette open=searching />
                    <Navigation />
                    <div class="side-foot"><StatusStrip /><Account /></div>
                </aside>
                <main id="content" class="content">
                    <Notices membership />
                    {unknown}
                    {page}
                </main>
                <BottomTabs />
                <Shortcuts open=shortcuts searching />
            </div>
        </Show>
    }
}

/// The page for a tenant that does not exist, or of which the person is not a member.
#[component]
fn UnknownTenant() -> impl IntoView {
    view! {
        <main class="narrow">
            <a class="brand" href="/"><Logo /></a>
            <PageHeader title="Tenant not found" />
            <Empty title="This tenant does not exist, or you are not a member.">
                <p><a href="/tenants">"Your tenants"</a></p>
            </Empty>
            <Account />
        </main>
    }
}

/// The last answer, read again every minute, because others change roles and turn limits off. Pages that show `me` in a
/// form do not see these answers, so that no input is lost.
fn latest(me: RemoteData<Me>) -> Memo<Option<Me>> {
    let api = expect_context::<Api>();
    let latest = RwSignal::new(None);
    Effect::new(move |_| {
        if let Some(answer) = me.data() {
            latest.set(Some(answer));
        }
    });
    let read = move || {
        spawn_local(async move {
            if let Ok(answer) = api.me().await {
                latest.try_set(Some(answer));
            }
        });
    };
    repeat(|| Some(Duration::from_mins(1)), read);
    Memo::new(move |_| latest.get())
}

#[component]
fn TenantSwitch(known: Memo<Option<Me>>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let (navigate, path) = (use_navigate(), use_location().pathname);
    let choose = move |event| {
        let id = event_target_value(&event);
        // The same page of the other tenant, but not the same rule, which it does not have.
        let page =
            path.with_untracked(|path| path.split('/').nth(3).unwrap_or_default().to_owned());
        let target = if id.is_empty() { "/tenants".to_owned() } else { format!("/t/{id}/{page}") };
        navigate(&target, NavigateOptions::default());
    };
    let options = move || {
        let memberships = known.get().map(|me| me.memberships).unwrap_or_default();
        let current = tenant.get();
        let known = memberships.iter().any(|membership| membership.tenant_id == current);
        let items: Vec<_> = memberships
            .into_iter()
            .map(|membership| {
                let chosen = membership.tenant_id == current;
                view! { <option value=membership.tenant_id prop:selected=chosen>{membership.tenant_name}</option> }
            })
            .collect();
        let other = (!known)
            .then(|| view! { <option value=current.clone() prop:selected=true>"…"</option> });
        view! { {other}{items}<option value="">"Switch or create tenant…"</option> }
    };
    view! {
        <label class="tenant-switch">
            <span class="hidden">"Tenant"</span>
            <select on:change=choose>{options}</select>
            <Icon name="chevrons-up-down" />
        </label>
    }
}

/// The local storage key of the last used tenant.
pub const LAST_TENANT: &str = "weir.tenant";
