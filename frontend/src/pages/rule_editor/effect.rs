//! What the change would mean for subjects that exist now: those denied most of late, and any that is typed.

use std::collections::BTreeMap;

use leptos::prelude::*;
use weir_wire::rules::RuleAnswer;
use weir_wire::tenants::Role;
use weir_wire::tester::{InspectBody, InspectedSubject};
use weir_wire::words::Action;

use crate::access::Access;
use crate::api::{About, Api, Problem};
use crate::browser;
use crate::components::badge::PassBadge;
use crate::components::field::TextField;
use crate::components::load::{kept, load};
use crate::components::picture::Picturable;
use crate::components::rule_form::Editor;
use crate::model::effect::{Change, Standing, stands};
use crate::model::number::counted;
use crate::model::rule_form::RuleForm;
use crate::model::subject;
use crate::pages::shell::TenantId;

type Subject = BTreeMap<String, String>;

/// For a rule that is there and limits; nothing for those who may not look at counters.
#[component]
pub(super) fn Effects(editor: Editor, before: RwSignal<Option<RuleAnswer>>) -> impl IntoView {
    let access = expect_context::<Access>();
    let limits = |rule: &RuleAnswer| rule.rule.action == Action::Limit;
    let stored = Memo::new(move |_| before.get().filter(limits));
    let counted_alike = Memo::new(move |_| {
        let before = stored.with(|it| it.as_ref().map(|it| it.rule.count_by.clone()));
        before.is_some_and(|before| editor.rule().count_by == before)
    });
    let shown = move || {
        let rule = stored.get().filter(|_| access.lacks(Role::Editor).is_none())?;
        let counted_alike = move || counted_alike.get();
        Some(view! {
            <section class="picture" aria-labelledby="effect-heading">
                <h2 id="effect-heading">"Subjects now"</h2>
                <Show when=counted_alike fallback=|| view! {
                    <p class="note">"Counted by other attributes, every subject starts anew."</p>
                }>
                    <Seen editor rule=rule.clone() />
                </Show>
            </section>
        })
    };
    view! { {shown} }
}

#[component]
fn Seen(editor: Editor, rule: RuleAnswer) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let typed = RwSignal::new(Vec::<Subject>::new());
    let fields: Vec<_> =
        rule.rule.count_by.iter().map(|it| (it.clone(), RwSignal::new(String::new()))).collect();
    let (id, alone) = (rule.id.clone(), fields.is_empty());
    let looked = load(move || {
        let (tenant, id, typed) = (tenant.get(), id.clone(), typed.get());
        async move { look(api, &tenant, id, typed, alone).await }
    });
    let stored = StoredValue::new(RuleForm::of(&rule.rule).for_picture());
    view! {
        {kept(looked, move |seen| view! { <Table editor stored seen /> })}
        <Another fields typed again=Callback::new(move |()| looked.again()) />
    }
}

/// What was typed first, then those of the last day that were denied most.
async fn look(
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
        let to_ms = browser::now_ms();
        let (tenant, rule) = (tenant.to_owned(), Some(rule_id.clone()));
        let about = About { tenant, rule, from_ms: to_ms - DAY_MS, to_ms };
        let top = api.top(about, "subject").await?.data.into_iter().filter_map(|it| it.subject);
        let whole = |it: &Subject| it.values().all(|value| value.chars().count() < CUT_CHARS);
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
    Ok(api.look_at_counters(tenant, &InspectBody { rule_id, subjects }).await?.data)
}

#[component]
fn Table(
    editor: Editor,
    stored: StoredValue<Option<weir_domain::rule::Rule>>,
    seen: Signal<Vec<InspectedSubject>>,
) -> impl IntoView {
    let changed = Memo::new(move |_| editor.form.with(RuleForm::for_picture).map(Picturable));
    let told = Memo::new(move |_| {
        changed.with(|changed| {
            stored.with_value(|stored| {
                let (stored, Picturable(changed)) = (stored.as_ref()?, changed.as_ref()?);
                let change = Change::new(stored, changed, browser::now_ms().unsigned_abs());
                Some(seen.with(|seen| Told::of(&change, seen)))
            })
        })
    });
    let summary = move || match told.get() {
        _ if seen.with(Vec::is_empty) => {
            "Nobody was counted by it in the last 24 hours.".to_owned()
        }
        None => "Shown once the limits are right.".to_owned(),
        Some(told) => told.summary(),
    };
    let rows = move || {
        let told = told.get()?;
        let rows = told.rows.into_iter().map(|(who, now, then)| {
            view! {
                <tr>
                    <th scope="row"><div class="two-lines" title=who.clone()><bdi>{who.clone()}</bdi></div></th>
                    <td>{said(now)}</td>
                    <td>{said(then)}</td>
                </tr>
            }
        });
        Some(rows.collect::<Vec<_>>())
    };
    view! {
        <p class="note" role="status">{summary}</p>
        <Show when=move || !seen.with(Vec::is_empty)>
            <div class="table-wrap" tabindex="0" role="region" aria-label="Subjects now">
                <table class="effect">
                    <thead><tr><th scope="col">"Who"</th><th scope="col">"Now"</th><th scope="col">"Changed"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </Show>
        <p class="note">
            "Of the last 24 hours those denied most, with their counters as they stand; a next request of cost 1."
            {move || told.with(|it| it.as_ref().is_some_and(|it| it.estimated)).then_some(ESTIMATED)}
        </p>
    }
}

/// Whom it touches, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    rows: Vec<(String, Option<Standing>, Option<Standing>)>,
    estimated: bool,
}

impl Told {
    fn of(change: &Change<'_>, seen: &[InspectedSubject]) -> Self {
        let row = |it: &InspectedSubject| {
            let held = it.override_id.is_some();
            let now = if held { None } else { stands(&it.limits) };
            let then = if held { None } else { change.standing(&it.limits) };
            (subject::words(&it.subject), now, then)
        };
        Self { rows: seen.iter().map(row).collect(), estimated: change.is_estimate() }
    }

    fn summary(&self) -> String {
        let turned = |passes: bool| {
            let turns =
                |now: &Standing, then: &Standing| now.passes != passes && then.passes == passes;
            let both =
                self.rows.iter().filter_map(|(_, now, then)| now.as_ref().zip(then.as_ref()));
            both.filter(|(now, then)| turns(now, then)).count()
        };
        let all = counted(self.rows.len(), "subject", "subjects");
        match (turned(true), turned(false)) {
            (0, 0) => format!("For none of {all} would the next request fare otherwise."),
            (freed, 0) => format!("Of {all}, {freed} denied now would pass."),
            (0, caught) => format!("Of {all}, {caught} passing now would be denied."),
            (freed, caught) => format!(
                "Of {all}, {freed} denied now would pass, and {caught} passing now would be denied."
            ),
        }
    }
}

fn said(standing: Option<Standing>) -> AnyView {
    match standing {
        Some(it) => {
            view! { <PassBadge passes=it.passes yes="passes" no="denied" />" "<span class="whole">{it.words()}</span> }
                .into_any()
        }
        None => view! { <span class="quiet">"has an override"</span> }.into_any(),
    }
}

/// Somebody else to look at. Enter is caught, for it would save the rule.
#[component]
fn Another(
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
                typed.retain(|it| *it != subject);
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
        view! { <TextField label=format!("Somebody else: {name}") value /> }
    });
    view! {
        <div on:keydown=caught>{inputs.collect::<Vec<_>>()}</div>
        <div class="actions">
            {(!alone).then(|| view! { <button type="button" class="button" on:click=move |_| add()>"Add"</button> })}
            <button type="button" class="button" on:click=move |_| again.run(())>"Look again"</button>
        </div>
    }
}

const ESTIMATED: &str = " An estimate: a counter says how much is used, not when it was, and denied requests may be counted too.";
/// So long are values in the statistics at most; a longer one is cut and names nobody.
const CUT_CHARS: usize = 128;
const DAY_MS: i64 = 86_400_000;
