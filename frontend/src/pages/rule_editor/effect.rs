//! The effect of the change on current subjects: the most denied ones, and any that is entered.

use std::collections::BTreeMap;

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_wire::rules::RuleAnswer;
use weir_wire::tenants::Role;
use weir_wire::tester::{InspectBody, InspectedSubject};
use weir_wire::words::Action;

use crate::access::Access;
use crate::api::{Api, Problem, StatsScope};
use crate::browser;
use crate::components::badge::PassBadge;
use crate::components::control_flow::Show;
use crate::components::field::TextField;
use crate::components::picture::SimulatedRule;
use crate::components::remote_data::{fetch_data, show_latest};
use crate::components::rule_form::Editor;
use crate::model::effect::{Change, Standing, standing_of};
use crate::model::number::quantity;
use crate::model::rule_form::RuleForm;
use crate::model::subject;
use crate::pages::shell::TenantId;

type Subject = BTreeMap<String, String>;

/// For an existing rule with limits; empty for people subject_label cannot inspect counters.
#[component]
pub(super) fn SubjectEffects(
    editor: Editor,
    before: RwSignal<Option<RuleAnswer>>,
) -> impl IntoView {
    let access = expect_context::<Access>();
    let limits = |rule: &RuleAnswer| rule.rule.action == Action::Limit;
    let stored = Memo::new(move |_| before.get().filter(limits));
    let counted_alike = Memo::new(move |_| {
        let before = stored.with(|rule| rule.as_ref().map(|rule| rule.rule.count_by.clone()));
        before.is_some_and(|before| editor.rule().count_by == before)
    });
    let shown = move || {
        let rule = stored.get().filter(|_| access.missing_role(Role::Editor).is_none())?;
        let counted_alike = move || counted_alike.get();
        Some(view! {
            <div class="picture">
                <h2>"Impact on current subjects"</h2>
                <Show when=counted_alike fallback=|| view! {
                    <p class="note">"Counting by other attributes resets all counters."</p>
                }>
                    <EffectList editor rule=rule.clone() />
                </Show>
            </div>
        })
    };
    view! { {shown} }
}

#[component]
fn EffectList(editor: Editor, rule: RuleAnswer) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let typed = RwSignal::new(Vec::<Subject>::new());
    let fields: Vec<_> = rule
        .rule
        .count_by
        .iter()
        .map(|counted| (counted.attribute().to_owned(), RwSignal::new(String::new())))
        .collect();
    let (id, alone) = (rule.id.clone(), fields.is_empty());
    let inspected = fetch_data(move || {
        let (tenant, id, typed) = (tenant.get(), id.clone(), typed.get());
        async move { inspect(api, &tenant, id, typed, alone).await }.boxed_local()
    });
    let stored = StoredValue::new(RuleForm::of(&rule.rule).for_picture());
    view! {
        {show_latest(inspected, move |seen| view! { <Table editor stored seen /> })}
        <OtherSubject fields typed again=Callback::new(move |()| inspected.refetch()) />
    }
}

/// Entered subjects first, then the most denied ones of the last day.
async fn inspect(
    api: Api,
    tenant: &str,
    rule_id: String,
    typed: Vec<Subject>,
    alone: bool,
) -> Result<Vec<InspectedSubject>, Problem> {
    let mut subjects = typed;
    if alone {
        subjects.push(Subject::new());
    } else {
        let rule = Some(rule_id.clone());
        let about = StatsScope { rule, ..StatsScope::last(tenant.to_owned(), DAY_MS) };
        let top = api
            .top(&about, "subject", 10)
            .await?
            .data
            .into_iter()
            .filter_map(|entry| entry.subject);
        let whole =
            |subject: &Subject| subject.values().all(|value| value.chars().count() < CUT_CHARS);
        for subject in top.filter(whole) {
            if !subjects.contains(&subject) {
                subjects.push(subject);
            }
        }
    }
    if subjects.is_empty() {
        return Ok(Vec::new());
    }
    subjects.truncate(weir_wire::tester::INSPECT_MAX);
    Ok(api.inspect_counters(tenant, &InspectBody { rule_id, subjects }).await?.data)
}

#[component]
fn Table(
    editor: Editor,
    stored: StoredValue<Option<weir_domain::rule::Rule>>,
    seen: Signal<Vec<InspectedSubject>>,
) -> impl IntoView {
    let changed = Memo::new(move |_| editor.form.with(RuleForm::for_picture).map(SimulatedRule));
    let saved = stored.get_value().map(SimulatedRule);
    let edited = Memo::new(move |_| changed.with(|changed| *changed != saved));
    let effect_rows = Memo::new(move |_| {
        changed.with(|changed| {
            stored.with_value(|stored| {
                let (stored, SimulatedRule(changed)) = (stored.as_ref()?, changed.as_ref()?);
                let change = Change::new(stored, changed, browser::now_ms().unsigned_abs());
                Some(seen.with(|seen| EffectRows::of(&change, seen)))
            })
        })
    });
    let summary = move || match effect_rows.get() {
        _ if seen.with(Vec::is_empty) => "No subjects in the last 24 hours".to_owned(),
        None => "The preview appears when the limits are valid.".to_owned(),
        Some(_) if !edited.get() => {
            "Current counters. Change a limit to see its effect.".to_owned()
        }
        Some(effect_rows) => effect_rows.summary(),
    };
    let rows = move || {
        let effect_rows = effect_rows.get()?;
        let rows = effect_rows.rows.into_iter().map(|(subject_label, now, then)| {
            view! {
                <tr>
                    <th scope="row"><div class="one-line" title=subject_label.clone()><bdi>{subject_label.clone()}</bdi></div></th>
                    <td>{now.view()}</td>
                    {edited.get().then(|| view! { <td>{then.view()}</td> })}
                </tr>
            }
        });
        Some(rows.collect::<Vec<_>>())
    };
    view! {
        <p class="note" role="status">{summary}</p>
        <Show when=move || !seen.with(Vec::is_empty)>
            <div class="table-wrap" tabindex="0" role="region" aria-label="Impact on current subjects">
                <table class="effect">
                    <thead><tr><th scope="col">"Subject"</th><th scope="col">"Current"</th>{move || edited.get().then(|| view! { <th scope="col">"Proposed"</th> })}</tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </Show>
        <p class="note">
            "The most denied subjects of the last 24 hours with their current counters, for a request with cost 1."
            {move || effect_rows.with(|rows| rows.as_ref().is_some_and(|rows| rows.estimated)).then_some(ESTIMATED)}
        </p>
    }
}

/// The subjects, each with its state under the stored and the changed rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EffectRows {
    rows: Vec<(String, SubjectState, SubjectState)>,
    estimated: bool,
}

impl EffectRows {
    fn of(change: &Change<'_>, seen: &[InspectedSubject]) -> Self {
        let row = |inspected: &InspectedSubject| {
            let label = subject::label(&inspected.subject);
            if inspected.override_id.is_some() {
                let state = SubjectState::Override(inspected.action);
                return (label, state, state);
            }
            let now = standing_of(&inspected.limits);
            let then = change.standing(&inspected.limits);
            (label, SubjectState::Counted(now), SubjectState::Counted(then))
        };
        Self { rows: seen.iter().map(row).collect(), estimated: change.is_estimate() }
    }

    fn summary(&self) -> String {
        let turned = |passes: bool| {
            let turns =
                |now: &Standing, then: &Standing| now.passes != passes && then.passes == passes;
            let both =
                self.rows.iter().filter_map(|(_, now, then)| now.standing().zip(then.standing()));
            both.filter(|(now, then)| turns(now, then)).count()
        };
        let all = quantity(self.rows.len(), "subject", "subjects");
        match (turned(true), turned(false)) {
            (0, 0) => format!("No change for {all}."),
            (freed, 0) => format!("Of {all}, {freed} denied now would be allowed."),
            (0, caught) => format!("Of {all}, {caught} allowed now would be denied."),
            (freed, caught) => format!(
                "Of {all}, {freed} denied now would be allowed, and {caught} allowed now would be denied."
            ),
        }
    }
}

/// The state of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SubjectState {
    /// `None` if the rule has no limit for it.
    Counted(Option<Standing>),
    /// An override decides, which the change of the rule does not affect.
    Override(Action),
}

impl SubjectState {
    const fn standing(&self) -> Option<&Standing> {
        match self {
            Self::Counted(standing) => standing.as_ref(),
            Self::Override(_) => None,
        }
    }

    fn view(self) -> AnyView {
        let text = match self {
            Self::Counted(Some(state)) => {
                return view! { <PassBadge passes=state.passes yes="allowed" no="denied" />" "<span class="nowrap">{state.label()}</span> }
                    .into_any();
            }
            Self::Counted(None) => "no limit",
            Self::Override(Action::Allow) => "always allowed by an override",
            Self::Override(Action::Deny) => "always denied by an override",
            Self::Override(Action::Limit) => "own limits by an override",
        };
        view! { <span class="muted">{text}</span> }.into_any()
    }
}

/// Adds another subject. Enter is handled here, because it would otherwise save the rule.
#[component]
fn OtherSubject(
    fields: Vec<(String, RwSignal<String>)>,
    typed: RwSignal<Vec<Subject>>,
    again: Callback<()>,
) -> impl IntoView {
    let alone = fields.is_empty();
    let fields = StoredValue::new(fields);
    let add = move || {
        let value =
            |(name, value): &(String, RwSignal<String>)| (name.clone(), value.get_untracked());
        let subject: Subject = fields.with_value(|fields| fields.iter().map(value).collect());
        if subject.values().all(|value| !value.is_empty()) {
            typed.update(|typed| {
                typed.retain(|entered| *entered != subject);
                typed.insert(0, subject);
            });
            fields
                .with_value(|fields| fields.iter().for_each(|(_, value)| value.set(String::new())));
        }
    };
    let caught = move |event: leptos::ev::KeyboardEvent| {
        if event.key() == "Enter" && !event.is_composing() {
            event.prevent_default();
            add();
        }
    };
    let inputs = fields.get_value().into_iter().map(|(name, value)| {
        view! { <TextField label=format!("Another subject: {name}") value /> }
    });
    view! {
        <div on:keydown=caught>{inputs.collect::<Vec<_>>()}</div>
        <div class="actions">
            {(!alone).then(|| view! { <button type="button" class="button" on:click=move |_| add()>"Add"</button> })}
            <button type="button" class="button" on:click=move |_| again.run(())>"Refresh"</button>
        </div>
    }
}

const ESTIMATED: &str = " This is an estimate: counters record how much was used, but not when.";
/// The maximum length of values in statistics; a longer value is truncated and identifies no subject.
const CUT_CHARS: usize = 128;
const DAY_MS: i64 = 86_400_000;
