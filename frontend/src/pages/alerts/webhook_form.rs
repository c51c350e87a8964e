//! A new webhook, and its secret: shown once, until somebody says that it is stored.

use leptos::html;
use leptos::prelude::*;
use weir_domain::names;
use weir_wire::webhooks::{IssuedWebhook, WebhookBody};

use super::Desk;
use crate::api::Api;
use crate::components::act::{Act, ActForm};
use crate::components::copy::CodeBlock;
use crate::components::field::TextField;
use crate::components::time::Exactly;
use crate::pages::shell::TenantId;

/// The form.
#[component]
pub(super) fn WebhookForm(desk: Desk) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let act = Act::with_fields(&["name", "url"]);
    let (name, url) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let create = Callback::new(move |()| {
        let text = |it: RwSignal<String>| it.with_untracked(|it| it.trim().to_owned());
        let body = WebhookBody { name: text(name), url: text(url), enabled: true };
        let work = async move { api.create_webhook(&tenant.now(), &body).await };
        act.run(work, move |issued| {
            desk.issued.try_set(Some(issued));
            desk.changed.run(());
        });
    });
    let incomplete = Signal::derive(move || {
        name.with(|name| names::title(name.trim()).is_err())
            || url.with(|url| url.trim().is_empty())
    });
    let name_problem = act.checked("name", name, names::title);
    view! {
        <ActForm act submit="Create webhook" on_submit=create incomplete>
            <h2>"New webhook"</h2>
            <TextField label="Webhook name" value=name problem=name_problem hint="What to recognise it by, such as on call" />
            <TextField
                label="URL"
                kind="url"
                value=url
                problem=act.refused("url")
                hint="https, on the public internet; it gets a signed POST"
            />
        </ActForm>
    }
}

/// The panel; the keyboard goes there.
#[component]
pub(super) fn Secret(issued: IssuedWebhook, desk: Desk) -> impl IntoView {
    let heading = NodeRef::<html::H2>::new();
    Effect::new(move |_| {
        if let Some(heading) = heading.get() {
            drop(heading.focus());
        }
    });
    let before = issued.webhook.previous_expires_at.map(|at| {
        view! { <p>"Messages are signed with the secret before as well until "<Exactly at />"."</p> }
    });
    view! {
        <div class="panel" role="group" aria-label="New webhook">
            <h2 node_ref=heading tabindex="-1">"Secret of "{issued.webhook.name}</h2>
            <p>"Check signatures with it, as Standard Webhooks says. Store it now: it is shown this one time."</p>
            <CodeBlock code=issued.secret.0 label="Copy the secret" />
            {before}
            <div class="actions">
                <button type="button" class="button primary" on:click=move |_| desk.issued.set(None)>"I stored it"</button>
            </div>
        </div>
    }
}
