//! Creating and editing a webhook, and its secret, shown once.

use leptos::prelude::*;
use weir_domain::names;
use weir_domain::webhook::{ROUTING_KEY_CHARS, is_routing_key};
use weir_wire::webhooks::{IssuedWebhook, RoutingKey, Webhook, WebhookBody, WebhookKind};

use super::state::AlertsState;
use crate::api::Api;
use crate::components::dialog::Dialog;
use crate::components::field::{Choice, TextField};
use crate::components::secret_dialog::SecretDialog;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::table::RowButton;
use crate::components::time::ExactTime;
use crate::pages::shell::TenantId;

/// The input of the form.
#[derive(Debug, Clone, Copy)]
struct FormInput {
    name: RwSignal<String>,
    kind: RwSignal<WebhookKind>,
    url: RwSignal<String>,
    routing_key: RwSignal<String>,
    addresses: RwSignal<String>,
}

const FIELDS: &[&str] = &["name", "kind", "url", "routing_key", "addresses"];

/// The form of a new webhook.
#[component]
pub(super) fn WebhookForm(state: AlertsState, created: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (action, input) = (SubmitAction::with_fields(FIELDS), FormInput::empty());
    let create = Callback::new(move |()| {
        let body = input.body(true);
        let work = api.create_webhook(&tenant.now(), &body);
        action.run(work, move |issued| {
            if issued.secret.is_some() {
                state.issued.try_set(Some(issued));
            }
            created.run(());
            state.changed.run(());
        });
    });
    let kinds = KINDS.map(|kind| (kind, kind_label(kind).to_owned())).to_vec();
    view! {
        <SubmitForm action submit="Create webhook" on_submit=create incomplete=input.incomplete(true)>
            {input.name_field(action)}
            <Choice label="Kind" value=input.kind.into() options=kinds problem=action.server_problem("kind") />
            {move || input.target_fields(action, input.kind.get(), false)}
        </SubmitForm>
    }
}

/// The form that edits a webhook's name and target; its kind and the secret of signatures are unchanged.
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
    let (action, input) = (SubmitAction::with_fields(FIELDS), FormInput::of(&webhook));
    let Webhook { id, kind, enabled, .. } = webhook;
    let note = match kind {
        WebhookKind::Standard => {
            "Queued deliveries go to the new URL too, signed with the same secret."
        }
        WebhookKind::Slack | WebhookKind::Pagerduty => "Queued deliveries go to the new URL too.",
        WebhookKind::Email => "Queued messages still go to the former addresses.",
        WebhookKind::CustomerEmail => "The addresses are in the assignments of the customers.",
    };
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
        <SubmitForm action submit="Save webhook" on_submit=save incomplete=input.incomplete(false) class="stack" cancel=leave>
            <p>{note}</p>
            {input.name_field(action)}
            {input.target_fields(action, kind, true)}
        </SubmitForm>
    }
    .into_any()
}

/// The kinds, in the order of the form.
const KINDS: [WebhookKind; 5] = [
    WebhookKind::Standard,
    WebhookKind::Slack,
    WebhookKind::Pagerduty,
    WebhookKind::Email,
    WebhookKind::CustomerEmail,
];

/// The name of a kind.
pub(super) const fn kind_label(kind: WebhookKind) -> &'static str {
    match kind {
        WebhookKind::Standard => "Signed POST",
        WebhookKind::Slack => "Slack",
        WebhookKind::Pagerduty => "PagerDuty",
        WebhookKind::Email => "E-mail",
        WebhookKind::CustomerEmail => "E-mail to customers",
    }
}

impl FormInput {
    fn empty() -> Self {
        let text = || RwSignal::new(String::new());
        let kind = RwSignal::new(WebhookKind::Standard);
        Self { name: text(), kind, url: text(), routing_key: text(), addresses: text() }
    }

    fn of(webhook: &Webhook) -> Self {
        let input = Self::empty();
        input.name.set(webhook.name.clone());
        input.kind.set(webhook.kind);
        input.url.set(webhook.url.clone().unwrap_or_default());
        input.addresses.set(webhook.addresses.join(", "));
        input
    }

    fn body(self, enabled: bool) -> WebhookBody {
        let text =
            |signal: RwSignal<String>| signal.with_untracked(|signal| signal.trim().to_owned());
        let given = |signal| Some(text(signal)).filter(|text| !text.is_empty());
        let mut body = WebhookBody {
            name: text(self.name),
            kind: self.kind.get_untracked(),
            url: None,
            routing_key: None,
            addresses: Vec::new(),
            enabled,
        };
        match body.kind {
            WebhookKind::Standard | WebhookKind::Slack => body.url = Some(text(self.url)),
            WebhookKind::Pagerduty => {
                body.url = given(self.url);
                body.routing_key = given(self.routing_key).map(RoutingKey);
            }
            WebhookKind::Email => {
                body.addresses = self.addresses.with_untracked(|typed| list(typed));
            }
            WebhookKind::CustomerEmail => {}
        }
        body
    }

    /// Whether a field is missing; a new webhook needs its key.
    fn incomplete(self, is_new: bool) -> Signal<bool> {
        let is_empty = |signal: RwSignal<String>| signal.with(|text| text.trim().is_empty());
        Signal::derive(move || {
            self.name.with(|name| names::title(name.trim()).is_err())
                || match self.kind.get() {
                    WebhookKind::Standard | WebhookKind::Slack => is_empty(self.url),
                    WebhookKind::Pagerduty => is_new && is_empty(self.routing_key),
                    WebhookKind::Email => self.addresses.with(|typed| list(typed).is_empty()),
                    WebhookKind::CustomerEmail => false,
                }
        })
    }

    fn name_field(self, action: SubmitAction) -> AnyView {
        let problem = action.validated("name", self.name, names::title);
        view! { <TextField label="Webhook name" value=self.name problem hint="For example on-call" /> }
            .into_any()
    }

    /// The fields of a kind.
    fn target_fields(self, action: SubmitAction, kind: WebhookKind, stored: bool) -> AnyView {
        let url_problem = action.validated("url", self.url, url);
        let url_field = |hint: &'static str| {
            view! { <TextField label="URL" kind="url" value=self.url problem=url_problem hint /> }
        };
        match kind {
            WebhookKind::Standard => {
                url_field("A public HTTPS URL that receives signed POST requests").into_any()
            }
            WebhookKind::Slack => {
                url_field("The URL of an incoming webhook, from the settings of Slack").into_any()
            }
            WebhookKind::Pagerduty => {
                let problem = action.validated("routing_key", self.routing_key, routing_key);
                let hint = if stored {
                    "Leave it empty to keep the key; another URL needs it again"
                } else {
                    "The integration key of a service, with the Events API v2"
                };
                view! {
                    <TextField label="Integration key" value=self.routing_key problem hint />
                    {url_field("Empty for the US region, https://events.eu.pagerduty.com/v2/enqueue for the EU")}
                }
                .into_any()
            }
            WebhookKind::Email => {
                let problem = action.server_problem("addresses");
                view! {
                    <TextField label="Recipients" value=self.addresses problem hint="Up to ten e-mail addresses, separated by commas" />
                }
                .into_any()
            }
            WebhookKind::CustomerEmail => view! {
                <p>
                    "For alerts on quotas: each customer gets those about itself, at the address in its assignment."
                </p>
            }
            .into_any(),
        }
    }
}

/// The addresses in a text.
fn list(typed: &str) -> Vec<String> {
    let addresses = typed.split([',', ';', ' ']).map(str::trim);
    addresses.filter(|address| !address.is_empty()).map(str::to_owned).collect()
}

fn routing_key(typed: &str) -> Result<(), String> {
    let problem = || format!("must be {ROUTING_KEY_CHARS} letters and digits");
    is_routing_key(typed).then_some(()).ok_or_else(problem)
}

/// Whether a text is a URL, or the beginning of one. The server decides which URLs it sends to.
fn url(typed: &str) -> Result<(), String> {
    let is_url = |scheme: &str| typed.starts_with(scheme) || scheme.starts_with(typed);
    let problem = || "must begin with https://".to_owned();
    if is_url("https://") || is_url("http://") { Ok(()) } else { Err(problem()) }
}

/// The secret of a new or rotated standard webhook.
#[component]
pub(super) fn Secret(issued: IssuedWebhook, state: AlertsState) -> impl IntoView {
    let secret = issued.secret.map(|secret| secret.0).unwrap_or_default();
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
            secret=Signal::stored(secret)
            copy="Copy secret"
            stored=move |()| state.issued.set(None)
        >
            {before()}
        </SecretDialog>
    }
}
