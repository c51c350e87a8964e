//! The curve of denied shares against the first limit: a replay for each of some values.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::rules::RuleBody;
use weir_wire::simulate::SimulateBody;

use crate::api::{Api, Problem};
use crate::components::control_flow::Show;
use crate::components::feedback::SubmitProblem;
use crate::components::limit_chart::{PlottedLimit, limit_chart};
use crate::model::limit_curve::{CurvePoint, candidates, suggested, units_of, with_units};
use crate::model::number::{grouped, quantity, share};
use crate::pages::shell::TenantId;

/// The points found so far, which outlast the result that a chosen point replaces; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundPoints {
    points: RwSignal<Vec<CurvePoint>>,
    /// The rule without its varied number.
    of: RwSignal<Option<RuleBody>>,
}

impl FoundPoints {
    pub(super) fn new() -> Self {
        Self { points: RwSignal::default(), of: RwSignal::new(None) }
    }

    /// The points, empty if they belong to another rule.
    fn of_rule(self, rule: &RuleBody) -> RwSignal<Vec<CurvePoint>> {
        let rule = Some(with_units(rule.clone(), 1));
        if self.of.get_untracked() != rule {
            self.points.set(Vec::new());
            self.of.set(rule);
        }
        self.points
    }
}

/// The curve of a rule whose first limit has a number; `choose` puts a value into the form.
pub(super) fn limit_curve(
    rule: &RuleBody,
    body: SimulateBody,
    found: FoundPoints,
    choose: Callback<u64>,
) -> Option<AnyView> {
    let units = units_of(rule)?;
    let points = found.of_rule(rule);
    Some(view! { <LimitCurve units body points choose /> }.into_any())
}

#[component]
fn LimitCurve(
    units: u64,
    /// The run whose rule is varied.
    body: SimulateBody,
    points: RwSignal<Vec<CurvePoint>>,
    choose: Callback<u64>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let body = StoredValue::new(body);
    let values = candidates(units);
    let count = values.len();
    let run = move |_| {
        let values = values.clone();
        points.set(Vec::new());
        problem.set(None);
        busy.set(true);
        spawn_local(async move {
            for units in values {
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
    let label = move || match (busy.get(), points.with(Vec::len)) {
        (true, done) => format!("Replaying {} of {count}…", (done + 1).min(count)),
        (false, 0) => format!("Compare {count} limits"),
        (false, _) => "Compare again".to_owned(),
    };
    view! {
        <section class="card stack" aria-labelledby="curve-heading">
            <div class="page-head">
                <div>
                    <h3 id="curve-heading">"Denied share against the limit"</h3>
                    <p class="note">"Replays the same checks with other values of the first limit."</p>
                </div>
                <button type="button" class="button" disabled=busy on:click=run>{label}</button>
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
