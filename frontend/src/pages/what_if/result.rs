//! The result of a run: both rules side by side, the affected subjects, the accuracy, and a link to apply the change.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::simulate::{
    SimulateAnswer, SimulateBody, SimulatedSide, SimulatedSubject, SimulatedSubjects,
    SimulatedVariant,
};
use weir_wire::tenants::Role;

use super::curve::{FoundPoints, limit_curve};
use crate::components::feedback::remark;
use crate::components::require_role::RequireRole;
use crate::components::rule_form::DraftTransfer;
use crate::components::time::ExactTime;
use crate::components::time_series::{TimeSeries, Zoom};
use crate::model::number::{grouped, quantity, shares};
use crate::model::replay_difference::{difference, headline};
use crate::model::subject;
use crate::model::what_if::{self, RunTime};
use crate::pages::shell::TenantId;

/// The result; `zoom` narrows the range, or resets it with `None`.
#[component]
pub(super) fn RunResult(
    answer: SimulateAnswer,
    before: Option<RuleAnswer>,
    /// The run.
    body: SimulateBody,
    time: RunTime,
    zoom: Callback<Option<(i64, i64)>>,
    zoomed: RwSignal<Option<(i64, i64)>>,
    found: FoundPoints,
    /// Puts a number into the first limit and runs again.
    choose: Callback<u64>,
) -> impl IntoView {
    let certainty = what_if::certainty(&answer);
    let title = if before.is_some() { "Current" } else { "No rule" };
    let (now, changed) = (side(title, &answer.present), side("Proposed", &answer.candidate));
    let (headline, chart) = (headline(&answer), difference(&answer));
    let zoom = Zoom {
        to: Callback::new(move |range| zoom.run(Some(range))),
        reset: Callback::new(move |()| zoom.run(None)),
        is_zoomed: Signal::derive(move || zoomed.with(Option::is_some)),
    };
    let rule = body.rule.clone();
    let curve = limit_curve(body, time, found, choose);
    let variants = (!answer.variants.is_empty()).then(|| experiment(&answer.variants));
    let warnings = answer.warnings.into_iter().map(|warning| remark(&warning));
    view! {
        <section class="stack" aria-labelledby="found-heading">
            <h2 id="found-heading" tabindex="-1">"Result"</h2>
            <p class="replay-headline">{headline}</p>
            <p class="note">"From "<ExactTime at=answer.from />" to "<ExactTime at=answer.to />"."</p>
            <p class="note">"Only this rule is replayed. Checks that other rules denied first count here too, so the shares can differ from those of the rule's page."</p>
            <p role="status">{certainty}</p>
            {warnings.collect::<Vec<_>>()}
            <TimeSeries label="Checks" data=Signal::stored(chart) zoom />
            <div class="columns">{now}{changed}</div>
            {curve}
            {variants}
            <Subjects subjects=answer.subjects />
            <details><summary class="note">"Accuracy"</summary>
                <p class="note">{answer.certainty.method}"."</p>
            </details>
            <Apply rule before />
        </section>
    }
}

/// The denials of each variant if all subjects had it, and the time that an experiment needs to distinguish them.
fn experiment(variants: &[SimulatedVariant]) -> AnyView {
    let sentences =
        variants.iter().map(|variant| view! { <li>{what_if::variant(variant, variants)}</li> });
    view! {
        <h3>"Experiment"</h3>
        <ul class="plain-list">{sentences.collect::<Vec<_>>()}</ul>
    }
    .into_any()
}

/// The totals of one of the two rules.
fn side(title: &'static str, side: &SimulatedSide) -> AnyView {
    let [of_allowed, of_denied] = shares(side.allowed, side.denied);
    let tiles = [
        tile("Allowed", "tile", side.allowed, of_allowed),
        tile("Denied", "tile tile-denied", side.denied, of_denied),
    ];
    view! {
        <section class="stack" aria-label=title>
            <h3>{title}</h3>
            <dl class="tiles">{tiles}</dl>
        </section>
    }
    .into_any()
}

fn tile(
    name: &'static str,
    class: &'static str,
    count: u64,
    of_all: String,
) -> impl IntoView + use<> {
    view! { <div class=class><dt>{name}</dt><dd>{grouped(count)}</dd><dd class="note">{of_all}" of checks"</dd></div> }
}

/// The affected subjects.
#[component]
fn Subjects(subjects: SimulatedSubjects) -> impl IntoView {
    let count = |number: u64| {
        quantity(usize::try_from(number).unwrap_or(usize::MAX), "subject", "subjects")
    };
    let status = match (subjects.more_denied, subjects.less_denied) {
        (0, 0) => format!("None of {} would be affected.", count(subjects.seen)),
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
    let row = |subject: SimulatedSubject| {
        let subject_label = subject::label(&subject.subject);
        let change = |before: u64, after: u64| format!("{} → {}", grouped(before), grouped(after));
        view! {
            <tr>
                <th scope="row"><div class="two-lines" title=subject_label.clone()><bdi>{subject_label.clone()}</bdi></div></th>
                <td class="number">{change(subject.denied_before, subject.denied_after)}</td>
                <td class="number">{change(subject.allowed_before, subject.allowed_after)}</td>
            </tr>
        }
    };
    let listed = !subjects.data.is_empty();
    let rows: Vec<_> = subjects.data.into_iter().map(row).collect();
    view! {
        <h3>"Affected subjects"</h3>
        <p>{status}</p>
        {listed.then(|| view! {
            <div class="table-wrap chart-table" tabindex="0" role="region" aria-label="Affected subjects">
                <table>
                    <thead><tr>
                        <th scope="col">"Subject"</th>
                        <th scope="col" class="number">"Denied, current → proposed"</th>
                        <th scope="col" class="number">"Allowed, current → proposed"</th>
                    </tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        })}
    }
}

/// Opens the editor with the changed rule.
#[component]
fn Apply(rule: RuleBody, before: Option<RuleAnswer>) -> impl IntoView {
    let (tenant, draft_transfer) =
        (expect_context::<TenantId>(), expect_context::<DraftTransfer>());
    let navigate = use_navigate();
    let apply = move |_| {
        let id = before.as_ref().map(|rule| rule.id.clone());
        let page =
            id.as_ref().map_or_else(|| "rules/new".to_owned(), |id| format!("rules/{id}/edit"));
        draft_transfer.put(id, rule.clone());
        navigate(&format!("/t/{}/{page}", tenant.now()), NavigateOptions::default());
    };
    view! {
        <RequireRole role=Role::Editor>
            <div class="actions">
                <button type="button" class="button" on:click=apply>"Apply to the rule"</button>
            </div>
        </RequireRole>
    }
}
