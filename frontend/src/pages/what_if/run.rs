//! The changed rule, the checks to try it on, and the run.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::components::A;
use weir_domain::time::Timestamp;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::simulate::{Recorded, SimulateAnswer, SimulateBody, Source};
use weir_wire::time::DateTime;
use weir_wire::words::Action;

use super::found::Found;
use crate::api::Api;
use crate::browser;
use crate::components::act::{Act, ActForm};
use crate::components::feedback::{Empty, Warning};
use crate::components::field::Choice;
use crate::components::load::{Load, kept, load};
use crate::components::rule_form::{Editor, Limits};
use crate::components::time::When;
use crate::model::rule_form::RuleForm;
use crate::model::what_if::{self, From};
use crate::model::words;
use crate::pages::shell::TenantId;

/// What is asked; cheap to copy.
#[derive(Debug, Clone, Copy)]
struct Asked {
    editor: Editor,
    before: StoredValue<Option<RuleAnswer>>,
    from: RwSignal<From>,
    file: RwSignal<String>,
    /// A stretch that was marked in a chart, in milliseconds since 1970.
    marked: RwSignal<Option<(i64, i64)>>,
}

/// As often as gates write.
const REFRESH: Duration = Duration::from_secs(5);

/// The form and what came of it.
#[component]
pub(super) fn Run(before: Option<RuleAnswer>, form: RuleForm) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let limited = form.action == Action::Limit;
    let editor = Editor::new(form);
    let asked = Asked {
        editor,
        before: StoredValue::new(before),
        from: RwSignal::new(From::Last(60)),
        file: RwSignal::new(String::new()),
        marked: RwSignal::new(None),
    };
    let answer = RwSignal::new(None::<(SimulateAnswer, RuleBody)>);
    let act = Act::with_fields(&["trace.text"]);
    let run = Callback::new(move |()| {
        let Some(rule) = editor.submit() else { return browser::focus_first_invalid() };
        let Some(body) = asked.body(rule.clone()) else { return };
        act.run(async move { api.simulate(&tenant.now(), &body).await }, move |found| {
            answer.set(Some((found, rule)));
        });
    });
    let start = Callback::new(move |()| {
        asked.marked.set(None);
        run.run(());
    });
    let zoom = Callback::new(move |stretch: Option<(i64, i64)>| {
        asked.marked.set(stretch);
        run.run(());
    });
    let recorded = load(move || {
        let tenant = tenant.get();
        async move { api.recorded(&tenant).await }
    });
    let timer = set_interval_with_handle(move || recorded.again(), REFRESH).ok();
    on_cleanup(move || {
        if let Some(timer) = timer {
            timer.clear();
        }
    });
    let nothing = Memo::new(move |_| {
        let recorded = recorded.data();
        asked.from.get() != From::File && recorded.is_some_and(|it| of(&it, asked.editor).is_none())
    });
    let incomplete = Signal::derive(move || match asked.from.get() {
        From::File => asked.file.with(String::is_empty),
        From::Last(_) => nothing.get(),
    });
    let sentence = Memo::new(move |_| words::sentence(&editor.rule()));
    let found = move || {
        let before = asked.before.get_value();
        answer
            .get()
            .map(|(answer, rule)| view! { <Found answer rule before zoom marked=asked.marked /> })
    };
    view! {
        <ActForm act submit="See what it would do" on_submit=start incomplete class="editor what-if">
            <div class="stack">{if limited {
                view! { <Limits editor /> }.into_any()
            } else {
                view! { <Warning>"This rule has no limits to change here. Change it in the editor and come back from there with \u{201c}What would it do?\u{201d}."</Warning> }.into_any()
            }}</div>
            <div class="stack">
                <Checks asked act recorded />
                <p class="sentence" aria-live="polite">{sentence}</p>
            </div>
        </ActForm>
        {found}
    }
}

/// Which checks.
#[component]
fn Checks(asked: Asked, act: Act, recorded: Load<Recorded>) -> impl IntoView {
    let options = From::ALL.map(|(from, name)| (from, name.to_owned())).to_vec();
    let by_file = move || asked.from.get() == From::File;
    let chosen = move |event: leptos::ev::Event| {
        act.problem.set(None);
        spawn_local(async move {
            if let Some(content) = browser::chosen_text(&event).await {
                asked.file.try_set(content);
            }
        });
    };
    let refused = act.refused("trace.text");
    let too_long = move || asked.file.with(|text| what_if::trace(text.clone()).err());
    let wrong = move || refused.get().or_else(too_long);
    view! {
        <fieldset>
            <legend>"On which checks"</legend>
            <div class="row"><Choice label="Checks" value=asked.from.into() options /></div>
            <Show when=by_file fallback=move || view! { {kept(recorded, move |it| move || there(&it.get(), asked.editor))} }>
                <label class="field">
                    <span>"File"</span>
                    <input type="file" accept=".csv,.jsonl,.ndjson,text/csv,application/json" aria-describedby="trace-note" on:change=chosen />
                </label>
                <p id="trace-note" class="note">
                    "CSV with a column "<code>"time"</code>", one for each attribute and perhaps "<code>"cost"</code>
                    "; or one JSON object a line: "<code>"{\"time\": \"2026-11-21T12:00:00Z\", \"attributes\": {\"user\": \"u-17\"}}"</code>
                    ". At most 10 MiB and 200,000 lines. Nothing of it is kept."
                </p>
                <p class="field-problem" role="alert">{wrong}</p>
            </Show>
        </fieldset>
    }
}

/// What is recorded, or what to do that something is.
fn there(recorded: &Recorded, editor: Editor) -> AnyView {
    let tenant = expect_context::<TenantId>();
    let off = (!recorded.recording).then(|| {
        view! {
            <Warning>
                <p>"Checks are not recorded at present. "<A href=move || tenant.page("settings")>"Turn it on in the settings"</A></p>
            </Warning>
        }
    });
    match of(recorded, editor) {
        Some(it) => view! {
            {off}
            <p class="note">{what_if::recorded(&it)}", the first "<When at=it.from />"."</p>
        }
        .into_any(),
        None if off.is_some() => off.into_any(),
        None => view! {
            <Empty title="Nothing is recorded of this namespace yet.">
                <p>"Gates record checks as they come, and write them down every five seconds. Send some, or choose a file above. "
                <A href=move || tenant.page("test")>"Send a check"</A></p>
            </Empty>
        }
        .into_any(),
    }
}

/// What is recorded of the rule's namespace.
fn of(recorded: &Recorded, editor: Editor) -> Option<weir_wire::simulate::RecordedNamespace> {
    let namespace = editor.form.with(|form| form.namespace.trim().to_owned());
    recorded.data.iter().find(|it| it.namespace == namespace).cloned()
}

impl Asked {
    /// What is sent; nothing without a usable file.
    fn body(self, rule: RuleBody) -> Option<SimulateBody> {
        let at = |ms: i64| DateTime(Timestamp::from_millis(ms));
        let marked = self.marked.get_untracked();
        let (source, trace, between) = match self.from.get_untracked() {
            From::Last(minutes) => {
                let now = browser::now_ms();
                (Source::Recorded, None, Some((now - minutes * 60_000, now)))
            }
            From::File => {
                let trace = what_if::trace(self.file.get_untracked()).ok()?;
                (Source::Trace, Some(trace), None)
            }
        };
        let between = marked.or(between);
        Some(SimulateBody {
            rule,
            rule_id: self.before.with_value(|it| it.as_ref().map(|it| it.id.clone())),
            source,
            from: between.map(|it| at(it.0)),
            to: between.map(|it| at(it.1)),
            trace,
        })
    }
}
