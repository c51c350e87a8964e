//! A limit suggested from recorded traffic: the share of subjects that each of some limits would have denied.

use std::rc::Rc;

use futures_util::FutureExt as _;
use futures_util::lock::Mutex;
use leptos::prelude::*;
use weir_domain::time::Timestamp;
use weir_wire::suggest::{CandidateLimit, SuggestAnswer};
use weir_wire::time::DateTime;

use crate::api::Api;
use crate::browser;
use crate::components::dialog::Drawer;
use crate::components::feedback::{Empty, Warning, remark};
use crate::components::field::Choice;
use crate::components::limit_chart::{PlottedLimit, limit_chart};
use crate::components::remote_data::{fetch_data, show};
use crate::components::rule_form::{Editor, SuggestLimit};
use crate::model::duration;
use crate::model::number::{grouped, share};
use crate::model::suggestion::{
    SHARES, WINDOWS_MS, finding, limit_with, question, subjects_share, too_short, window_ms,
};
use crate::pages::shell::TenantId;

/// The drawer, and the row of the form that it is about; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suggestion {
    row: RwSignal<u32>,
    open: RwSignal<bool>,
}

impl Suggestion {
    /// Gives the limits of the form their buttons.
    pub(super) fn provide() -> Self {
        let suggestion = Self { row: RwSignal::new(0), open: RwSignal::new(false) };
        provide_context(SuggestLimit(Callback::new(move |row| {
            suggestion.row.set(row);
            suggestion.open.set(true);
        })));
        suggestion
    }

    pub(super) fn drawer(self, editor: Editor) -> impl IntoView {
        let Self { row, open } = self;
        view! {
            <Drawer title="Suggest from traffic" open>
                <Content editor row=row.get_untracked() open />
            </Drawer>
        }
    }
}

#[component]
fn Content(editor: Editor, row: u32, open: RwSignal<bool>) -> impl IntoView {
    if editor.form.with_untracked(|form| form.read().0.count_by.is_empty()) {
        return view! {
            <Empty title="No subjects to compare">
                <p>"Name an attribute under Count by first: a suggestion says how many subjects a limit denies."</p>
            </Empty>
        }
        .into_any();
    }
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let own_ms = editor.form.with_untracked(|form| window_ms(form, row));
    let (window, share) = (RwSignal::new(own_ms), RwSignal::new(2_usize));
    let hours = RwSignal::new(24_i64);
    // The tenant's ceiling permits one run at a time, so another choice waits for the run of the previous one.
    let turn = Rc::new(Mutex::new(()));
    let answer = fetch_data(move || {
        let (window_ms, (share, _)) = (window.get(), SHARES[share.get()]);
        let from = DateTime(Timestamp::from_millis(browser::now_ms() - hours.get() * 3_600_000));
        let body = editor.form.with_untracked(|form| question(form, row, window_ms, share, from));
        let (tenant, turn) = (tenant.now(), Rc::clone(&turn));
        async move {
            let _turn = turn.lock().await;
            api.suggest_limit(&tenant, &body).await
        }
        .boxed_local()
    });
    let mut windows = WINDOWS_MS.to_vec();
    windows.push(own_ms);
    windows.sort_unstable();
    windows.dedup();
    let windows = windows.into_iter().map(|ms| (ms, duration::period(ms))).collect();
    let shares =
        SHARES.iter().enumerate().map(|(at, (_, name))| (at, (*name).to_owned())).collect();
    view! {
        <div class="stack">
            <div class="row">
                <Choice label="Limit per" value=window.into() options=windows />
                <Choice label="It can deny" value=share.into() options=shares />
                <Choice label="Traffic" value=hours.into() options=[(24, "Last 24 hours"), (1, "Last hour")].map(|(hours, name)| (hours, name.to_owned())).to_vec() />
            </div>
            {show(answer, move |answer| view! { <Found answer editor row window=window.get_untracked() open /> })}
        </div>
    }
    .into_any()
}

#[component]
fn Found(
    answer: SuggestAnswer,
    editor: Editor,
    row: u32,
    window: u64,
    open: RwSignal<bool>,
) -> impl IntoView {
    let text = finding(&answer, window);
    let short = too_short(&answer);
    // Nothing recommends a limit that is based on little traffic.
    let use_class = if short.is_some() { "button" } else { "button primary" };
    let short = short.map(|text| view! { <Warning><p>{text}</p></Warning> });
    let (suggested, subjects) = (answer.limit, answer.subjects);
    let warnings: Vec<_> = answer.warnings.iter().map(|warning| remark(warning)).collect();
    let plotted = |candidate: &CandidateLimit| PlottedLimit {
        units: candidate.limit,
        share: subjects_share(candidate, subjects),
        label: format!(
            "{}: {} of subjects denied",
            grouped(candidate.limit),
            share(candidate.subjects_denied, subjects)
        ),
    };
    let plotted: Vec<_> = answer.candidates.iter().map(plotted).collect();
    let (candidates, checks) = (answer.candidates.clone(), answer.checks);
    let answer = StoredValue::new(answer);
    let choose = Callback::new(move |units: u64| {
        let limit = answer.with_value(|answer| limit_with(answer, units));
        editor.form.update(|form| form.put_limit(row, &limit));
        open.set(false);
    });
    let line = move |candidate: CandidateLimit| {
        let units = candidate.limit;
        view! {
            <tr>
                <th scope="row" class="number">{grouped(units)}</th>
                <td class="number">{grouped(candidate.subjects_denied)}" · "{share(candidate.subjects_denied, subjects)}</td>
                <td class="number">{grouped(candidate.checks_denied)}" · "{share(candidate.checks_denied, checks)}</td>
            </tr>
        }
    };
    let lines: Vec<_> = candidates.into_iter().map(line).collect();
    view! {
        <p class="replay-headline" role="status">{text}</p>
        {short}
        {warnings}
        <p class="note">"Share of subjects that each limit would have denied. Click a point to use that limit."</p>
        {limit_chart(&plotted, suggested, choose)}
        <details>
            <summary class="note">"View as table"</summary>
            <div class="table-wrap" tabindex="0" role="region" aria-label="Limits">
                <table>
                    <thead><tr>
                        <th scope="col" class="number">"Limit"</th>
                        <th scope="col" class="number">"Subjects denied"</th>
                        <th scope="col" class="number">"Checks denied"</th>
                    </tr></thead>
                    <tbody>{lines}</tbody>
                </table>
            </div>
        </details>
        <details><summary class="note">"Accuracy"</summary><p class="note">{answer.with_value(|answer| answer.method.clone())}"."</p></details>
        <div class="actions">
            <button type="button" class=use_class on:click=move |_| choose.run(suggested)>"Use "{grouped(suggested)}</button>
            <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
        </div>
    }
}
