//! A limit suggested from recorded traffic: the share of subjects that each of some limits would have denied.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_domain::time::Timestamp;
use weir_wire::suggest::{CandidateLimit, SuggestAnswer, SuggestBody};
use weir_wire::time::DateTime;

use crate::api::{Api, Problem, StatsScope};
use crate::browser;
use crate::components::dialog::Drawer;
use crate::components::feedback::{Empty, Warning, remark};
use crate::components::field::Choice;
use crate::components::limit_chart::{PlottedLimit, limit_chart};
use crate::components::remote_data::{RemoteState, fetch_data, show};
use crate::components::rule_form::{Editor, SuggestLimit};
use crate::model::duration;
use crate::model::number::{grouped, share};
use crate::model::rule_form::RuleForm;
use crate::model::suggestion::{
    SHARES, WINDOWS_MS, finding, limit_with, percentile, question, subjects_share, too_short,
    window_ms,
};
use crate::pages::shell::TenantId;

/// The drawer, and the row of the form that it is about; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suggestion {
    row: RwSignal<u32>,
    open: RwSignal<bool>,
}

impl Suggestion {
    /// Gives the limits of the form their buttons, and those of a stored rule the limit that most subjects need.
    pub(super) fn provide(editor: Editor, stored: Option<(String, RuleForm)>) -> Self {
        let suggestion = Self { row: RwSignal::new(0), open: RwSignal::new(false) };
        provide_context(SuggestLimit(Callback::new(move |row| {
            let stored = stored.clone();
            let open = move |_| {
                suggestion.row.set(row);
                suggestion.open.set(true);
            };
            view! {
                <div class="suggested">
                    {stored.map(|(rule_id, saved)| view! { <Percentile editor row rule_id saved /> })}
                    <button type="button" class="button small" on:click=open>"Suggest from traffic"</button>
                </div>
            }
            .into_any()
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

/// The limit that 99% of the subjects of the last day need at most, for the window of the row when it was shown.
#[component]
fn Percentile(editor: Editor, row: u32, rule_id: String, saved: RuleForm) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let body = editor
        .form
        .with_untracked(|form| question(form, row, window_ms(form, row), 0.01, hours_ago(24)));
    // The recorded checks have the attributes of the stored rule, and not necessarily others that a draft names.
    let (stored, _) = saved.read();
    let same_checks = (body.namespace == stored.namespace)
        && (body.conditions == stored.conditions)
        && (body.count_by == stored.count_by);
    if body.count_by.is_empty() || !same_checks {
        return ().into_any();
    }
    let window = body.window_ms;
    let answer = fetch_data(move || {
        let rule = Some(rule_id.clone());
        let scope = StatsScope { rule, ..StatsScope::last(tenant.get(), hours_ms(24)) };
        suggested(api, scope, body.clone()).boxed_local()
    });
    let same_window = Memo::new(move |_| editor.form.with(|form| window_ms(form, row) == window));
    let found = move || match answer.state() {
        _ if !same_window.get() => None,
        RemoteState::Loading => {
            Some(view! { <span class="muted">"p99 of your subjects: …"</span> }.into_any())
        }
        RemoteState::Failed(problem) if problem == Problem::other_replays() => {
            Some(view! { <span class="muted">{problem.title}</span> }.into_any())
        }
        // The button shows other problems.
        RemoteState::Failed(_) => None,
        RemoteState::Ready(answer) => {
            let answer = answer?;
            let (units, text) = percentile(&answer, window)?;
            let take = move |_| {
                let limit = limit_with(&answer, units);
                editor.form.update(|form| form.put_limit(row, &limit));
            };
            let title = "99% of the recorded subjects need at most this limit";
            Some(view! {
                <span title=title>{text}</span>
                <button type="button" class="button small" on:click=take>"Use "{grouped(units)}</button>
            }
            .into_any())
        }
    };
    view! { <span role="status">{found}</span> }.into_any()
}

/// The suggestion for a stored rule; `None` if none of its checks are recorded.
async fn suggested(
    api: Api,
    mut scope: StatsScope,
    body: SuggestBody,
) -> Result<Option<SuggestAnswer>, Problem> {
    let recorded = api.recorded(&scope.tenant).await?;
    let of_rule = recorded.data.into_iter().find(|found| found.namespace == body.namespace);
    let Some(found) = of_rule else { return Ok(None) };
    scope.from_ms = scope.from_ms.max(found.from.0.as_millis());
    if scope.from_ms >= scope.to_ms || api.summary(&scope).await?.counts.checks() == 0 {
        return Ok(None);
    }
    api.suggest_limit(&scope.tenant, &body).await.map(Some)
}

const fn hours_ms(hours: i64) -> i64 {
    hours * 3_600_000
}

fn hours_ago(hours: i64) -> DateTime {
    DateTime(Timestamp::from_millis(browser::now_ms() - hours_ms(hours)))
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
    let answer = fetch_data(move || {
        let (window_ms, (share, _)) = (window.get(), SHARES[share.get()]);
        let from = hours_ago(hours.get());
        let body = editor.form.with_untracked(|form| question(form, row, window_ms, share, from));
        api.suggest_limit(&tenant.now(), &body)
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
