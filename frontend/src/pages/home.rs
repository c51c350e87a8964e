//! The start page: redirects to the overview of the last used tenant, and to its first rule while it has none.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

use crate::api::{Api, Problem};
use crate::browser;
use crate::components::control_flow::Show;
use crate::components::feedback::LoadingSkeleton;
use crate::components::remote_data::{fetch_data, show};
use crate::pages::shell::LAST_TENANT;
use crate::session::{Session, SessionState};

/// Redirects; shows a problem if that fails.
#[component]
pub fn Home() -> impl IntoView {
    let session = expect_context::<Session>();
    let signed_in = Memo::new(move |_| matches!(session.state(), SessionState::SignedIn(_)));
    view! {
        <Show when=move || signed_in.get() fallback=|| view! { <main class="narrow"><LoadingSkeleton /></main> }>
            <Redirect />
        </Show>
    }
}

#[component]
fn Redirect() -> impl IntoView {
    let api = expect_context::<Api>();
    let target = fetch_data(move || start(api).boxed_local());
    let navigate = use_navigate();
    Effect::new(move |_| {
        if let Some(target) = target.data() {
            navigate(&target, NavigateOptions { replace: true, ..NavigateOptions::default() });
        }
    });
    view! { <main class="narrow">{show(target, |_| ())}</main> }
}

/// The path to start at: "Get started" for a tenant without rules.
async fn start(api: Api) -> Result<String, Problem> {
    let memberships = api.me().await?.memberships;
    let last = browser::stored(LAST_TENANT);
    let last =
        last.and_then(|last| memberships.iter().find(|membership| membership.tenant_id == last));
    let Some(tenant) = last.or(memberships.first()).map(|membership| &membership.tenant_id) else {
        return Ok("/tenants".to_owned());
    };
    let page = if api.has_rules(tenant).await? { "overview" } else { "start" };
    Ok(format!("/t/{tenant}/{page}"))
}
