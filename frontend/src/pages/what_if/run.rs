//! The changed rule, the checks to replay, and the run.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::components::A;
use leptos_router::hooks::{use_navigate, use_query_map};
use weir_domain::time::Timestamp;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::simulate::{Recorded, SimulateAnswer, SimulateBody, Source};
use weir_wire::time::DateTime;
use weir_wire::words::Action;

use super::curve::FoundPoints;
use super::result::RunResult;
use crate::api::{Api, Problem};
use crate::browser;
use crate::components::control_flow::Show;
use crate::components::feedback::{Empty, Warning};
use crate::components::field::Choice;
use crate::components::remote_data::{RemoteData, fetch_data, show_latest};
use crate::components::rule_form::{Editor, Limits};
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::time::RelativeTime;
use crate::model::labels;
use crate::model::rule_form::RuleForm;
use crate::model::what_if::{self, RunTime, TraceSource};
use crate::pages::shell::TenantId;

/// The input of a run; cheap to copy.
#[derive(Debug, Clone, Copy)]
struct RunInput {
    editor: Editor,
    before: StoredValue<Option<RuleAnswer>>,
    from: RwSignal<TraceSource>,
    file: RwSignal<String>,
    /// A range selected in a chart, in milliseconds since 1970.
    zoomed: RwSignal<Option<(i64, i64)>>,
}

/// The interval at which gates write recorded checks.
const REFRESH: Duration = Duration::from_secs(5);
/// The time without a change after which a changed rule is replayed.
const SETTLED: Duration = Duration::from_millis(400);

/// The shortest traffic to choose.
const SHORTEST: TraceSource = TraceSource::Last(15);

/// The form and the result.
#[component]
pub(super) fn Run(
    before: Option<RuleAnswer>,
    form: RuleForm,
    recorded: RemoteData<Recorded>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let limited = form.action == Action::Limit;
    let editor = Editor::new(form);
    let (in_url, is_run) = time_in_url(before.as_ref());
    let input = RunInput {
        editor,
        before: StoredValue::new(before),
        from: RwSignal::new(in_url.source),
        file: RwSignal::new(String::new()),
        zoomed: RwSignal::new(in_url.zoomed),
    };
    let answer = RwSignal::new(None::<(SimulateAnswer, SimulateBody, RunTime)>);
    let action = SubmitAction::with_fields(&["trace.text"]);
    // The person started the run, and looks for its result.
    let started = StoredValue::new(false);
    let run = Callback::new(move |()| {
        let Some(rule) = editor.submit() else { return browser::focus_first_invalid() };
        let (time, Some(body)) = (input.time(), input.body(rule)) else { return };
        action.run(api.simulate(&tenant.now(), &body), move |result| {
            answer.set(Some((result, body, time)));
            if started.try_update_value(std::mem::take) == Some(true) {
                browser::focus_rendered("#found-heading");
            }
        });
    });
    let zoom = Callback::new(move |stretch: Option<(i64, i64)>| {
        input.zoomed.set(stretch);
        run.run(());
    });
    let start = Callback::new(move |()| {
        started.set_value(true);
        zoom.run(None);
    });
    run_in_url(tenant, input);
    let found = FoundPoints::new(action.busy);
    let choose = choice_of_limit(input, run);
    rerun(input, Signal::derive(move || answer.with(Option::is_some)), action, run);
    // The URL of a run shows its result.
    if is_run {
        run.run(());
    }
    let nothing = Memo::new(move |_| {
        let recorded = recorded.data();
        input.from.get() != TraceSource::File
            && recorded.is_some_and(|recorded| of(&recorded, input.editor).is_none())
    });
    let incomplete = Signal::derive(move || match input.from.get() {
        TraceSource::File => input.file.with(String::is_empty),
        TraceSource::Last(_) => nothing.get(),
    });
    let sentence = Memo::new(move |_| labels::sentence(&editor.rule()));
    let too_slow = Memo::new(move |_| {
        let stopped = |problem: &Problem| problem.is_too_slow();
        action.problem.with(|problem| problem.as_ref().is_some_and(stopped))
    });
    let shorter = move || too_slow.get() && input.from.get() != SHORTEST;
    let run_shorter = move |_| {
        input.from.set(SHORTEST);
        start.run(());
    };
    let result = move || {
        let before = input.before.get_value();
        answer.get().map(|(answer, body, time)| {
            view! { <RunResult answer before body time zoom zoomed=input.zoomed found choose /> }
        })
    };
    view! {
        <SubmitForm action submit="Run replay" on_submit=start incomplete class="editor what-if">
            <div class="stack">{if limited {
                view! { <Limits editor /> }.into_any()
            } else {
                view! { <Warning>"This rule has no limits to change here. Change it in the editor and come back from there with Replay on recorded traffic."</Warning> }.into_any()
            }}</div>
            <div class="stack">
                <Checks input action recorded />
                <p class="sentence" aria-live="polite">{sentence}</p>
            </div>
        </SubmitForm>
        <Show when=shorter>
            <button type="button" class="button" on:click=run_shorter>"Try the last 15 minutes"</button>
        </Show>
        {result}
    }
}

/// Replays the rule with another number of units of its first limit.
fn choice_of_limit(input: RunInput, run: Callback<()>) -> Callback<u64> {
    Callback::new(move |units: u64| {
        input.editor.form.update(|form| {
            if let Some(limit) = form.limits.first_mut() {
                limit.units = units.to_string();
            }
        });
        // Recorded checks are replayed after each change.
        if input.from.get_untracked() == TraceSource::File {
            run.run(());
        }
    })
}

/// The time in the URL, and whether the URL has a run of this rule.
fn time_in_url(before: Option<&RuleAnswer>) -> (RunTime, bool) {
    use_query_map().with_untracked(|query| {
        let is_of = |rule: &RuleAnswer| query.get("rule").as_ref() == Some(&rule.id);
        let of_rule = before.is_some_and(is_of);
        let parameter = |name: &str| query.get(name).filter(|_| of_rule);
        let is_run = ["limits", "minutes", "from"].iter().any(|name| parameter(name).is_some());
        (RunTime::of(parameter), is_run)
    })
}

/// Writes the run into the URL, so that a link, a reload or a saved run shows it again.
fn run_in_url(tenant: TenantId, input: RunInput) {
    let (navigate, query) = (use_navigate(), use_query_map());
    let stored = input
        .before
        .with_value(|rule| rule.as_ref().map(|rule| (rule.id.clone(), rule.rule.limits.clone())));
    let Some((id, limits)) = stored else { return };
    let run = Memo::new(move |_| {
        let rule = input.editor.right()?;
        let changed = (rule.limits != limits).then(|| serde_json::to_string(&rule.limits).ok());
        let limits = changed.flatten().map(|limits| browser::encode_component(&limits));
        let limits = limits.map(|limits| format!("&limits={limits}")).unwrap_or_default();
        input.from.track();
        input.zoomed.track();
        Some(limits + &input.time().query())
    });
    let is_named = query.with_untracked(|query| query.get("rule").is_none_or(|named| named == id));
    Effect::new(move |earlier: Option<Option<String>>| {
        let run = run.get();
        // Another rule that was chosen is written at once.
        let is_new = earlier.map_or(!is_named, |earlier| earlier != run);
        if let Some(run) = run.as_ref().filter(|_| is_new) {
            let namespace = query.with_untracked(|query| query.get("namespace"));
            let namespace = namespace.map(|name| format!("&namespace={name}")).unwrap_or_default();
            let page = tenant.page_now(&format!("what-if?rule={id}{namespace}{run}"));
            let options =
                NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() };
            navigate(&page, options);
        }
        run
    });
}

/// The recorded checks, refreshed as gates write them.
pub(super) fn fetch_recorded(api: Api, tenant: TenantId) -> RemoteData<Recorded> {
    let recorded = fetch_data(move || api.recorded(&tenant.get()));
    let timer = set_interval_with_handle(move || recorded.poll(), REFRESH).ok();
    on_cleanup(move || {
        if let Some(timer) = timer {
            timer.clear();
        }
    });
    recorded
}

/// Runs again shortly after each change of a valid rule, once a first result is there. Traces are not sent again and again.
fn rerun(input: RunInput, ready: Signal<bool>, action: SubmitAction, run: Callback<()>) {
    let editor = input.editor;
    let changed = Memo::new(move |_| editor.right());
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let stop = move || {
        if let Some(timer) = timer.try_update_value(Option::take).flatten() {
            timer.clear();
        }
    };
    Effect::new(move |last: Option<Option<RuleBody>>| {
        let rule = changed.get();
        let is_new = last.is_some_and(|last| last != rule) && rule.is_some();
        let recorded = input.from.with_untracked(|from| *from != TraceSource::File);
        if is_new && recorded && ready.get_untracked() {
            stop();
            run_soon(timer, action, run);
        }
        rule
    });
    on_cleanup(stop);
}

/// Runs after a pause, and not before a run has ended that is under way: it is of an earlier rule.
fn run_soon(timer: StoredValue<Option<TimeoutHandle>>, action: SubmitAction, run: Callback<()>) {
    let again = move || {
        if action.busy.get_untracked() {
            run_soon(timer, action, run);
        } else {
            run.run(());
        }
    };
    timer.set_value(set_timeout_with_handle(again, SETTLED).ok());
}

/// The checks to replay.
#[component]
fn Checks(input: RunInput, action: SubmitAction, recorded: RemoteData<Recorded>) -> impl IntoView {
    let options = TraceSource::ALL.map(|(from, name)| (from, name.to_owned())).to_vec();
    let by_file = move || input.from.get() == TraceSource::File;
    let chosen = move |event: leptos::ev::Event| {
        action.problem.set(None);
        spawn_local(async move {
            if let Some(content) = browser::read_chosen_file(&event).await {
                input.file.try_set(content);
            }
        });
    };
    let rejected = action.server_problem("trace.text");
    let too_long = move || input.file.with(|text| what_if::trace(text.clone()).err());
    let wrong = move || rejected.get().or_else(too_long);
    view! {
        <fieldset>
            <legend>"Traffic"</legend>
            <div class="row"><Choice label="Checks" value=input.from.into() options /></div>
            <Show when=by_file fallback=move || view! { {show_latest(recorded, move |recorded| move || recording_status(&recorded.get(), input.editor))} }>
                <label class="field">
                    <span>"File"</span>
                    <input type="file" accept=".csv,.jsonl,.ndjson,text/csv,application/json" aria-describedby="trace-note" on:change=chosen />
                </label>
                <p id="trace-note" class="note">
                    "CSV with a column "<code>"time"</code>", one per attribute and optionally "<code>"cost"</code>
                    "; or one JSON object per line: "<code>"{\"time\": \"2026-11-21T12:00:00Z\", \"attributes\": {\"user\": \"u-17\"}}"</code>
                    ". At most 10 MiB and 200,000 lines. The file is not stored."
                </p>
                <p class="field-problem" role="alert">{wrong}</p>
            </Show>
        </fieldset>
    }
}

/// How much is recorded, or how to turn recording on.
fn recording_status(recorded: &Recorded, editor: Editor) -> AnyView {
    let tenant = expect_context::<TenantId>();
    let off = (!recorded.recording).then(|| {
        view! {
            <Warning>
                <p>"Recording is off. "<A href=move || tenant.page("settings")>"Turn it on in Settings"</A></p>
            </Warning>
        }
    });
    match of(recorded, editor) {
        Some(recorded) => view! {
            {off}
            <p class="note">{what_if::recorded(&recorded)}", the first "<RelativeTime at=recorded.from />"."</p>
        }
        .into_any(),
        None if off.is_some() => off.into_any(),
        None => view! {
            <Empty title="Nothing has been recorded in this namespace yet.">
                <p>"Gates write recorded checks every five seconds. Send some, or choose a file above. "
                <A href=move || tenant.page("test")>"Send a check"</A></p>
            </Empty>
        }
        .into_any(),
    }
}

/// The recording of the rule's namespace.
fn of(recorded: &Recorded, editor: Editor) -> Option<weir_wire::simulate::RecordedNamespace> {
    let namespace = editor.form.with(|form| form.namespace.trim().to_owned());
    recorded.data.iter().find(|recorded| recorded.namespace == namespace).cloned()
}

impl RunInput {
    fn time(self) -> RunTime {
        RunTime { source: self.from.get_untracked(), zoomed: self.zoomed.get_untracked() }
    }

    /// The body to send; `None` without a valid file.
    fn body(self, rule: RuleBody) -> Option<SimulateBody> {
        let at = |ms: i64| DateTime(Timestamp::from_millis(ms));
        let zoomed = self.zoomed.get_untracked();
        let (source, trace, between) = match self.from.get_untracked() {
            TraceSource::Last(minutes) => {
                let now = browser::now_ms();
                (Source::Recorded, None, Some((now - minutes * 60_000, now)))
            }
            TraceSource::File => {
                let trace = what_if::trace(self.file.get_untracked()).ok()?;
                (Source::Trace, Some(trace), None)
            }
        };
        let between = zoomed.or(between);
        Some(SimulateBody {
            rule,
            rule_id: self.before.with_value(|rule| rule.as_ref().map(|rule| rule.id.clone())),
            source,
            from: between.map(|range| at(range.0)),
            to: between.map(|range| at(range.1)),
            trace,
            plan: None,
            assignments: Vec::new(),
        })
    }
}
