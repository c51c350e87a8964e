//! Importing overrides from CSV: parsed and validated in the browser, then written in batches.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::overrides::OverrideBody;
use weir_wire::rules::RuleAnswer;

use crate::api::{Api, Problem};
use crate::browser;
use crate::components::field::TextArea;
use crate::components::remote_data::{fetch_data, show};
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::model::number::quantity;
use crate::model::override_table;
use crate::pages::shell::TenantId;

/// Overrides per request; each request is one transaction.
const BATCH: usize = 1000;
/// The maximum number of problems listed.
const WRONG_SHOWN: usize = 20;

/// The form; `done` is called once everything is written. A file can refer to any rule, so all rules are needed.
#[component]
pub(super) fn Import(done: Callback<()>, cancel: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rules = fetch_data(move || async move { api.rules(&tenant.now()).await });
    show(rules, move |rules| view! { <Form rules done cancel /> })
}

#[component]
fn Form(rules: Vec<RuleAnswer>, done: Callback<()>, cancel: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rules = StoredValue::new(rules);
    let text = RwSignal::new(String::new());
    let read = Memo::new(move |_| {
        text.with(|text| rules.with_value(|rules| override_table::read(text, rules)))
    });
    let (action, progress) = (SubmitAction::new(), RwSignal::new(String::new()));
    let chosen = move |event: leptos::ev::Event| {
        spawn_local(async move {
            if let Some(content) = browser::read_chosen_file(&event).await {
                text.try_set(content);
            }
        });
    };
    let import = Callback::new(move |()| {
        let lines = read.get_untracked().overrides;
        action.run(async move { write(api, tenant.now(), lines, progress).await }, move |()| {
            done.run(());
        });
    });
    let incomplete = Signal::derive(move || {
        read.with(|read| read.overrides.is_empty() || !read.wrong.is_empty())
    });
    let status = move || {
        read.with(|read| match read.overrides.len() {
            0 if read.wrong.is_empty() => "Columns: namespace, rule, action, limits, expires_at, reason, and subject.… for each attribute. Limits are a number, which replaces the rule's limit, or JSON as in an export.".to_owned(),
            some => format!("{} ready to import. Existing overrides of the same subjects are replaced, also those that belong to files: the next apply of the files undoes that.", quantity(some, "override", "overrides")),
        })
    };
    let wrong = move || {
        let mut lines = read.get().wrong;
        let more = lines.len().saturating_sub(WRONG_SHOWN);
        lines.truncate(WRONG_SHOWN);
        if more > 0 {
            lines.push(format!("and {}", quantity(more, "more line", "more lines")));
        }
        (!lines.is_empty()).then(|| {
            let lines: Vec<_> = lines.into_iter().map(|line| view! { <li>{line}</li> }).collect();
            view! { <div class="problem" role="alert"><p class="problem-title">"Fix these lines before importing"</p><ul>{lines}</ul></div> }
        })
    };
    view! {
        <SubmitForm action submit="Import" on_submit=import incomplete cancel=cancel>
            <label class="field"><span>"File"</span><input type="file" accept=".csv,text/csv" on:change=chosen /></label>
            <TextArea label="Or paste CSV" value=text code=true />
            <p class="note" role="status">{status}</p>
            {wrong}
            <p class="note" role="status">{progress}</p>
        </SubmitForm>
    }
}

/// Writes batch after batch; a problem states how many overrides have been written.
async fn write(
    api: Api,
    tenant: String,
    lines: Vec<(usize, OverrideBody)>,
    progress: RwSignal<String>,
) -> Result<(), Problem> {
    let (all, mut written) = (lines.len(), 0);
    for batch in lines.chunks(BATCH) {
        let bodies = batch.iter().map(|(_, body)| body.clone()).collect::<Vec<_>>();
        let answer = api.batch_overrides(&tenant, bodies).await;
        if let Err(mut problem) = answer {
            problem.title = format!("{} ({written} of {all} imported)", problem.title);
            for field in &mut problem.fields {
                field.field = override_table::file_problem(&field.field, batch);
            }
            return Err(problem);
        }
        written += batch.len();
        progress.try_set(format!("{written} of {all} imported."));
    }
    Ok(())
}
