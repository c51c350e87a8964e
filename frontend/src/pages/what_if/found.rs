//! What a run found: both rules side by side, who would notice, how sure it is, and the way to make it so.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::simulate::{SimulateAnswer, SimulatedSide, SimulatedSubject, SimulatedSubjects};
use weir_wire::tenants::Role;

use crate::components::feedback::remark;
use crate::components::needs::Needs;
use crate::components::rule_form::Carried;
use crate::components::series_chart::SeriesChart;
use crate::components::time::Exactly;
use crate::model::number::{counted, grouped, share};
use crate::model::{subject, what_if};
use crate::pages::shell::TenantId;

/// The result; `zoom` looks closer, or with nothing at the whole time again.
#[component]
pub(super) fn Found(
    answer: SimulateAnswer,
    rule: RuleBody,
    before: Option<RuleAnswer>,
    zoom: Callback<Option<(i64, i64)>>,
    marked: RwSignal<Option<(i64, i64)>>,
) -> impl IntoView {
    let certainty = what_if::certainty(&answer);
    let title = if before.is_some() { "As it is now" } else { "Without the rule" };
    let now = side(title, &answer, &answer.present, zoom);
    let changed = side("As changed", &answer, &answer.candidate, zoom);
    let warnings = answer.warnings.into_iter().map(|it| remark(&it));
    let whole = move || {
        marked.get().map(|_| view! {
            <button type="button" class="button" on:click=move |_| zoom.run(None)>"Show the whole time"</button>
        })
    };
    view! {
        <section class="stack" aria-labelledby="found-heading">
            <div class="page-head">
                <h2 id="found-heading">"What it would have done"</h2>
                {whole}
            </div>
            <p class="note">"From "<Exactly at=answer.from />" to "<Exactly at=answer.to />", decided by this rule alone."</p>
            <p role="status">{certainty}</p>
            {warnings.collect::<Vec<_>>()}
            <div class="columns">{now}{changed}</div>
            <Subjects subjects=answer.subjects />
            <details><summary class="note">"How sure this is, and how it was computed"</summary>
                <p class="note">{answer.certainty.method}"."</p>
            </details>
            <Apply rule before />
        </section>
    }
}

/// What one of the two rules would have done.
fn side(
    title: &'static str,
    answer: &SimulateAnswer,
    side: &SimulatedSide,
    zoom: Callback<Option<(i64, i64)>>,
) -> AnyView {
    let series = what_if::series(answer, side);
    let closer = Callback::new(move |stretch| zoom.run(Some(stretch)));
    let tiles = [
        tile("Allowed", "tile", side.allowed, side),
        tile("Denied", "tile tile-denied", side.denied, side),
    ];
    view! {
        <section class="stack" aria-label=title>
            <h3>{title}</h3>
            <dl class="tiles">{tiles}</dl>
            <SeriesChart label=title series=Signal::derive(move || series.clone()) on_zoom=closer shadows=false />
        </section>
    }
    .into_any()
}

fn tile(
    name: &'static str,
    class: &'static str,
    count: u64,
    side: &SimulatedSide,
) -> impl IntoView + use<> {
    let of_all = share(count, side.allowed + side.denied);
    view! { <div class=class><dt>{name}</dt><dd>{grouped(count)}</dd><dd class="note">{of_all}" of the checks"</dd></div> }
}

/// Who would notice.
#[component]
fn Subjects(subjects: SimulatedSubjects) -> impl IntoView {
    let count =
        |number: u64| counted(usize::try_from(number).unwrap_or(usize::MAX), "subject", "subjects");
    let said = match (subjects.more_denied, subjects.less_denied) {
        (0, 0) => format!("Nobody of {} would notice.", count(subjects.seen)),
        (more, 0) => {
            format!("{} of {} would be denied more often.", count(more), grouped(subjects.seen))
        }
        (0, less) => {
            format!("{} of {} would be denied less often.", count(less), grouped(subjects.seen))
        }
        (more, less) => format!(
            "{} would be denied more often and {} less often, of {}.",
            count(more),
            grouped(less),
            grouped(subjects.seen)
        ),
    };
    let row = |it: SimulatedSubject| {
        let who = subject::words(&it.subject);
        let change = |before: u64, after: u64| format!("{} → {}", grouped(before), grouped(after));
        view! {
            <tr>
                <th scope="row"><div class="two-lines" title=who.clone()><bdi>{who.clone()}</bdi></div></th>
                <td class="number">{change(it.denied_before, it.denied_after)}</td>
                <td class="number">{change(it.allowed_before, it.allowed_after)}</td>
            </tr>
        }
    };
    let listed = !subjects.data.is_empty();
    let rows: Vec<_> = subjects.data.into_iter().map(row).collect();
    view! {
        <h3>"Who would notice"</h3>
        <p>{said}</p>
        {listed.then(|| view! {
            <div class="table-wrap chart-table" tabindex="0" role="region" aria-label="Who would notice">
                <table>
                    <thead><tr>
                        <th scope="col">"Subject"</th>
                        <th scope="col" class="number">"Denied, now → as changed"</th>
                        <th scope="col" class="number">"Allowed, now → as changed"</th>
                    </tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        })}
    }
}

/// To the editor, with the changed rule.
#[component]
fn Apply(rule: RuleBody, before: Option<RuleAnswer>) -> impl IntoView {
    let (tenant, carried) = (expect_context::<TenantId>(), expect_context::<Carried>());
    let navigate = use_navigate();
    let apply = move |_| {
        let id = before.as_ref().map(|it| it.id.clone());
        let page =
            id.as_ref().map_or_else(|| "rules/new".to_owned(), |id| format!("rules/{id}/edit"));
        carried.put(id, rule.clone());
        navigate(&format!("/t/{}/{page}", tenant.now()), NavigateOptions::default());
    };
    view! {
        <Needs role=Role::Editor>
            <div class="actions">
                <button type="button" class="button" on:click=apply>"Edit the rule with these values"</button>
            </div>
        </Needs>
    }
}
