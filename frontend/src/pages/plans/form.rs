//! Creating and editing a plan.

use futures_util::{FutureExt as _, TryFutureExt as _};
use leptos::prelude::*;
use weir_domain::names;
use weir_domain::quantity::counted;
use weir_domain::rule::DESCRIPTION_CHARS_MAX;
use weir_wire::page::Page;
use weir_wire::plans::{PlanAnswer, PlanBody, RULES_PER_PLAN_MAX};
use weir_wire::problem::FieldProblem;
use weir_wire::rules::RuleAnswer;

use super::planned_rule::{PlannedRule, PlannedRuleFields};
use super::state::{OpenPlan, PlansState};
use crate::api::{Api, RuleFeature, RuleSelection};
use crate::browser;
use crate::components::control_flow::For;
use crate::components::feedback::Skeleton;
use crate::components::field::{Checkbox, TextArea, TextField};
use crate::components::input::Input;
use crate::components::owner::OwnerQuestion;
use crate::components::remote_data::{fetch_data, show_shaped};
use crate::components::rule_picker::{RuleOptions, RulePicker, Rules};
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::toast::Toasts;

use crate::model::plan_text::fits;
use crate::model::rule_choice;
use crate::pages::shell::TenantId;

/// The form, once the tenant's rules have loaded.
#[component]
pub(super) fn PlanForm(
    before: Option<PlanAnswer>,
    /// The attribute that names customers.
    attribute: String,
    state: PlansState,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let attribute = StoredValue::new(attribute);
    let search = Callback::new(move |text: String| {
        let having = RuleSelection::with(RuleFeature::CountBy);
        let page = api.search_rules(&tenant.now(), &having, &text);
        let fitting = move |mut page: Page<RuleAnswer>| {
            attribute.with_value(|name| page.data.retain(|rule| fits(&rule.rule, name)));
            page
        };
        page.map_ok(fitting).boxed_local()
    });
    let rules = fetch_data(move || search.run(String::new()));
    show_shaped(rules, Skeleton::Form, move |first| {
        let rules = Rules::new(RuleOptions { first, named: Vec::new() }, search);
        view! { <Fields before=before.clone() attribute=attribute.get_value() rules state /> }
    })
}

#[component]
fn Fields(
    before: Option<PlanAnswer>,
    attribute: String,
    rules: Rules,
    state: PlansState,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let toasts = expect_context::<Toasts>();
    let action = SubmitAction::with_fields(&["name", "description", "rules[]"]);
    let stored = before.as_ref().map(|before| before.plan.clone());
    let stored = stored.unwrap_or(PlanBody {
        name: String::new(),
        description: String::new(),
        rules: Vec::new(),
    });
    let valid_name = |name: &str| names::rule(name).map_err(str::to_owned);
    let valid_text = |text: &str| names::prose(text, DESCRIPTION_CHARS_MAX);
    let name = Input::new(action, "name", &stored.name, valid_name);
    let description = Input::new(action, "description", &stored.description, valid_text);
    let known = rules.known();
    let planned = stored.rules.iter().map(|one| PlannedRule::of(one, &known));
    let planned = RwSignal::new(planned.collect::<Vec<_>>());
    // The names of the rules in the order in which they were sent.
    let sent = RwSignal::new(Vec::<String>::new());
    let set = before.as_ref().and_then(|before| before.managed_by.clone());
    let confirmed = RwSignal::new(set.is_none());
    let keep_existing = RwSignal::new(false);
    let keep = before.as_ref().filter(|before| before.customers > 0);
    let keep = keep.map(|before| keep_question(before, keep_existing));
    let submit = if before.is_none() { "Create plan" } else { "Save plan" };
    let before = StoredValue::new(before);
    let save = Callback::new(move |()| {
        let rows = planned.get_untracked();
        let bodies: Vec<_> = rows.iter().map(PlannedRule::submit).collect();
        let Some(rules) = bodies.into_iter().collect::<Option<Vec<_>>>() else {
            return browser::focus_first_invalid();
        };
        sent.set(rows.iter().map(PlannedRule::name).collect());
        let body = PlanBody { name: name.text(), description: description.text(), rules };
        let call = before.with_value(|before| match before {
            None => api.create_plan(&tenant.now(), &body),
            Some(before) => {
                api.replace_plan(&tenant.now(), before, &body, keep_existing.get_untracked())
            }
        });
        action.run(call, move |saved: PlanAnswer| {
            toasts.show(format!("{} saved", saved.plan.name));
            state.open.try_set(OpenPlan::Nothing);
            state.changed.run(());
        });
    });
    let incomplete =
        Signal::derive(move || name.is_invalid() || description.is_invalid() || !confirmed.get());
    let rejected = move |name: String| {
        Signal::derive(move || {
            let Some(at) = sent.with(|sent| sent.iter().position(|other| *other == name)) else {
                return Vec::new();
            };
            let place = format!("rules[{at}].");
            let below = |problem: &FieldProblem| {
                let field = problem.field.strip_prefix(&place)?;
                Some(FieldProblem::new(field, problem.reason.clone()))
            };
            action.problem.with(|problem| {
                let problems = problem.iter().flat_map(|problem| &problem.fields);
                problems.filter_map(below).collect()
            })
        })
    };
    let fields = move |one: PlannedRule| {
        let name = one.name();
        let rejected = rejected(name.clone());
        let on_remove =
            move |()| planned.update(|planned| planned.retain(|one| one.name() != name));
        let plan = before.with_value(|before| before.as_ref().map(|before| before.id.clone()));
        view! { <PlannedRuleFields planned=one plan rejected on_remove /> }
    };
    view! {
        <SubmitForm action submit on_submit=save incomplete cancel=Callback::new(move |()| state.open.set(OpenPlan::Nothing)) class="panel editor-panel">
            {set.map(|set| view! { <OwnerQuestion set what="plan" confirmed /> })}
            <TextField label="Name" value=name.value problem=name.problem hint="For example pro" />
            <TextArea label="Description" value=description.value problem=description.problem hint="Optional" />
            <section class="stack" aria-label="Rules of the plan">
                <For each=move || planned.get() key=PlannedRule::name let:one>{fields(one)}</For>
                <AddRule rules attribute planned />
            </section>
            {keep}
        </SubmitForm>
    }
}

/// Whether the present customers keep their limits.
fn keep_question(before: &PlanAnswer, keep_existing: RwSignal<bool>) -> AnyView {
    let PlanAnswer { customers, revision, .. } = before;
    let label = format!("Keep present customers on revision {revision}");
    let customers = counted(*customers, "customer", "customers");
    let note = move || {
        if keep_existing.get() {
            format!(
                "{customers} will keep the present limits. The new ones apply to later assignments."
            )
        } else {
            format!("The new limits apply to {customers} at once. Used units stay used.")
        }
    };
    view! {
        <div>
            <Checkbox label value=keep_existing.into() />
            <p class="note" role="status">{note}</p>
        </div>
    }
    .into_any()
}

/// A choice of the rules that the plan can name.
#[component]
fn AddRule(rules: Rules, attribute: String, planned: RwSignal<Vec<PlannedRule>>) -> impl IntoView {
    let is_named = move |rule: &RuleAnswer| {
        let name = rule_choice::name(rule);
        planned.with(|planned| planned.iter().any(|one| one.name() == name))
    };
    let chosen = RwSignal::new(String::new());
    let rule = move || rules.rule(&chosen.get());
    Effect::new(move |_| {
        let mut first = rules.known().into_iter().filter(|rule| !is_named(rule));
        if let Some(rule) = first.next() {
            chosen.set(rule.id);
        }
    });
    let add = move |_| {
        if let Some(rule) = untrack(rule) {
            planned.update(|planned| planned.push(PlannedRule::new(&rule)));
        }
    };
    let named = move || rule().is_some_and(|rule| is_named(&rule));
    let full = move || planned.with(Vec::len) >= RULES_PER_PLAN_MAX;
    let disabled = move || rule().is_none() || named() || full();
    let reason = move || {
        if full() {
            "A plan can name up to 100 rules."
        } else if named() {
            "The plan names this rule already."
        } else {
            ""
        }
    };
    view! {
        <div class="row">
            <RulePicker label="Rule" rules value=chosen.into() options=rule_choice::by_id />
            <button type="button" class="button" disabled=disabled title=reason on:click=add>"Add rule"</button>
        </div>
        <p class="note">
            "Listed are rules with limits that count by "<b>{attribute}</b>", alone or with others, and in no normal form. All other rules apply as they are."
        </p>
    }
}
