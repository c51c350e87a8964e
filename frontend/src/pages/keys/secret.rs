//! The secret of a new or rotated key: shown once, until the person confirms that it is stored.

use leptos::html;
use leptos::prelude::*;
use weir_wire::api_keys::IssuedKey;

use crate::browser;
use crate::components::copy::CodeBlock;
use crate::components::time::ExactTime;
use crate::pages::shell::TenantId;

/// The panel with the secret; takes focus.
#[component]
pub(super) fn Secret(issued_key: IssuedKey, stored: Callback<()>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let heading = NodeRef::<html::H2>::new();
    Effect::new(move |_| {
        if let Some(heading) = heading.get() {
            drop(heading.focus());
        }
    });
    let what = if issued_key.previous_expires_at.is_some() { "New secret of " } else { "Key " };
    let before = issued_key.previous_expires_at.map(|at| {
        if at.0.as_millis() <= browser::now_ms() {
            return view! { <p>"The old secret has been revoked."</p> }.into_any();
        }
        view! { <p>"The old secret is valid until "<ExactTime at />"."</p> }.into_any()
    });
    view! {
        <div class="panel" role="group" aria-label="New key">
            <h2 node_ref=heading tabindex="-1">{what}{issued_key.name}</h2>
            <p>"Copy it now: it is shown only once."</p>
            <CodeBlock code=issued_key.secret label="Copy key" />
            {before}
            <div class="actions">
                <button type="button" class="button primary" on:click=move |_| stored.run(())>"I have saved it"</button>
                <a class="button" href=move || tenant.page("test")>"Send a real check"</a>
            </div>
        </div>
    }
}
