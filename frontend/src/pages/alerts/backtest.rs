//! The back-test of the alert in the form: when it would have fired over the last days.

use std::time::Duration;

use leptos::prelude::*;
use weir_domain::time::Timestamp;
use weir_wire::alerts::{AlertBody, AlertKind};
use weir_wire::backtest::{BacktestAnswer, BacktestBody, Firing};
use weir_wire::time::DateTime;

use crate::api::Api;
use crate::browser;
use crate::charts::timeline::WIDTH;
use crate::components::control_flow::Show;
use crate::components::feedback::{LoadingSkeleton, SubmitProblem};
use crate::components::field::Choice;
use crate::components::submit::SubmitAction;
use crate::components::time::ExactTime;
use crate::components::time_range::Freshness;
use crate::model::backtest::{
    BacktestDrawing, DAYS, HEIGHT, condition, duration, headline, messages, peak,
};
use crate::model::chart::span;
use crate::pages::shell::TenantId;

/// A finished back-test.
#[derive(Debug, Clone, PartialEq)]
struct Tested {
    body: BacktestBody,
    days: i64,
    answer: BacktestAnswer,
}

/// The time without a change after which a changed alert is tested again.
const SETTLED: Duration = Duration::from_millis(400);
const DAY_MS: i64 = 86_400_000;
/// The most firings listed.
const LISTED: usize = 100;

/// The part of the form. Once the alert has been tested, each change of its condition tests it again.
#[component]
pub(super) fn Backtest(alert: Memo<AlertBody>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let days = RwSignal::new(DAYS[0].0);
    let (action, tested) = (SubmitAction::new(), RwSignal::new(None::<Tested>));
    // `None` while the condition is incomplete.
    let wanted = Memo::new(move |_| {
        let valid = |alert: &AlertBody| alert.condition().is_ok().then(|| condition(alert));
        alert.with(valid).map(|body| (body, days.get()))
    });
    let run = Callback::new(move |()| {
        let Some((body, days)) = wanted.get_untracked() else { return };
        let from = Timestamp::from_millis(browser::now_ms() - days * DAY_MS);
        let sent = BacktestBody { from: Some(DateTime(from)), ..body.clone() };
        action.run(api.backtest(&tenant.now(), &sent), move |answer| {
            let is_latest = wanted.try_get_untracked().flatten() == Some((body.clone(), days));
            if is_latest {
                tested.try_set(Some(Tested { body, days, answer }));
            }
        });
    });
    rerun(wanted, tested, run);
    // The result of another condition stays until the new one replaces it, so that nothing jumps.
    let outdated = move || {
        let shown = tested.with(|tested| tested.as_ref().map(|one| (one.body.clone(), one.days)));
        shown.is_some() && wanted.with(|wanted| *wanted != shown)
    };
    let is_share = Memo::new(move |_| alert.with(|alert| alert.kind == AlertKind::DenialShare));
    let options = DAYS.map(|(days, name)| (days, name.to_owned())).to_vec();
    view! {
        <section class="backtest stack" aria-labelledby="backtest-heading">
            <h3 id="backtest-heading">"Back-test"</h3>
            <Show when=move || is_share.get() fallback=|| view! {
                <p class="note">"Quota alerts cannot be back-tested, because the usage of quotas in the past is not stored."</p>
            }>
                <div class="row">
                    <Choice label="Over the" value=days.into() options=options.clone() />
                    <button type="button" class="button" disabled=move || wanted.with(Option::is_none) || action.busy.get() on:click=move |_| run.run(())>
                        "Run back-test"
                    </button>
                </div>
                <SubmitProblem problem=action.problem />
                <div class="stack" class:outdated=outdated aria-busy=move || action.busy.get().to_string()>
                    {move || shown(tested.get(), action.busy)}
                </div>
            </Show>
        </section>
    }
}

/// Tests again shortly after each change, once there is a result.
fn rerun(
    wanted: Memo<Option<(BacktestBody, i64)>>,
    tested: RwSignal<Option<Tested>>,
    run: Callback<()>,
) {
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let stop = move || {
        if let Some(timer) = timer.try_update_value(Option::take).flatten() {
            timer.clear();
        }
    };
    Effect::new(move |_| {
        wanted.track();
        stop();
        if tested.with_untracked(Option::is_some) {
            timer.set_value(set_timeout_with_handle(move || run.run(()), SETTLED).ok());
        }
    });
    on_cleanup(stop);
}

/// The result; before it, what the test does, or that it runs.
fn shown(tested: Option<Tested>, busy: RwSignal<bool>) -> AnyView {
    match tested {
        Some(tested) => view! { <Found tested /> }.into_any(),
        None if busy.get() => view! { <LoadingSkeleton /> }.into_any(),
        None => view! {
            <p class="note">"Replays the alert against past traffic, and shows when it would have fired. Nothing is sent."</p>
        }
        .into_any(),
    }
}

#[component]
fn Found(tested: Tested) -> impl IntoView {
    let Tested { body, days, answer } = tested;
    let text = headline(&body, &answer, days);
    let class = if answer.fired > 0 { "backtest-headline fired" } else { "backtest-headline" };
    view! {
        <p class=class role="status">{text.clone()}</p>
        <Timeline drawing=BacktestDrawing::of(&body, &answer) text />
        <p class="backtest-extent note">{extent(&answer)}</p>
        {messages(&answer).map(|text| view! { <p class="note">{text}</p> })}
        {(!answer.firings.is_empty()).then(|| firings(&answer))}
        <Freshness as_of=Signal::stored(answer.as_of) dropped=Signal::stored(answer.dropped) />
    }
}

/// The denial rate over time, with a band for each firing and a line at the rate of the alert.
#[component]
fn Timeline(drawing: BacktestDrawing, text: String) -> impl IntoView {
    let BacktestDrawing { rate, firings, threshold } = drawing;
    let band = |(left, width): (u64, u64)| {
        view! { <rect class="firing" x=left y="0" width=width height=HEIGHT></rect> }
    };
    let firings: Vec<_> = firings.into_iter().map(band).collect();
    view! {
        <svg class="backtest-timeline" viewBox=format!("0 0 {WIDTH} {HEIGHT}") preserveAspectRatio="none" role="img" aria-label=text>
            {firings}
            <path class="rate" d=rate></path>
            <line class="threshold" x1="0" x2=WIDTH y1=threshold y2=threshold></line>
        </svg>
    }
}

/// The tested time, and the meaning of the line.
fn extent(answer: &BacktestAnswer) -> String {
    let (from_ms, to_ms) = (answer.from.0.as_millis(), answer.to.0.as_millis());
    let time = span(from_ms, to_ms, i64::from(answer.step_s) * 1_000, browser::zone_ms);
    format!("{time}. The line is the denial rate of the alert.")
}

/// The firings, newest first.
fn firings(answer: &BacktestAnswer) -> AnyView {
    let row = |firing: &Firing| {
        view! {
            <tr>
                <td><ExactTime at=firing.from /></td>
                <td>{duration(firing)}</td>
                <td class="number">{peak(firing)}</td>
            </tr>
        }
    };
    let rows: Vec<_> = answer.firings.iter().rev().take(LISTED).map(row).collect();
    let is_cut = answer.truncated || answer.firings.len() > LISTED;
    let cut = is_cut.then(|| view! { <p class="note">"Only some of the firings are listed."</p> });
    view! {
        <div class="table-wrap firings" tabindex="0" role="region" aria-label="Firings">
            <table>
                <thead><tr>
                    <th scope="col">"Fired"</th><th scope="col">"Lasted"</th>
                    <th scope="col" class="number">"Highest denial rate"</th>
                </tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        {cut}
    }
    .into_any()
}
