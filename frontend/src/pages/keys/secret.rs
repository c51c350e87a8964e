//! The secret of a key that was just made or rotated: shown once, until somebody says that it is stored.

use leptos::html;
use leptos::prelude::*;
use weir_wire::api_keys::IssuedKey;

use crate::browser;
use crate::components::copy::CodeBlock;
use crate::components::time::Exactly;
use crate::pages::shell::TenantId;

/// The panel; the keyboard goes there, wherever the key was made.
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
            return view! { <p>"The old secret has stopped working."</p> }.into_any();
        }
        view! { <p>"The old secret works until "<Exactly at />"."</p> }.into_any()
    });
    view! {
        <div class="panel" role="group" aria-label="New key">
            <h2 node_ref=heading tabindex="-1">{what}{issued_key.name}</h2>
            <p>"Store it now: it is shown this one time."</p>
            <CodeBlock code=issued_key.secret label="Copy the key" />
            {before}
            <div class="actions">
                <button type="button" class="button primary" on:click=move |_| stored.run(())>"I stored it"</button>
                <a class="button" href=move || tenant.page("test")>"Try it with a real check"</a>
            </div>
        </div>
    }
}
