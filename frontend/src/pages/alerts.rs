//! Alerts: what is told and when, the webhooks it is told to, and what came of that.

mod alert_form;
mod alert_lines;
mod deliveries;
mod webhook_form;
mod webhook_lines;

use leptos::prelude::*;
use weir_wire::alerts::Alert;
use weir_wire::limits::LimitBody;
use weir_wire::tenants::Role;
use weir_wire::webhooks::{IssuedWebhook, Webhook};

use crate::api::{Api, Problem};
use crate::components::feedback::Empty;
use crate::components::load::{load, loaded};
use crate::components::needs::Needs;
use crate::components::page::PageHead;
use crate::pages::shell::TenantId;
use alert_form::AlertForm;
use alert_lines::alert_lines;
use deliveries::Deliveries;
use webhook_form::{Secret, WebhookForm};
use webhook_lines::WebhookLines;

/// A rule as far as alerts are about it.
#[derive(Debug, Clone, PartialEq)]
struct Watched {
    id: String,
    /// Namespace and name.
    name: String,
    namespace: String,
    has_quota: bool,
}

/// Everything the page shows.
#[derive(Debug, Clone)]
struct Everything {
    alerts: Vec<Alert>,
    webhooks: Vec<Webhook>,
    rules: Vec<Watched>,
}

/// What is being done on the page; cheap to copy.
#[derive(Debug, Clone, Copy)]
struct Desk {
    changed: Callback<()>,
    /// The alert that is being changed.
    editing: RwSignal<Option<Alert>>,
    /// A webhook with its secret, until somebody says that it is stored.
    issued: RwSignal<Option<IssuedWebhook>>,
    /// The webhook whose log is shown.
    log_of: RwSignal<Option<(String, String)>>,
    /// Rises when something was put into that log.
    sent: RwSignal<u32>,
}

/// The page.
#[component]
pub fn Alerts() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let everything = load(move || {
        let tenant = tenant.get();
        async move { everything(api, &tenant).await }
    });
    let desk = Desk {
        changed: Callback::new(move |()| everything.again()),
        editing: RwSignal::new(None),
        issued: RwSignal::new(None),
        log_of: RwSignal::new(None),
        sent: RwSignal::new(0),
    };
    let head = move || match desk.issued.get() {
        Some(issued) => view! { <Secret issued desk /> }.into_any(),
        None => view! { <WebhookForm desk /> }.into_any(),
    };
    let log = move || desk.log_of.get().map(|(id, name)| view! { <Deliveries id name desk /> });
    view! {
        <PageHead
            title="Alerts"
            lead="Have a signed request sent when somebody has nearly used up a quota, or when much is refused."
        />
        {loaded(everything, move |data| view! { <Told data desk /> })}
        <Needs role=Role::Admin>{head}</Needs>
        {log}
    }
}

/// Alerts and webhooks, once both are known.
#[component]
fn Told(data: Everything, desk: Desk) -> impl IntoView {
    if data.webhooks.is_empty() {
        return view! {
            <Empty title="No webhooks yet.">
                <p>"An alert is told to a webhook: an address of yours that gets a signed request. Create one below."</p>
            </Empty>
        }
        .into_any();
    }
    let Everything { alerts, webhooks, rules } = data;
    let (form_webhooks, form_rules) = (webhooks.clone(), rules.clone());
    // Another alert to change is another form.
    let form = move || {
        let editing = desk.editing.get();
        let (webhooks, rules) = (form_webhooks.clone(), form_rules.clone());
        view! { <AlertForm editing webhooks rules desk /> }
    };
    let lines = alert_lines(alerts, &webhooks, &rules, desk);
    view! {
        <Needs role=Role::Editor>{form}</Needs>
        {lines}
        <h2>"Webhooks"</h2>
        <WebhookLines webhooks desk />
    }
    .into_any()
}

async fn everything(api: Api, tenant: &str) -> Result<Everything, Problem> {
    let (alerts, webhooks, rules) =
        futures_util::future::join3(api.alerts(tenant), api.webhooks(tenant), api.rules(tenant))
            .await;
    let watched = |it: weir_wire::rules::RuleAnswer| Watched {
        id: it.id,
        name: format!("{}/{}", it.rule.namespace, it.rule.name),
        has_quota: it.rule.limits.iter().any(|it| matches!(it, LimitBody::Quota { .. })),
        namespace: it.rule.namespace,
    };
    let rules = rules?.into_iter().map(watched).collect();
    Ok(Everything { alerts: alerts?, webhooks: webhooks?, rules })
}
