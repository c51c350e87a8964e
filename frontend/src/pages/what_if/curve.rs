//! The curve of denied shares against the first limit: a replay for each of some values.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::simulate::{SimulateBody, Source};

use crate::api::{Api, Problem};
use crate::components::control_flow::Show;
use crate::components::feedback::SubmitProblem;
use crate::components::limit_chart::{PlottedLimit, limit_chart};
use crate::model::limit_curve::{CurvePoint, candidates, suggested, units_of, with_units};
use crate::model::number::{grouped, quantity, share};
use crate::model::what_if::RunTime;
use crate::pages::shell::TenantId;

/// The points found so far, which outlast the result that a chosen point replaces; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundPoints {
    points: RwSignal<Vec<CurvePoint>>,
    /// The values to compare: the points are of the first ones.
    values: RwSignal<Vec<u64>>,
    /// The run without its varied number, and its time relative to now.
    of: StoredValue<Option<(SimulateBody, RunTime)>>,
    /// Whether a run is in progress, for which the curve waits.
    running: RwSignal<bool>,
}

impl FoundPoints {
    pub(super) fn new(running: RwSignal<bool>) -> Self {
        let (points, values) = (RwSignal::default(), RwSignal::default());
        Self { points, values, of: StoredValue::new(None), running }
    }

    /// Drops the points if they belong to another run.
    fn keep_of(self, body: &SimulateBody, time: RunTime, units: u64) {
        let rule = with_units(body.rule.clone(), 1);
        let of = Some((SimulateBody { rule, from: None, to: None, ..body.clone() }, time));
        if self.of.with_value(|known| *known != of) {
            self.of.set_value(of);
            self.begin(units);
        }
    }

    fn begin(self, units: u64) {
        self.points.set(Vec::new());
        self.values.set(candidates(units));
    }

    /// The next value to replay; `None` if all are done or a run is in progress.
    fn next(self) -> Option<u64> {
        let done = self.points.try_with_untracked(Vec::len)?;
        let next = self.values.with_untracked(|values| values.get(done).copied());
        next.filter(|_| !self.running.get_untracked())
    }
}

/// The curve of a rule whose first limit has a number; `choose` puts a value into the form.
pub(super) fn limit_curve(
    body: SimulateBody,
    time: RunTime,
    found: FoundPoints,
    choose: Callback<u64>,
) -> Option<AnyView> {
    let units = units_of(&body.rule)?;
    found.keep_of(&body, time, units);
    Some(view! { <LimitCurve units body found choose /> }.into_any())
}

#[component]
fn LimitCurve(
    units: u64,
    /// The run whose rule is varied.
    body: SimulateBody,
    found: FoundPoints,
    choose: Callback<u64>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let points = found.points;
    let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    // A trace is sent only on request.
    let by_itself = body.source == Source::Recorded;
    let body = StoredValue::new(body);
    let run = move || {
        problem.set(None);
        busy.set(true);
        spawn_local(async move {
            while let Some(units) = found.next() {
                // The page was left, or shows another result.
                let Some(body) = body.try_get_value() else { return };
                let body = SimulateBody { rule: with_units(body.rule.clone(), units), ..body };
                match api.simulate(&tenant.now(), &body).await {
                    Ok(answer) => {
                        let side = &answer.candidate;
                        let point = CurvePoint {
                            units,
                            checks: side.allowed + side.denied,
                            denied: side.denied,
                            more_denied: answer.subjects.more_denied,
                        };
                        points.try_update(|points| points.push(point));
                    }
                    Err(failed) => {
                        problem.try_set(Some(failed));
                        break;
                    }
                }
            }
            busy.try_set(false);
        });
    };
    if by_itself {
        run();
    }
    let again = move |_| {
        found.begin(units);
        run();
    };
    let label = move || {
        let count = found.values.with(Vec::len);
        match (busy.get(), points.with(Vec::len)) {
            (true, done) => format!("Replaying {} of {count}…", (done + 1).min(count)),
            (false, 0) => format!("Compare {count} limits"),
            (false, _) => "Compare again".to_owned(),
        }
    };
    view! {
        <section class="card stack" aria-labelledby="curve-heading">
            <div class="page-head">
                <div>
                    <h3 id="curve-heading">"Denied share against the limit"</h3>
                    <p class="note">"Replays the same checks with other values of the first limit."</p>
                </div>
                <button type="button" class="button" disabled=busy on:click=again>{label}</button>
            </div>
            <SubmitProblem problem />
            <Show when=move || { points.with(Vec::len) > 1 }>
                <Curve points units choose />
            </Show>
        </section>
    }
}

#[component]
fn Curve(points: RwSignal<Vec<CurvePoint>>, units: u64, choose: Callback<u64>) -> impl IntoView {
    let best = move || points.with(|points| suggested(points));
    let suggestion = move || match best() {
        Some(point) => format!(
            "{} is the smallest of these limits that denies at most 1% of checks ({}).",
            grouped(point.units),
            share(point.denied, point.checks)
        ),
        None => "Each of these limits denies more than 1% of checks.".to_owned(),
    };
    let plotted = |point: &CurvePoint| PlottedLimit {
        units: point.units,
        share: point.share(),
        label: format!("{}: {} denied", grouped(point.units), share(point.denied, point.checks)),
    };
    let drawing = move || {
        let plotted: Vec<_> = points.with(|points| points.iter().map(plotted).collect());
        limit_chart(&plotted, units, choose)
    };
    let row = |point: CurvePoint| {
        let subjects = usize::try_from(point.more_denied).unwrap_or(usize::MAX);
        view! {
            <tr>
                <th scope="row" class="number">{grouped(point.units)}</th>
                <td class="number">{grouped(point.denied)}</td>
                <td class="number">{share(point.denied, point.checks)}</td>
                <td class="number">{quantity(subjects, "subject", "subjects")}</td>
            </tr>
        }
    };
    let rows = move || points.get().into_iter().map(row).collect::<Vec<_>>();
    view! {
        <p role="status">{suggestion}</p>
        {drawing}
        <p class="note">"Click a point to try that limit. The marked point is the limit of this run."</p>
        <details>
            <summary class="note">"View as table"</summary>
            <div class="table-wrap" tabindex="0" role="region" aria-label="Compared limits">
                <table>
                    <thead><tr>
                        <th scope="col" class="number">"Limit"</th><th scope="col" class="number">"Denied"</th>
                        <th scope="col" class="number">"Share"</th><th scope="col" class="number">"Denied more often than now"</th>
                    </tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </details>
    }
}
