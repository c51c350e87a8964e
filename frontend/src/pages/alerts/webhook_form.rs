//! A new webhook, another name or address for one, and its secret: shown once, until somebody says that it is stored.

use leptos::html;
use leptos::prelude::*;
use weir_domain::names;
use weir_wire::webhooks::{IssuedWebhook, Webhook, WebhookBody};

use super::Desk;
use crate::api::Api;
use crate::components::act::{Act, ActForm};
use crate::components::copy::CodeBlock;
use crate::components::dialog::Dialog;
use crate::components::field::TextField;
use crate::components::time::Exactly;
use crate::pages::shell::TenantId;

/// What is typed.
#[derive(Debug, Clone, Copy)]
struct Typed {
    name: RwSignal<String>,
    url: RwSignal<String>,
}

const FIELDS: &[&str] = &["name", "url"];

/// The form of a new one.
#[component]
pub(super) fn WebhookForm(desk: Desk) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (act, typed) = (Act::with_fields(FIELDS), Typed::of("", ""));
    let create = Callback::new(move |()| {
        let body = typed.body(true);
        let work = async move { api.create_webhook(&tenant.now(), &body).await };
        act.run(work, move |issued| {
            desk.issued.try_set(Some(issued));
            desk.changed.run(());
        });
    });
    view! {
        <ActForm act submit="Create webhook" on_submit=create incomplete=typed.incomplete()>
            <h2>"New webhook"</h2>
            {typed.fields(act)}
        </ActForm>
    }
}

/// The way to another name or address; what signs stays.
#[component]
pub(super) fn Edit(webhook: Webhook, desk: Desk) -> impl IntoView {
    let open = RwSignal::new(false);
    let (label, title) = (format!("Edit {}", webhook.name), format!("Change {}", webhook.name));
    let webhook = StoredValue::new(webhook);
    view! {
        <button type="button" class="button quiet-button" aria-label=label on:click=move |_| open.set(true)>"Edit"</button>
        <Dialog title open>{changing(webhook.get_value(), desk, open)}</Dialog>
    }
}

fn changing(webhook: Webhook, desk: Desk, open: RwSignal<bool>) -> AnyView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (act, typed) = (Act::with_fields(FIELDS), Typed::of(&webhook.name, &webhook.url));
    let Webhook { id, enabled, .. } = webhook;
    let save = Callback::new(move |()| {
        let (id, body) = (id.clone(), typed.body(enabled));
        let work = async move { api.change_webhook(&tenant.now(), &id, &body).await };
        act.run(work, move |changed| {
            open.try_set(false);
            desk.log_of.try_update(|log| {
                if let Some((id, name)) = log
                    && *id == changed.id
                {
                    *name = changed.name;
                }
            });
            desk.changed.run(());
        });
    });
    let leave = Callback::new(move |()| open.set(false));
    view! {
        <ActForm act submit="Save webhook" on_submit=save incomplete=typed.incomplete() class="stack" cancel=leave>
            <p>"What is still to be told is sent there too, and signed with the same secret."</p>
            {typed.fields(act)}
        </ActForm>
    }
    .into_any()
}

impl Typed {
    fn of(name: &str, url: &str) -> Self {
        Self { name: RwSignal::new(name.to_owned()), url: RwSignal::new(url.to_owned()) }
    }

    fn body(self, enabled: bool) -> WebhookBody {
        let text = |it: RwSignal<String>| it.with_untracked(|it| it.trim().to_owned());
        WebhookBody { name: text(self.name), url: text(self.url), enabled }
    }

    fn incomplete(self) -> Signal<bool> {
        Signal::derive(move || {
            self.name.with(|name| names::title(name.trim()).is_err())
                || self.url.with(|url| url.trim().is_empty())
        })
    }

    fn fields(self, act: Act) -> AnyView {
        let name_problem = act.checked("name", self.name, names::title);
        view! {
            <TextField
                label="Webhook name"
                value=self.name
                problem=name_problem
                hint="What to recognise it by, such as on call"
            />
            <TextField
                label="URL"
                kind="url"
                value=self.url
                problem=act.refused("url")
                hint="https, on the public internet; it gets a signed POST"
            />
        }
        .into_any()
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
