//! The frame around the pages of a tenant: navigation, tenant switch, account.

mod palette;
mod tenant;

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::components::{A, Outlet};
use leptos_router::hooks::{use_location, use_navigate, use_params_map};
use weir_wire::sessions::Me;

use crate::access::Access;
use crate::api::Api;
use crate::browser;
use crate::components::feedback::{LoadingSkeleton, ProblemPanel, Warning};
use crate::components::guide_link::GuideLink;
use crate::components::remote_data::{RemoteData, fetch_data};
use crate::components::theme::ThemeSwitch;
use crate::components::timer::repeat;
use crate::pages::lazy::fetch_ahead;
use crate::session::{Session, SessionState};
use palette::Palette;
use tenant::PAGES;
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
    let signed_in = Memo::new(move |_| matches!(session.state(), SessionState::SignedIn(_)));
    view! {
        <Show when=move || signed_in.get() fallback=|| view! { <main class="narrow"><LoadingSkeleton /></main> }>
            <Frame />
        </Show>
    }
}

#[component]
fn Frame() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let me = fetch_data(move || api.me());
    provide_context(me);
    let known = latest(me);
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
        let problem = me.problem().filter(|_| known.with(Option::is_none));
        problem.map(|problem| view! { <ProblemPanel problem retry /> })
    };
    let pathname = use_location().pathname;
    Effect::new(move |_| {
        pathname.track();
        browser::show_current_page();
    });
    let suspended = move || membership.get().is_some_and(|membership| membership.suspended);
    let off = move || membership.get().is_some_and(|membership| !membership.enforcement.is_on());
    let off_everywhere = move || {
        membership.get().is_some_and(|membership| !membership.installation_enforcement.is_on())
    };
    view! {
        <div class="shell">
            <a class="skip" href="#content">"Skip to content"</a>
            <aside class="side">
                <p class="brand">"Weir"</p>
                <TenantSwitch known />
                <Palette />
                <nav aria-label="Pages">
                    {PAGES.map(|(page, name)| view! { <A href=move || tenant.page(page)>{name}</A> })}
                </nav>
                <Account />
            </aside>
            <main id="content" class="content">
                <Show when=suspended>
                    <Warning>"This tenant is suspended. Checks are denied and changes are disabled."</Warning>
                </Show>
                <Show when=off_everywhere>
                    <div class="problem" role="alert">
                        <p class="problem-title">"Limits are off for every tenant"</p>
                        <p>"An operator turned limits off. Every check is allowed, and nothing is counted."</p>
                    </div>
                </Show>
                <Show when=off>
                    <div class="problem" role="alert">
                        <p class="problem-title">"Limits are off"</p>
                        <p>"Every check of this tenant is allowed, and nothing is counted. "<a href=tenant.page("settings")>"Turn limits on in Settings"</a>"."</p>
                    </div>
                </Show>
                {unknown}
                <Outlet />
            </main>
        </div>
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
    let navigate = use_navigate();
    let choose = move |event| {
        let id = event_target_value(&event);
        let target = if id.is_empty() { "/tenants".to_owned() } else { format!("/t/{id}/rules") };
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
        </label>
    }
}

/// The signed-in person, the theme switch and the sign-out button.
#[component]
pub fn Account() -> impl IntoView {
    let (session, api) = (expect_context::<Session>(), expect_context::<Api>());
    let email = move || match session.state() {
        SessionState::SignedIn(signed_in) => signed_in.user.email,
        SessionState::Unknown | SessionState::SignedOut(_) => String::new(),
    };
    let sign_out = move |_| spawn_local(api.sign_out());
    view! {
        <div class="account">
            <p class="muted email" title=email>{email}</p>
            <ThemeSwitch />
            <GuideLink page="" text="Guide" />
            <a href="/docs" rel="external" target="_blank">"API reference"</a>
            <button type="button" class="button" on:click=sign_out>"Sign out"</button>
        </div>
    }
}

/// The local storage key of the last used tenant.
pub const LAST_TENANT: &str = "weir.tenant";
