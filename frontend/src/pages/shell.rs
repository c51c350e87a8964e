//! What surrounds the pages of a tenant: where one is, where one can go, who one is.

mod palette;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::components::{A, Outlet};
use leptos_router::hooks::{use_location, use_navigate, use_params_map};
use weir_wire::sessions::Me;

use crate::access::Access;
use crate::api::Api;
use crate::browser;
use crate::components::feedback::{ProblemPanel, Skeleton, Warning};
use crate::components::load::{Load, load};
use crate::components::theme::ThemeSwitch;
use crate::pages::later::fetch_ahead;
use crate::session::{Session, SessionState};
use palette::Palette;

/// The tenant of the address, for the pages inside.
#[derive(Debug, Clone, Copy)]
pub struct TenantId(Memo<String>);

impl TenantId {
    /// Its id; tracked.
    pub fn get(self) -> String {
        self.0.get()
    }

    /// Its id, for handlers.
    pub fn now(self) -> String {
        self.0.get_untracked()
    }

    /// The address of one of its pages; tracked.
    pub fn page(self, page: &str) -> String {
        format!("/t/{}/{page}", self.get())
    }
}

/// The frame; its pages begin once somebody is signed in.
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
        <Show when=move || signed_in.get() fallback=|| view! { <main class="narrow"><Skeleton /></main> }>
            <Frame />
        </Show>
    }
}

#[component]
fn Frame() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let me = load(move || api.me());
    provide_context(me);
    let membership = Memo::new(move |_| {
        let id = tenant.get();
        me.data().and_then(|me| me.memberships.into_iter().find(|it| it.tenant_id == id))
    });
    provide_context(Access::new(Memo::new(move |_| membership.get().map(|it| it.role))));
    Effect::new(move |_| {
        if let Some(membership) = membership.get() {
            browser::store(LAST_TENANT, &membership.tenant_id);
        }
    });
    Effect::new(move |begun: Option<bool>| {
        let here = me.data().is_some();
        if here && begun != Some(true) {
            fetch_ahead();
        }
        here || begun == Some(true)
    });
    // Without it neither the tenants nor the role are known, whatever the page says of its own data.
    let unknown = move || {
        let retry = Callback::new(move |()| me.again());
        me.problem().map(|problem| view! { <ProblemPanel problem retry /> })
    };
    let pathname = use_location().pathname;
    Effect::new(move |_| {
        pathname.track();
        browser::show_current_page();
    });
    let suspended = move || membership.get().is_some_and(|it| it.suspended);
    let off = move || membership.get().is_some_and(|it| !it.enforcement.is_on());
    let off_everywhere =
        move || membership.get().is_some_and(|it| !it.installation_enforcement.is_on());
    view! {
        <div class="shell">
            <a class="skip" href="#content">"Skip to the page"</a>
            <aside class="side">
                <p class="brand">"Weir"</p>
                <TenantSwitch me />
                <Palette />
                <nav aria-label="Pages">
                    {PAGES.map(|(page, name)| view! { <A href=move || tenant.page(page)>{name}</A> })}
                </nav>
                <Account />
            </aside>
            <main id="content" class="content">
                <Show when=suspended>
                    <Warning>"This tenant is suspended: checks are refused and nothing can be changed."</Warning>
                </Show>
                <Show when=off_everywhere>
                    <div class="problem" role="alert">
                        <p class="problem-title">"Limits are off for every tenant"</p>
                        <p>"An operator has turned them off: every check is allowed, and nothing is counted against a limit."</p>
                    </div>
                </Show>
                <Show when=off>
                    <div class="problem" role="alert">
                        <p class="problem-title">"Limits are off"</p>
                        <p>"Every check of this tenant is allowed, and nothing is counted against a limit. "<a href=tenant.page("settings")>"Turn them on in the settings"</a>"."</p>
                    </div>
                </Show>
                {unknown}
                <Outlet />
            </main>
        </div>
    }
}

#[component]
fn TenantSwitch(me: Load<Me>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let navigate = use_navigate();
    let choose = move |event| {
        let id = event_target_value(&event);
        let target = if id.is_empty() { "/tenants".to_owned() } else { format!("/t/{id}/rules") };
        navigate(&target, NavigateOptions::default());
    };
    let options = move || {
        let memberships = me.data().map(|me| me.memberships).unwrap_or_default();
        let here = tenant.get();
        let known = memberships.iter().any(|it| it.tenant_id == here);
        let items: Vec<_> = memberships
            .into_iter()
            .map(|it| {
                let chosen = it.tenant_id == here;
                view! { <option value=it.tenant_id prop:selected=chosen>{it.tenant_name}</option> }
            })
            .collect();
        let other =
            (!known).then(|| view! { <option value=here.clone() prop:selected=true>"…"</option> });
        view! { {other}{items}<option value="">"All tenants and new…"</option> }
    };
    view! {
        <label class="tenant-switch">
            <span class="hidden">"Tenant"</span>
            <select on:change=choose>{options}</select>
        </label>
    }
}

/// Who is signed in, the theme, and the way out.
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
            <p class="quiet email" title=email>{email}</p>
            <ThemeSwitch />
            <a href="/docs" rel="external" target="_blank">"API reference"</a>
            <button type="button" class="button" on:click=sign_out>"Sign out"</button>
        </div>
    }
}

/// Where the browser keeps which tenant was looked at last.
pub const LAST_TENANT: &str = "weir.tenant";

/// The pages of a tenant, in the order of the navigation: address and name.
const PAGES: [(&str, &str); 13] = [
    ("start", "Get started"),
    ("overview", "Overview"),
    ("live", "Live"),
    ("rules", "Rules"),
    ("overrides", "Overrides"),
    ("test", "Test"),
    ("what-if", "What-if"),
    ("alerts", "Alerts"),
    ("keys", "Keys"),
    ("members", "Members"),
    ("audit", "Audit"),
    ("replicas", "Replicas"),
    ("settings", "Settings"),
];
