//! One alert, new or to be changed: what is watched, from where on it is told, and to whom.

use std::collections::BTreeSet;

use leptos::prelude::*;
use weir_domain::names;
use weir_wire::alerts::{Alert, AlertBody, AlertKind};
use weir_wire::problem::FieldProblem;
use weir_wire::rules::RuleAnswer;
use weir_wire::webhooks::Webhook;

use super::{Desk, Watchable};
use crate::api::Api;
use crate::components::act::{Act, ActForm};
use crate::components::field::{Choice, TextField, Tick};
use crate::components::rule_picker::{RulePicker, Rules};
use crate::model::alert_words::{WINDOWS, numbers, sentence};
use crate::model::rule_choice::{Choosable, by_id, name};
use crate::pages::shell::TenantId;

/// What is typed.
#[derive(Debug, Clone, Copy)]
struct Typed {
    name: RwSignal<String>,
    webhook_id: RwSignal<String>,
    enabled: RwSignal<bool>,
    kind: RwSignal<AlertKind>,
    /// The rule of a quota; empty: none yet.
    rule_id: RwSignal<String>,
    /// What a share is of: nothing, `n:` and a namespace, or `r:` and a rule.
    of: RwSignal<String>,
    thresholds: RwSignal<String>,
    share: RwSignal<String>,
    window_s: RwSignal<u32>,
    checks_min: RwSignal<String>,
}

const FIELDS: &[&str] =
    &["name", "webhook_id", "rule_id", "thresholds_percent", "share_percent", "checks_min"];

/// The form.
#[component]
pub(super) fn AlertForm(
    editing: Option<Alert>,
    webhooks: Vec<Webhook>,
    rules: Watchable,
    desk: Desk,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let typed = Typed::of(editing.as_ref().map(|it| &it.body), &webhooks, rules);
    let act = Act::with_fields(FIELDS);
    let body = Memo::new(move |_| typed.body());
    let wrong = Memo::new(move |_| body.with(|body| body.condition().err().unwrap_or_default()));
    let problem = move |field: &'static str| {
        let refused = act.refused(field);
        Signal::derive(move || {
            let found = wrong.with(|wrong: &Vec<FieldProblem>| {
                wrong.iter().find(|it| it.field == field).map(|it| it.reason.clone())
            });
            found.or_else(|| refused.get())
        })
    };
    let name_problem = act.checked("name", typed.name, names::title);
    let incomplete = Signal::derive(move || {
        typed.name.with(|name| names::title(name.trim()).is_err())
            || wrong.with(|wrong| !wrong.is_empty())
    });
    let id = editing.as_ref().map(|it| it.id.clone());
    let save = Callback::new(move |()| {
        let (id, body) = (id.clone(), body.get_untracked());
        let work = async move { api.save_alert(&tenant.now(), id.as_deref(), &body).await };
        act.run(work, move |_| {
            desk.editing.try_set(None);
            desk.changed.run(());
        });
    });
    let (title, submit) = match &editing {
        Some(alert) => (format!("Change {}", alert.body.name), "Save alert"),
        None => ("New alert".to_owned(), "Create alert"),
    };
    let leave = editing.map(|_| {
        let leave = move |_| desk.editing.set(None);
        view! { <div class="actions"><button type="button" class="button" on:click=leave>"Leave it as it is"</button></div> }
    });
    let targets = webhooks.into_iter().map(|it| (it.id, it.name)).collect();
    let said = said(body, rules.all);
    let fields = fields(typed, rules, problem);
    view! {
        <ActForm act submit on_submit=save incomplete>
            <h2>{title}</h2>
            <TextField label="Name" value=typed.name problem=name_problem hint="What to recognise it by" />
            <Choice
                label="Watch"
                value=typed.kind.into()
                options=vec![
                    (AlertKind::DenialShare, "how much is refused".to_owned()),
                    (AlertKind::Quota, "how much of a quota is used".to_owned()),
                ]
            />
            {fields}
            <Choice label="Tell" value=typed.webhook_id.into() options=targets problem=problem("webhook_id") />
            <Tick label="Switched on" value=typed.enabled.into() />
            <p class="note" aria-live="polite">{said}</p>
            {leave}
        </ActForm>
    }
}

/// What it will do, as long as that makes sense.
fn said(body: Memo<AlertBody>, rules: Rules) -> Signal<Option<String>> {
    Signal::derive(move || {
        body.with(|body| {
            body.condition().ok()?;
            let rule = body.rule_id.as_ref().and_then(|id| rules.rule(id));
            Some(sentence(body, rule.as_ref().map(name).as_deref()))
        })
    })
}

/// Those of the kind that is chosen.
fn fields(
    typed: Typed,
    rules: Watchable,
    problem: impl Fn(&'static str) -> Signal<Option<String>>,
) -> impl IntoView {
    let mut others = vec![(String::new(), "all checks".to_owned())];
    // One of a namespace whose rules are not met yet, or are gone.
    others.extend(typed.of.with_untracked(|of| {
        let known = shares_of(&rules.all.known()).iter().any(|(it, _)| it == of);
        of.strip_prefix("n:").filter(|_| !known).map(of_namespace)
    }));
    let (rule_problem, thresholds_problem) = (problem("rule_id"), problem("thresholds_percent"));
    let (share_problem, checks_problem) = (problem("share_percent"), problem("checks_min"));
    move || {
        match typed.kind.get() {
        AlertKind::Quota if rules.quotas.first().is_none() => {
            view! { <p class="warning">"No rule has a quota: give one a limit of that kind first."</p> }
                .into_any()
        }
        AlertKind::Quota => view! {
            <RulePicker label="Rule with a quota" rules=rules.quotas value=typed.rule_id.into() options=by_id problem=rule_problem />
            <TextField
                label="At percent of the quota"
                value=typed.thresholds
                problem=thresholds_problem
                hint="Up to five whole numbers, such as 80, 90, 100"
            />
        }
        .into_any(),
        AlertKind::DenialShare => view! {
            <RulePicker label="Of" rules=rules.all value=typed.of.into() options=shares_of others=others.clone() problem=rule_problem />
            <div class="row">
                <TextField label="Refused, percent" value=typed.share problem=share_problem short=true />
                <Choice
                    label="Within"
                    value=typed.window_s.into()
                    options=WINDOWS.map(|(window_s, name)| (window_s, name.to_owned())).to_vec()
                    short=true
                />
                <TextField label="Of checks at least" value=typed.checks_min problem=checks_problem short=true />
            </div>
        }
        .into_any(),
    }
    }
}

/// The namespaces of some rules, and they themselves.
fn shares_of(rules: &[RuleAnswer]) -> Vec<Choosable> {
    let namespaces: BTreeSet<_> = rules.iter().map(|it| &it.rule.namespace).collect();
    let namespaces = namespaces.into_iter().map(|it| of_namespace(it));
    let rules = rules.iter().map(|it| (format!("r:{}", it.id), format!("rule {}", name(it))));
    namespaces.chain(rules).collect()
}

fn of_namespace(namespace: &str) -> Choosable {
    (format!("n:{namespace}"), format!("namespace {namespace}"))
}

impl Typed {
    /// What is there already, or what most people want.
    fn of(alert: Option<&AlertBody>, webhooks: &[Webhook], rules: Watchable) -> Self {
        let first = |text: Option<&String>| text.cloned().unwrap_or_default();
        let rule = alert.and_then(|it| it.rule_id.as_ref());
        let quota = rules.quotas.first().map(|it| it.id);
        let of = alert.and_then(|it| match (&it.rule_id, &it.namespace) {
            (Some(rule), _) => Some(format!("r:{rule}")),
            (None, Some(namespace)) => Some(format!("n:{namespace}")),
            (None, None) => None,
        });
        let thresholds = alert
            .and_then(|it| it.thresholds_percent.as_ref())
            .map(|it| it.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
        let share = alert.and_then(|it| it.share_percent).unwrap_or(20);
        let checks_min = alert.and_then(|it| it.checks_min).unwrap_or(100);
        let webhook = alert.map(|it| &it.webhook_id).or_else(|| webhooks.first().map(|it| &it.id));
        Self {
            name: RwSignal::new(first(alert.map(|it| &it.name))),
            webhook_id: RwSignal::new(first(webhook)),
            enabled: RwSignal::new(alert.is_none_or(|it| it.enabled)),
            kind: RwSignal::new(alert.map_or(AlertKind::DenialShare, |it| it.kind)),
            rule_id: RwSignal::new(first(rule.or(quota.as_ref()))),
            of: RwSignal::new(of.unwrap_or_default()),
            thresholds: RwSignal::new(thresholds.unwrap_or_else(|| "80, 90, 100".to_owned())),
            share: RwSignal::new(share.to_string()),
            window_s: RwSignal::new(alert.and_then(|it| it.window_s).unwrap_or(300)),
            checks_min: RwSignal::new(checks_min.to_string()),
        }
    }

    /// As it is sent; what is no number becomes one that is refused.
    fn body(self) -> AlertBody {
        let mut body = AlertBody {
            name: self.name.with(|name| name.trim().to_owned()),
            webhook_id: self.webhook_id.get(),
            enabled: self.enabled.get(),
            kind: self.kind.get(),
            rule_id: None,
            namespace: None,
            thresholds_percent: None,
            share_percent: None,
            window_s: None,
            checks_min: None,
        };
        match body.kind {
            AlertKind::Quota => {
                body.rule_id = Some(self.rule_id.get()).filter(|id| !id.is_empty());
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
