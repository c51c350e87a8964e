//! Alerts: what is told and when, the webhooks it is told to, and what came of that.

mod alert_form;
mod alert_lines;
mod deliveries;
mod webhook_form;
mod webhook_lines;

use std::collections::BTreeSet;

use leptos::prelude::*;
use weir_wire::alerts::Alert;
use weir_wire::tenants::Role;
use weir_wire::webhooks::{IssuedWebhook, Webhook};

use crate::api::{Api, Having, Problem};
use crate::components::feedback::Empty;
use crate::components::load::{load, loaded};
use crate::components::needs::Needs;
use crate::components::page::PageHead;
use crate::components::rule_picker::{Rules, SomeRules};
use crate::pages::shell::TenantId;
use crate::pages::some_rules;
use alert_form::AlertForm;
use alert_lines::alert_lines;
use deliveries::Deliveries;
use webhook_form::{Secret, WebhookForm};
use webhook_lines::WebhookLines;

/// Everything the page shows.
#[derive(Debug, Clone)]
struct Everything {
    alerts: Vec<Alert>,
    webhooks: Vec<Webhook>,
    rules: SomeRules,
    quotas: SomeRules,
}

/// The rules of the page; cheap to copy.
#[derive(Debug, Clone, Copy)]
struct Watchable {
    all: Rules,
    /// Those with a quota.
    quotas: Rules,
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
    let Everything { alerts, webhooks, rules, quotas } = data;
    let rules = Watchable {
        all: some_rules::rules(rules, Having::Anything),
        quotas: some_rules::rules(quotas, Having::Quota),
    };
    let form_webhooks = webhooks.clone();
    // Another alert to change is another form.
    let form = move || {
        let editing = desk.editing.get();
        let webhooks = form_webhooks.clone();
        view! { <AlertForm editing webhooks rules desk /> }
    };
    let lines = alert_lines(alerts, &webhooks, rules.all, desk);
    view! {
        <Needs role=Role::Editor>{form}</Needs>
        {lines}
        <h2>"Webhooks"</h2>
        <WebhookLines webhooks desk />
    }
    .into_any()
}

async fn everything(api: Api, tenant: &str) -> Result<Everything, Problem> {
    let (alerts, webhooks, all, quotas) = futures_util::future::join4(
        api.alerts(tenant),
        api.webhooks(tenant),
        api.rules_with(tenant, Having::Anything, ""),
        api.rules_with(tenant, Having::Quota, ""),
    )
    .await;
    let (alerts, all, quotas) = (alerts?, all?, quotas?);
    let known: BTreeSet<_> = all.data.iter().chain(&quotas.data).map(|it| &it.id).collect();
    let named = alerts.iter().filter_map(|it| it.body.rule_id.clone());
    let named: BTreeSet<_> = named.filter(|id| !known.contains(id)).collect();
    let mut named = api.rules_of(tenant, &named.into_iter().collect::<Vec<_>>()).await?;
    named.extend_from_slice(&quotas.data);
    Ok(Everything {
        alerts,
        webhooks: webhooks?,
        quotas: SomeRules { first: quotas, named: named.clone() },
        rules: SomeRules { first: all, named },
    })
}
