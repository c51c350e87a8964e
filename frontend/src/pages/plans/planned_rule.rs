//! A rule that a plan names, with the plan's effect on it.

use leptos::prelude::*;
use weir_wire::plans::PlanRule;
use weir_wire::problem::FieldProblem;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::simulate::{SimulateAnswer, SimulatedPlan};
use weir_wire::subjects::{NearLimitAnswer, PlanNearLimitBody};

use crate::api::Api;
use crate::browser;
use crate::components::remote_data::{RemoteData, fetch_data};
use crate::components::rule_form::{EffectFields, EffectInput};
use crate::model::field_problem::field_problem;
use crate::model::labels;
use crate::pages::replay_summary::{fetch_replay, last_hour, near_limit_view, replay_view};
use crate::pages::shell::TenantId;

/// The input.
#[derive(Debug, Clone)]
pub(super) struct PlannedRule {
    /// `None` if the stored rule is not known.
    rule_id: Option<String>,
    rule: RuleBody,
    input: EffectInput,
}

impl PlannedRule {
    /// The rule with its own limits, to be changed.
    pub(super) fn new(rule: &RuleAnswer) -> Self {
        let (id, rule) = (rule.id.clone(), rule.rule.clone());
        Self { rule_id: Some(id), input: EffectInput::of_rule(&rule), rule }
    }

    /// The input for a rule that a stored plan names.
    pub(super) fn of(planned: &PlanRule, rules: &[RuleAnswer]) -> Self {
        let named = rules.iter().find(|answer| {
            answer.rule.name == planned.rule && answer.rule.namespace == planned.namespace
        });
        let bare = || RuleBody {
            namespace: planned.namespace.clone(),
            name: planned.rule.clone(),
            ..RuleBody::default()
        };
        let rule_id = named.map(|answer| answer.id.clone());
        let rule = named.map_or_else(bare, |answer| answer.rule.clone());
        let input = EffectInput::of_rule(&rule);
        input.fill(&rule, planned.limits.as_deref(), planned.action);
        Self { rule_id, rule, input }
    }

    /// The rule as the plan names it; not tracked. `None` if its limits have problems, which become visible.
    pub(super) fn submit(&self) -> Option<PlanRule> {
        self.input.editor.submit();
        let (limits, action) = untrack(|| self.input.body())?;
        let RuleBody { namespace, name, .. } = &self.rule;
        Some(PlanRule { namespace: namespace.clone(), rule: name.clone(), limits, action })
    }

    /// The namespace and name, by which the form knows the rule.
    pub(super) fn name(&self) -> String {
        format!("{} / {}", self.rule.namespace, self.rule.name)
    }
}

/// The fields, and for a stored plan a replay of what they would change; `rejected` are the server's problems with them.
#[component]
pub(super) fn PlannedRuleFields(
    planned: PlannedRule,
    /// The id of the stored plan.
    plan: Option<String>,
    rejected: Signal<Vec<FieldProblem>>,
    #[prop(into)] on_remove: Callback<()>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let name = planned.name();
    let replay = RwSignal::new(None::<RemoteData<Option<SimulateAnswer>>>);
    let near = RwSignal::new(None::<RemoteData<NearLimitAnswer>>);
    let replayed = planned.clone();
    let button = plan.filter(|_| planned.rule_id.is_some()).map(|plan| {
        let run = move |_| {
            let Some(entry) = replayed.submit() else { return browser::focus_first_invalid() };
            let plan = SimulatedPlan { id: plan.clone(), rules: vec![entry] };
            let (rule, id) = (replayed.rule.clone(), replayed.rule_id.clone());
            let has_limits = plan.rules.iter().all(|rule| rule.limits.is_some());
            let rule_id = id.clone().filter(|_| has_limits);
            near.set(rule_id.map(|rule_id| {
                let body = PlanNearLimitBody { rule_id, plan: plan.clone(), percent: None };
                fetch_data(move || api.near_limit_of_plan(&tenant.get(), &body))
            }));
            replay.set(Some(fetch_replay(api, tenant, last_hour(rule, id, Some(plan)))));
        };
        view! { <button type="button" class="button" on:click=run aria-label=format!("Replay {name}")>"Replay"</button> }
    });
    let result = move || {
        replay.get().map(|replay| view! { <div class="stack">{move || replay_view(replay)}</div> })
    };
    let nearly_denied = move || {
        near.get().map(|near| view! { <div class="stack">{move || near_limit_view(near)}</div> })
    };
    let PlannedRule { rule, input, .. } = planned;
    let of_limits = |problem: &FieldProblem| problem.field.starts_with("limits");
    Effect::new(move |_| {
        let limits = rejected.get().into_iter().filter(of_limits);
        input.editor.refuse(limits.collect());
    });
    let whole = move || {
        let problems = rejected.get();
        problems
            .iter()
            .find(|problem| !of_limits(problem))
            .map(|problem| field_problem(&problem.reason))
    };
    let own = labels::effect(Some(&rule.limits), None);
    let own = (!own.is_empty()).then(|| format!("Without a plan: {own}"));
    view! {
        <div class="variant stack" role="group" aria-label=name.clone()>
            <div class="planned-rule">
                <h3>{name.clone()}</h3>
                <button type="button" class="button plain-button" on:click=move |_| on_remove.run(()) aria-label=format!("Remove {name}")>"Remove"</button>
            </div>
            <p class="note">{own}</p>
            <p class="field-problem">{whole}</p>
            <EffectFields input />
            {button}
            {result}
            {nearly_denied}
        </div>
    }
}
