//! The start: straight to the tenant last looked at.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::api::Api;
use crate::browser;
use crate::components::feedback::Skeleton;
use crate::components::load::{load, loaded};
use crate::pages::shell::LAST_TENANT;
use crate::session::{Session, SessionState};

/// Leads on; shows only what went wrong.
#[component]
pub fn Home() -> impl IntoView {
    let session = expect_context::<Session>();
    let signed_in = Memo::new(move |_| matches!(session.state(), SessionState::SignedIn(_)));
    view! {
        <Show when=move || signed_in.get() fallback=|| view! { <main class="narrow"><Skeleton /></main> }>
            <LeadOn />
        </Show>
    }
}

#[component]
fn LeadOn() -> impl IntoView {
    let api = expect_context::<Api>();
    let me = load(move || api.me());
    let navigate = use_navigate();
    Effect::new(move |_| {
        let Some(me) = me.data() else { return };
        let last = browser::stored(LAST_TENANT);
        let member = |id: &String| me.memberships.iter().any(|it| it.tenant_id == *id);
        let tenant =
            last.filter(member).or_else(|| me.memberships.first().map(|it| it.tenant_id.clone()));
        let target = tenant.map_or_else(|| "/tenants".to_owned(), |id| format!("/t/{id}/rules"));
        navigate(&target, NavigateOptions { replace: true, ..NavigateOptions::default() });
    });
    view! { <main class="narrow">{loaded(me, |_| ())}</main> }
}
