//! The start: straight to the tenant last looked at, and to its first rule while it has none.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::api::{Api, Problem};
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
    let target = load(move || async move { start(api).await });
    let navigate = use_navigate();
    Effect::new(move |_| {
        if let Some(target) = target.data() {
            navigate(&target, NavigateOptions { replace: true, ..NavigateOptions::default() });
        }
    });
    view! { <main class="narrow">{loaded(target, |_| ())}</main> }
}

/// The address to begin at: where there are no rules yet, how to get the first.
async fn start(api: Api) -> Result<String, Problem> {
    let memberships = api.me().await?.memberships;
    let last = browser::stored(LAST_TENANT);
    let last = last.and_then(|last| memberships.iter().find(|it| it.tenant_id == last));
    let Some(tenant) = last.or(memberships.first()).map(|it| &it.tenant_id) else {
        return Ok("/tenants".to_owned());
    };
    let page = if api.has_rules(tenant).await? { "rules" } else { "start" };
    Ok(format!("/t/{tenant}/{page}"))
}
