//! Overrides from a CSV file: read and checked here first, then written in batches.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::overrides::OverrideBody;
use weir_wire::rules::RuleAnswer;

use crate::api::{Api, Problem};
use crate::browser;
use crate::components::act::{Act, ActForm};
use crate::components::field::TextArea;
use crate::components::load::{load, loaded};
use crate::model::number::counted;
use crate::model::override_table;
use crate::pages::shell::TenantId;

/// In one request; each is written whole or not at all.
const BATCH: usize = 1000;
/// More are counted: whoever has so many mends the file first.
const WRONG_SHOWN: usize = 20;

/// The form; `done` follows once all is written. A file may name any rule, so here all of them are needed.
#[component]
pub(super) fn Import(done: Callback<()>, cancel: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rules = load(move || async move { api.rules(&tenant.now()).await });
    loaded(rules, move |rules| view! { <Form rules done cancel /> })
}

#[component]
fn Form(rules: Vec<RuleAnswer>, done: Callback<()>, cancel: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rules = StoredValue::new(rules);
    let text = RwSignal::new(String::new());
    let read = Memo::new(move |_| {
        text.with(|text| rules.with_value(|rules| override_table::read(text, rules)))
    });
    let (act, progress) = (Act::new(), RwSignal::new(String::new()));
    let chosen = move |event: leptos::ev::Event| {
        spawn_local(async move {
            if let Some(content) = browser::chosen_text(&event).await {
                text.try_set(content);
            }
        });
    };
    let import = Callback::new(move |()| {
        let lines = read.get_untracked().overrides;
        act.run(async move { write(api, tenant.now(), lines, progress).await }, move |()| {
            done.run(());
        });
    });
    let incomplete = Signal::derive(move || {
        read.with(|read| read.overrides.is_empty() || !read.wrong.is_empty())
    });
    let said = move || {
        read.with(|read| match read.overrides.len() {
            0 if read.wrong.is_empty() => "Columns: namespace, rule, action, limits, expires_at, reason, and subject.… for each attribute. Limits are a number, which replaces that of the rule's limit, or JSON as in an export.".to_owned(),
            some => format!("{} can be written; one for a subject that has an override replaces it.", counted(some, "override", "overrides")),
        })
    };
    let wrong = move || {
        let mut lines = read.get().wrong;
        let more = lines.len().saturating_sub(WRONG_SHOWN);
        lines.truncate(WRONG_SHOWN);
        if more > 0 {
            lines.push(format!("and {}", counted(more, "more line", "more lines")));
        }
        (!lines.is_empty()).then(|| {
            let lines: Vec<_> = lines.into_iter().map(|line| view! { <li>{line}</li> }).collect();
            view! { <div class="problem" role="alert"><p class="problem-title">"To mend before it can be imported"</p><ul>{lines}</ul></div> }
        })
    };
    view! {
        <ActForm act submit="Import" on_submit=import incomplete cancel=cancel>
            <h2>"Import CSV"</h2>
            <label class="field"><span>"File"</span><input type="file" accept=".csv,text/csv" on:change=chosen /></label>
            <TextArea label="Or the text itself" value=text />
            <p class="note" role="status">{said}</p>
            {wrong}
            <p class="note" role="status">{progress}</p>
        </ActForm>
    }
}

/// Batch after batch; what went wrong says how much is written already.
async fn write(
    api: Api,
    tenant: String,
    lines: Vec<(usize, OverrideBody)>,
    progress: RwSignal<String>,
) -> Result<(), Problem> {
    let (all, mut written) = (lines.len(), 0);
    for batch in lines.chunks(BATCH) {
        let bodies = batch.iter().map(|(_, body)| body.clone()).collect::<Vec<_>>();
        let answer = api.write_overrides(&tenant, bodies).await;
        if let Err(mut problem) = answer {
            problem.title = format!("{} ({written} of {all} are written)", problem.title);
            for field in &mut problem.fields {
                field.field = override_table::in_file(&field.field, batch);
            }
            return Err(problem);
        }
        written += batch.len();
        progress.try_set(format!("{written} of {all} written."));
    }
    Ok(())
}
