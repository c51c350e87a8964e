//! The form of a new or existing alert.

use std::collections::BTreeSet;

use leptos::prelude::*;
use weir_domain::names;
use weir_wire::alerts::{Alert, AlertBody, AlertKind};
use weir_wire::problem::FieldProblem;
use weir_wire::rules::RuleAnswer;
use weir_wire::webhooks::Webhook;

use super::backtest::Backtest;
use super::state::{AlertTargets, AlertsState};
use super::webhook_form::kind_label;
use crate::api::Api;
use crate::components::field::{Binding, Checkbox, Choice, GroupProblem, TextField};
use crate::components::owner::OwnerQuestion;
use crate::components::rule_picker::{RulePicker, Rules};
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::model::alert_labels::{WINDOWS, numbers, sentence};
use crate::model::rule_choice::{RuleOption, by_id, name};
use crate::pages::shell::TenantId;

/// The input of the form.
#[derive(Debug, Clone, Copy)]
struct FormInput {
    name: RwSignal<String>,
    webhook_ids: RwSignal<Vec<String>>,
    enabled: RwSignal<bool>,
    kind: RwSignal<AlertKind>,
    /// The rule of a quota alert; empty if none is chosen.
    rule_id: RwSignal<String>,
    /// The customer of a quota alert; empty for all.
    customer: RwSignal<String>,
    /// The scope of a denial rate: empty, `n:` and a namespace, or `r:` and a rule.
    of: RwSignal<String>,
    thresholds: RwSignal<String>,
    share: RwSignal<String>,
    window_s: RwSignal<u32>,
    checks_min: RwSignal<String>,
}

const FIELDS: &[&str] = &[
    "name",
    "webhook_ids",
    "rule_id",
    "customer",
    "thresholds_percent",
    "share_percent",
    "checks_min",
];

#[component]
pub(super) fn AlertForm(
    editing: Option<Alert>,
    webhooks: Vec<Webhook>,
    rules: AlertTargets,
    state: AlertsState,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let input = FormInput::of(editing.as_ref().map(|alert| &alert.body), &webhooks, rules);
    let action = SubmitAction::with_fields(FIELDS);
    let body = Memo::new(move |_| input.body());
    let wrong = Memo::new(move |_| body.with(|body| body.condition().err().unwrap_or_default()));
    let problem = move |field: &'static str| {
        let rejected = action.server_problem(field);
        Signal::derive(move || {
            let found = wrong.with(|wrong: &Vec<FieldProblem>| {
                wrong
                    .iter()
                    .find(|problem| problem.field == field)
                    .map(|problem| problem.reason.clone())
            });
            found.or_else(|| rejected.get())
        })
    };
    let name_problem = action.validated("name", input.name, names::title);
    let set = editing.as_ref().and_then(|alert| alert.managed_by.clone());
    let confirmed = RwSignal::new(set.is_none());
    let incomplete = Signal::derive(move || {
        !confirmed.get()
            || input.webhook_ids.with(Vec::is_empty)
            || input.name.with(|name| names::title(name.trim()).is_err())
            || wrong.with(|wrong| !wrong.is_empty())
    });
    let submit = if editing.is_some() { "Save alert" } else { "Create alert" };
    let id = editing.map(|alert| alert.id);
    let save = Callback::new(move |()| {
        let (id, body) = (id.clone(), body.get_untracked());
        let work = api.save_alert(&tenant.now(), id.as_deref(), &body);
        action.run(work, move |_| {
            state.form_open.try_set(false);
            state.changed.run(());
        });
    });
    let cancel = Callback::new(move |()| state.form_open.set(false));
    let problem_text = problem_text(body, rules.all);
    let fields = fields(input, rules, problem);
    view! {
        <SubmitForm action submit on_submit=save incomplete cancel>
            {set.map(|set| view! { <OwnerQuestion set what="alert" confirmed /> })}
            <TextField label="Name" value=input.name problem=name_problem hint="For example Login denials" />
            <Choice
                label="Condition"
                value=input.kind.into()
                options=vec![
                    (AlertKind::DenialShare, "Denial rate".to_owned()),
                    (AlertKind::Quota, "Quota usage".to_owned()),
                ]
            />
            {fields}
            <fieldset>
                <legend>"Notify"</legend>
                {webhooks.into_iter().map(|webhook| notified(webhook, input.webhook_ids)).collect_view()}
                <GroupProblem problem=problem("webhook_ids") />
            </fieldset>
            <Checkbox label="Enabled" value=input.enabled.into() />
            <p class="note" aria-live="polite">{problem_text}</p>
            <Backtest alert=body />
        </SubmitForm>
    }
}

/// Whether a webhook receives the announcements.
fn notified(webhook: Webhook, chosen: RwSignal<Vec<String>>) -> impl IntoView {
    let Webhook { id, name, kind, .. } = webhook;
    let is_chosen = {
        let id = id.clone();
        Signal::derive(move || chosen.with(|ids| ids.contains(&id)))
    };
    let set = Callback::new(move |checked| {
        chosen.update(|ids| {
            ids.retain(|other| *other != id);
            ids.extend(Some(id.clone()).filter(|_| checked));
        });
    });
    let label = format!("{name} ({})", kind_label(kind));
    view! { <Checkbox label value=Binding { value: is_chosen, set } /> }
}

/// The alert as a sentence, while the input is valid.
fn problem_text(body: Memo<AlertBody>, rules: Rules) -> Signal<Option<String>> {
    Signal::derive(move || {
        body.with(|body| {
            body.condition().ok()?;
            let rule = body.rule_id.as_ref().and_then(|id| rules.rule(id));
            Some(sentence(body, rule.as_ref().map(name).as_deref()))
        })
    })
}

/// The fields of the chosen kind.
fn fields(
    input: FormInput,
    rules: AlertTargets,
    problem: impl Fn(&'static str) -> Signal<Option<String>>,
) -> impl IntoView {
    let mut others = vec![(String::new(), "All checks".to_owned())];
    // The scope can be a namespace whose rules have not been loaded or no longer exist.
    others.extend(input.of.with_untracked(|of| {
        let known = scope_options(&rules.all.known()).iter().any(|(scope, _)| scope == of);
        of.strip_prefix("n:").filter(|_| !known).map(namespace_option)
    }));
    let (rule_problem, thresholds_problem) = (problem("rule_id"), problem("thresholds_percent"));
    let customer_problem = problem("customer");
    let has_customers = rules.customer_attribute.with_value(Option::is_some);
    let (share_problem, checks_problem) = (problem("share_percent"), problem("checks_min"));
    move || {
        match input.kind.get() {
        AlertKind::Quota if rules.quotas.first().is_none() => {
            view! { <p class="warning">"No rule has a quota yet. Add a calendar quota to a rule first."</p> }
                .into_any()
        }
        AlertKind::Quota => view! {
            <RulePicker label="Rule with a quota" rules=rules.quotas value=input.rule_id.into() options=by_id problem=rule_problem />
            {has_customers.then(|| view! {
                <TextField label="Customer" value=input.customer problem=customer_problem hint="Empty: all" />
            })}
            <TextField
                label="Percent of the quota"
                value=input.thresholds
                problem=thresholds_problem
                hint="Up to five percentages, for example 80, 90, 100"
            />
        }
        .into_any(),
        AlertKind::DenialShare => view! {
            <RulePicker label="Scope" rules=rules.all value=input.of.into() options=scope_options others=others.clone() problem=rule_problem />
            <div class="row">
                <TextField label="Denial rate (%)" value=input.share problem=share_problem short=true />
                <Choice
                    label="Within"
                    value=input.window_s.into()
                    options=WINDOWS.map(|(window_s, name)| (window_s, name.to_owned())).to_vec()
                    short=true
                />
                <TextField label="Minimum checks" value=input.checks_min problem=checks_problem short=true />
            </div>
        }
        .into_any(),
    }
    }
}

/// The namespaces of the rules, and the rules.
fn scope_options(rules: &[RuleAnswer]) -> Vec<RuleOption> {
    let namespaces: BTreeSet<_> = rules.iter().map(|rule| &rule.rule.namespace).collect();
    let namespaces = namespaces.into_iter().map(|namespace| namespace_option(namespace));
    let rules = rules.iter().map(|rule| (format!("r:{}", rule.id), format!("rule {}", name(rule))));
    namespaces.chain(rules).collect()
}

fn namespace_option(namespace: &str) -> RuleOption {
    (format!("n:{namespace}"), format!("namespace {namespace}"))
}

impl FormInput {
    /// The input for an existing alert, or useful defaults.
    fn of(alert: Option<&AlertBody>, webhooks: &[Webhook], rules: AlertTargets) -> Self {
        let first = |text: Option<&String>| text.cloned().unwrap_or_default();
        let rule = alert.and_then(|alert| alert.rule_id.as_ref());
        let quota = rules.quotas.first().map(|rule| rule.id);
        let of = alert.and_then(|alert| match (&alert.rule_id, &alert.namespace) {
            (Some(rule), _) => Some(format!("r:{rule}")),
            (None, Some(namespace)) => Some(format!("n:{namespace}")),
            (None, None) => None,
        });
        let thresholds =
            alert.and_then(|alert| alert.thresholds_percent.as_ref()).map(|thresholds| {
                thresholds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            });
        let share = alert.and_then(|alert| alert.share_percent).unwrap_or(20);
        let checks_min = alert.and_then(|alert| alert.checks_min).unwrap_or(100);
        let first_webhook = || webhooks.iter().take(1).map(|webhook| webhook.id.clone()).collect();
        let webhook_ids = alert.map_or_else(first_webhook, |alert| alert.webhook_ids.clone());
        Self {
            name: RwSignal::new(first(alert.map(|alert| &alert.name))),
            webhook_ids: RwSignal::new(webhook_ids),
            enabled: RwSignal::new(alert.is_none_or(|alert| alert.enabled)),
            kind: RwSignal::new(alert.map_or(AlertKind::DenialShare, |alert| alert.kind)),
            rule_id: RwSignal::new(first(rule.or(quota.as_ref()))),
            customer: RwSignal::new(first(alert.and_then(|alert| alert.customer.as_ref()))),
            of: RwSignal::new(of.unwrap_or_default()),
            thresholds: RwSignal::new(thresholds.unwrap_or_else(|| "80, 90, 100".to_owned())),
            share: RwSignal::new(share.to_string()),
            window_s: RwSignal::new(alert.and_then(|alert| alert.window_s).unwrap_or(300)),
            checks_min: RwSignal::new(checks_min.to_string()),
        }
    }

    /// The body to send; numbers that cannot be parsed become values that the API rejects.
    fn body(self) -> AlertBody {
        let mut body = AlertBody {
            name: self.name.with(|name| name.trim().to_owned()),
            webhook_ids: self.webhook_ids.get(),
            enabled: self.enabled.get(),
            kind: self.kind.get(),
            rule_id: None,
            namespace: None,
            customer: None,
            thresholds_percent: None,
            share_percent: None,
            window_s: None,
            checks_min: None,
        };
        match body.kind {
            AlertKind::Quota => {
                body.rule_id = Some(self.rule_id.get()).filter(|id| !id.is_empty());
                body.customer = Some(self.customer.get()).filter(|name| !name.is_empty());
                body.thresholds_percent = Some(self.thresholds.with(|text| numbers(text)));
            }
            AlertKind::DenialShare => {
                let of = self.of.get();
                body.namespace = of.strip_prefix("n:").map(str::to_owned);
                body.rule_id = of.strip_prefix("r:").map(str::to_owned);
                body.share_percent = Some(self.share.with(|text| text.trim().parse().unwrap_or(0)));
                body.window_s = Some(self.window_s.get());
                let checks_min = self.checks_min.with(|text| text.trim().parse().unwrap_or(0));
                body.checks_min = Some(checks_min);
            }
        }
        body
    }
}
