//! Alerts, and the webhooks that they are sent to.

mod alert_form;
mod alert_table;
mod backtest;
mod deliveries;
mod state;
mod webhook_form;
mod webhook_table;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_wire::alerts::Alert;
use weir_wire::tenants::Role;
use weir_wire::time::DateTime;
use weir_wire::webhooks::{Webhook, WebhookHealth};

use crate::api::{Api, Problem, RuleFeature, RuleSelection};
use crate::components::dialog::Drawer;
use crate::components::feedback::{Empty, Skeleton, Warning};
use crate::components::guide_link::GuideLink;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show_shaped};
use crate::components::require_role::{RequireRole, RoleButton};
use crate::components::rule_picker::RuleOptions;
use crate::components::timer::repeat;
use crate::components::url_state::open_from_url;
use crate::pages::rule_options;
use crate::pages::shell::TenantId;
use alert_form::AlertForm;
use alert_table::alert_table;
use deliveries::Deliveries;
use state::{AlertTargets, AlertsState};
use webhook_form::{Secret, WebhookForm};
use webhook_table::WebhookTable;

/// The data of the page.
#[derive(Debug, Clone)]
struct PageData {
    alerts: Vec<Alert>,
    webhooks: Vec<Webhook>,
    rules: RuleOptions,
    quotas: RuleOptions,
    customer_attribute: Option<String>,
}

#[component]
pub fn Alerts() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let page_data = fetch_data(move || {
        let tenant = tenant.get();
        async move { page_data(api, &tenant).await }.boxed_local()
    });
    let deliveries_added = RwSignal::new(0);
    let (health, fired) = (health(deliveries_added), fired());
    let state = AlertsState {
        changed: Callback::new(move |()| page_data.refetch()),
        editing: RwSignal::new(None),
        form_open: RwSignal::new(false),
        issued: RwSignal::new(None),
        log_of: RwSignal::new(None),
        health,
        fired,
        deliveries_added,
    };
    let new_webhook = open_from_url("webhook");
    let secret = move || state.issued.get().map(|issued| view! { <Secret issued state /> });
    Effect::new(move |_| {
        if state.issued.with(Option::is_some) {
            new_webhook.set(false);
        }
    });
    // An alert needs a webhook.
    let usable = Memo::new(move |_| page_data.data().is_some_and(|data| !data.webhooks.is_empty()));
    let new_alert = move || {
        usable.get().then(|| {
            view! { <RoleButton role=Role::Editor text="New alert" class="button primary" on_press=move |()| state.edit(None) /> }
        })
    };
    let log = move || state.log_of.get().map(|(id, name)| view! { <Deliveries id name state /> });
    view! {
        <PageHeader
            title="Alerts"
            lead="Get notified when denials spike or a quota runs low."
        >
            <RoleButton role=Role::Admin text="New webhook" on_press=move |()| new_webhook.set(true) />
            {new_alert}
        </PageHeader>
        <Drawer title="New webhook" open=new_webhook><WebhookForm state created=Callback::new(move |()| new_webhook.set(false)) /></Drawer>
        <RequireRole role=Role::Admin reason_shown=true>{secret}</RequireRole>
        {show_shaped(page_data, Skeleton::Table, move |data| view! { <Content data state /> })}
        {log}
    }
}

/// The results of deliveries by webhook, read every few seconds, because a failing receiver must not go unnoticed.
fn health(deliveries_added: RwSignal<u32>) -> Memo<BTreeMap<String, WebhookHealth>> {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let webhooks = fetch_data(move || {
        deliveries_added.track();
        let tenant = tenant.get();
        api.webhooks(&tenant)
    });
    repeat(|| Some(Duration::from_secs(5)), move || webhooks.poll());
    let by_id = |webhooks: Vec<Webhook>| {
        webhooks.into_iter().filter_map(|webhook| Some((webhook.id, webhook.health?))).collect()
    };
    webhooks.latest(by_id)
}

/// When each alert fired last, read again and again: people keep this page open to see it.
fn fired() -> Memo<BTreeMap<String, DateTime>> {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let alerts = fetch_data(move || api.alerts(&tenant.get()));
    repeat(|| Some(Duration::from_secs(10)), move || alerts.poll());
    let by_id = |alerts: Vec<Alert>| {
        alerts.into_iter().filter_map(|alert| Some((alert.id, alert.fired_at?))).collect()
    };
    alerts.latest(by_id)
}

/// Names the webhooks whose receivers do not accept deliveries.
#[component]
fn Failing(webhooks: Vec<Webhook>, state: AlertsState) -> impl IntoView {
    move || {
        let fails = |webhook: &&Webhook| {
            state
                .health
                .with(|health| health.get(&webhook.id).is_some_and(|health| health.failing > 0))
        };
        let names: Vec<_> =
            webhooks.iter().filter(fails).map(|webhook| webhook.name.clone()).collect();
        (!names.is_empty()).then(|| {
            let text = format!(
                "Deliveries fail: {}. Alerts of these webhooks do not arrive.",
                names.join(", ")
            );
            view! { <Warning><p>{text}</p></Warning> }
        })
    }
}

/// Alerts and webhooks, once both have loaded.
#[component]
fn Content(data: PageData, state: AlertsState) -> impl IntoView {
    if data.webhooks.is_empty() {
        return view! {
            <Empty title="No webhooks yet">
                <p>"Alerts are sent to webhooks: signed POST requests to your URL, messages in Slack, incidents in PagerDuty, or e-mail. Create a webhook first. "<GuideLink page="alerts" text="About alerts" /></p>
            </Empty>
        }
        .into_any();
    }
    let PageData { alerts, webhooks, rules, quotas, customer_attribute } = data;
    let rules = AlertTargets {
        all: rule_options::known_rules(rules, RuleSelection::default()),
        quotas: rule_options::known_rules(quotas, RuleSelection::with(RuleFeature::Quota)),
        customer_attribute: StoredValue::new(customer_attribute),
    };
    let form_webhooks = webhooks.clone();
    let title = move || match state.editing.get() {
        None => "New alert".to_owned(),
        Some(alert) => format!("Change {}", alert.body.name),
    };
    let table = alert_table(alerts.clone(), &webhooks, rules.all, state);
    view! {
        <Failing webhooks=webhooks.clone() state />
        <Drawer title=Signal::derive(title) open=state.form_open>
            <AlertForm editing=state.editing.get_untracked() webhooks=form_webhooks.clone() rules state />
        </Drawer>
        {table}
        <h2>"Webhooks"</h2>
        <WebhookTable webhooks alerts state />
    }
    .into_any()
}

async fn page_data(api: Api, tenant: &str) -> Result<PageData, Problem> {
    let having = [RuleFeature::Anything, RuleFeature::Quota].map(RuleSelection::with);
    let (alerts, webhooks, all, quotas, settings) = futures_util::future::join5(
        api.alerts(tenant),
        api.webhooks(tenant),
        api.search_rules(tenant, &having[0], ""),
        api.search_rules(tenant, &having[1], ""),
        api.tenant(tenant),
    )
    .await;
    let (alerts, all, quotas) = (alerts?, all?, quotas?);
    let known: BTreeSet<_> = all.data.iter().chain(&quotas.data).map(|rule| &rule.id).collect();
    let named = alerts.iter().filter_map(|alert| alert.body.rule_id.clone());
    let named: BTreeSet<_> = named.filter(|id| !known.contains(id)).collect();
    let mut named = api.rules_by_ids(tenant, &named.into_iter().collect::<Vec<_>>()).await?;
    named.extend_from_slice(&quotas.data);
    Ok(PageData {
        alerts,
        webhooks: webhooks?,
        quotas: RuleOptions { first: quotas, named: named.clone() },
        rules: RuleOptions { first: all, named },
        customer_attribute: settings?.customer_attribute,
    })
}
