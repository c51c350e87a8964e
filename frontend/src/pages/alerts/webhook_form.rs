//! Creating and editing a webhook, and its secret, shown once.

use leptos::prelude::*;
use weir_domain::names;
use weir_wire::webhooks::{IssuedWebhook, Webhook, WebhookBody};

use super::state::AlertsState;
use crate::api::Api;
use crate::components::dialog::Dialog;
use crate::components::field::TextField;
use crate::components::secret_dialog::SecretDialog;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::table::RowButton;
use crate::components::time::ExactTime;
use crate::pages::shell::TenantId;

/// The input of the form.
#[derive(Debug, Clone, Copy)]
struct FormInput {
    name: RwSignal<String>,
    url: RwSignal<String>,
}

const FIELDS: &[&str] = &["name", "url"];

/// The form of a new webhook.
#[component]
pub(super) fn WebhookForm(state: AlertsState) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (action, input) = (SubmitAction::with_fields(FIELDS), FormInput::of("", ""));
    let create = Callback::new(move |()| {
        let body = input.body(true);
        let work = api.create_webhook(&tenant.now(), &body);
        action.run(work, move |issued| {
            state.issued.try_set(Some(issued));
            state.changed.run(());
        });
    });
    view! {
        <SubmitForm action submit="Create webhook" on_submit=create incomplete=input.incomplete()>
            {input.fields(action)}
        </SubmitForm>
    }
}

/// The form that edits a webhook's name and address; the secret is unchanged.
#[component]
pub(super) fn Edit(webhook: Webhook, state: AlertsState) -> impl IntoView {
    let open = RwSignal::new(false);
    let (label, title) = (format!("Edit {}", webhook.name), format!("Change {}", webhook.name));
    let webhook = StoredValue::new(webhook);
    view! {
        <RowButton text="Edit" label on_press=move |()| open.set(true) />
        <Dialog title open>{changing(webhook.get_value(), state, open)}</Dialog>
    }
}

fn changing(webhook: Webhook, state: AlertsState, open: RwSignal<bool>) -> AnyView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (action, input) =
        (SubmitAction::with_fields(FIELDS), FormInput::of(&webhook.name, &webhook.url));
    let Webhook { id, enabled, .. } = webhook;
    let save = Callback::new(move |()| {
        let (id, body) = (id.clone(), input.body(enabled));
        let work = api.change_webhook(&tenant.now(), &id, &body);
        action.run(work, move |changed| {
            open.try_set(false);
            state.log_of.try_update(|log| {
                if let Some((id, name)) = log
                    && *id == changed.id
                {
                    *name = changed.name;
                }
            });
            state.changed.run(());
        });
    });
    let leave = Callback::new(move |()| open.set(false));
    view! {
        <SubmitForm action submit="Save webhook" on_submit=save incomplete=input.incomplete() class="stack" cancel=leave>
            <p>"Queued deliveries go to the new URL too, signed with the same secret."</p>
            {input.fields(action)}
        </SubmitForm>
    }
    .into_any()
}

impl FormInput {
    fn of(name: &str, url: &str) -> Self {
        Self { name: RwSignal::new(name.to_owned()), url: RwSignal::new(url.to_owned()) }
    }

    fn body(self, enabled: bool) -> WebhookBody {
        let text =
            |signal: RwSignal<String>| signal.with_untracked(|signal| signal.trim().to_owned());
        WebhookBody { name: text(self.name), url: text(self.url), enabled }
    }

    fn incomplete(self) -> Signal<bool> {
        Signal::derive(move || {
            self.name.with(|name| names::title(name.trim()).is_err())
                || self.url.with(|url| url.trim().is_empty())
        })
    }

    fn fields(self, action: SubmitAction) -> AnyView {
        let name_problem = action.validated("name", self.name, names::title);
        let url_problem = action.validated("url", self.url, url);
        view! {
            <TextField
                label="Webhook name"
                value=self.name
                problem=name_problem
                hint="For example on-call"
            />
            <TextField
                label="URL"
                kind="url"
                value=self.url
                problem=url_problem
                hint="A public HTTPS URL that receives signed POST requests"
            />
        }
        .into_any()
    }
}

/// Whether a text is a URL, or the beginning of one. The server decides which URLs it sends to.
fn url(typed: &str) -> Result<(), String> {
    let is_url = |scheme: &str| typed.starts_with(scheme) || scheme.starts_with(typed);
    let problem = || "must begin with https://".to_owned();
    if is_url("https://") || is_url("http://") { Ok(()) } else { Err(problem()) }
}

/// The secret of a new or rotated webhook.
#[component]
pub(super) fn Secret(issued: IssuedWebhook, state: AlertsState) -> impl IntoView {
    let previous = issued.webhook.previous_expires_at;
    let before = move || {
        let at = previous?;
        Some(
            view! { <p>"Deliveries are also signed with the previous secret until "<ExactTime at />"."</p> },
        )
    };
    view! {
        <SecretDialog
            title=format!("Secret of {}", issued.webhook.name)
            notice="Verify signatures with this secret (Standard Webhooks). Copy it now: it is shown only once."
            secret=Signal::stored(issued.secret.0)
            copy="Copy secret"
            stored=move |()| state.issued.set(None)
        >
            {before()}
        </SecretDialog>
    }
}
