//! The secret of a new or rotated key: shown once, until the person confirms that it is stored.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::api_keys::IssuedKey;

use crate::browser;
use crate::components::secret_dialog::SecretDialog;
use crate::components::time::ExactTime;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Secret(issued_key: IssuedKey, stored: Callback<()>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let what = if issued_key.previous_expires_at.is_some() { "New secret of" } else { "Key" };
    let title = format!("{what} {}", issued_key.name);
    let previous = issued_key.previous_expires_at;
    let before = move || {
        let at = previous?;
        if at.0.as_millis() <= browser::now_ms() {
            return Some(view! { <p>"The old secret has been revoked."</p> }.into_any());
        }
        Some(view! { <p>"The old secret is valid until "<ExactTime at />"."</p> }.into_any())
    };
    let navigate = use_navigate();
    let test =
        Callback::new(move |()| navigate(&tenant.page_now("test"), NavigateOptions::default()));
    view! {
        <SecretDialog
            title
            notice="Copy it now: it is shown only once."
            secret=Signal::stored(issued_key.secret)
            copy="Copy key"
            stored
            next=("Saved, send a real check", test)
        >
            {before()}
        </SecretDialog>
    }
}
