//! Importing overrides from CSV: parsed and validated in the browser, then compared with the overrides of files, and written in
//! batches.

use std::collections::BTreeMap;

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_wire::overrides::{BulkOverridesBody, OverrideBody, ReplacedSet};
use weir_wire::rules::RuleAnswer;

use crate::api::{Api, Problem};
use crate::components::csv_import::CsvInput;
use crate::components::owner::ImportQuestion;
use crate::components::remote_data::{fetch_data, show};
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::toast::Toasts;
use crate::model::number::quantity;
use crate::model::{csv, override_table};
use crate::pages::shell::TenantId;

/// Overrides per request; each request is one transaction.
const BATCH: usize = 1000;

/// The form; `done` is called once everything is written, and `written` if the form was closed before or a part was written. A file
/// can refer to any rule, so all rules are needed.
#[component]
pub(super) fn Import(
    done: Callback<()>,
    written: Callback<()>,
    cancel: Callback<()>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rules = fetch_data(move || async move { api.rules(&tenant.now()).await }.boxed_local());
    show(rules, move |rules| view! { <Form rules done written cancel /> })
}

#[component]
fn Form(
    rules: Vec<RuleAnswer>,
    done: Callback<()>,
    written: Callback<()>,
    cancel: Callback<()>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let toasts = expect_context::<Toasts>();
    let rules = StoredValue::new(rules);
    let text = RwSignal::new(String::new());
    let read = Memo::new(move |_| {
        text.with(|text| rules.with_value(|rules| override_table::read(text, rules)))
    });
    let (action, progress) = (SubmitAction::new(), RwSignal::new(String::new()));
    // The sets whose overrides the file changes. `None` until it was compared.
    let owners = RwSignal::new(None::<Vec<ReplacedSet>>);
    let confirmed = RwSignal::new(false);
    let forget = move || {
        owners.try_set(None);
        confirmed.try_set(false);
    };
    Effect::new(move |_| {
        text.track();
        forget();
    });
    let import = Callback::new(move |()| {
        let (content, known) = (text.get_untracked(), owners.get_untracked());
        let lines = read.get_untracked().rows;
        let count = lines.len();
        let failed = move |problem: &Problem| {
            forget();
            written.try_run(());
            if text.try_get_untracked().is_none() {
                toasts.show(problem.title.clone());
            }
        };
        let work = async move {
            let batches = Batches { api, tenant: tenant.now(), lines, progress };
            let sets = match known {
                Some(sets) => sets,
                None => {
                    let found = batches.compare().await?;
                    if !found.is_empty() {
                        return Ok(found);
                    }
                    found
                }
            };
            // Somebody can have applied files meanwhile: the next attempt compares again.
            batches.write(&sets).await.inspect_err(failed)?;
            Ok(Vec::new())
        };
        action.run(work, move |found| match text.try_get_untracked() {
            Some(_) if found.is_empty() => done.run(()),
            Some(present) if present == content => owners.set(Some(found)),
            Some(_) => {}
            // The drawer was closed, and holds another form perhaps.
            None if found.is_empty() => {
                toasts.show(format!("Imported {}", quantity(count, "override", "overrides")));
                written.try_run(());
            }
            None => {
                toasts.show("Nothing imported: the file changes overrides that belong to files");
            }
        });
    });
    let incomplete = Signal::derive(move || {
        read.with(|read| read.rows.is_empty() || !read.wrong.is_empty())
            || owners.with(Option::is_some) && !confirmed.get()
    });
    let question = move || owners.get().map(|sets| view! { <ImportQuestion sets confirmed /> });
    let status = Signal::derive(move || {
        read.with(|read| match read.rows.len() {
            0 if read.wrong.is_empty() => "Columns: namespace, rule, action, limits, expires_at, reason, and subject.… for each attribute. Limits are a number, which replaces the rule's limit, or JSON as in an export.".to_owned(),
            some => format!("{} ready to import. Existing overrides of the same subjects are replaced.", quantity(some, "override", "overrides")),
        })
    });
    let wrong = Signal::derive(move || read.get().wrong);
    view! {
        <SubmitForm action submit="Import" on_submit=import incomplete cancel=cancel>
            <CsvInput text status wrong />
            {question}
            <p class="note" role="status">{progress}</p>
        </SubmitForm>
    }
}

/// The overrides of a file, which are sent in batches.
struct Batches {
    api: Api,
    tenant: String,
    /// Each with its line.
    lines: Vec<(usize, OverrideBody)>,
    progress: RwSignal<String>,
}

impl Batches {
    /// The sets that own overrides which the file changes. Nothing is written.
    async fn compare(&self) -> Result<Vec<ReplacedSet>, Problem> {
        let mut owned: BTreeMap<String, u64> = BTreeMap::new();
        let mut compared = 0;
        for batch in self.lines.chunks(BATCH) {
            for ReplacedSet { set, overrides } in self.send(batch, None).await? {
                *owned.entry(set).or_default() += overrides;
            }
            compared += batch.len();
            self.report(compared, "compared");
        }
        self.progress.try_set(String::new());
        let owned = owned.into_iter();
        Ok(owned.map(|(set, overrides)| ReplacedSet { set, overrides }).collect())
    }

    /// Writes batch after batch, and changes overrides of no other sets; a problem states how many have been written.
    async fn write(&self, sets: &[ReplacedSet]) -> Result<(), Problem> {
        let sets: Vec<_> = sets.iter().map(|set| set.set.clone()).collect();
        let mut written = 0;
        for batch in self.lines.chunks(BATCH) {
            self.send(batch, Some(sets.clone())).await.map_err(|problem| Problem {
                title: format!("{} ({written} of {} imported)", problem.title, self.lines.len()),
                ..problem
            })?;
            written += batch.len();
            self.report(written, "imported");
        }
        Ok(())
    }

    /// Writes a batch, or compares it if no sets are given. A problem names the lines of the file.
    async fn send(
        &self,
        batch: &[(usize, OverrideBody)],
        replace_sets: Option<Vec<String>>,
    ) -> Result<Vec<ReplacedSet>, Problem> {
        let overrides = batch.iter().map(|(_, body)| body.clone()).collect();
        let dry_run = replace_sets.is_none();
        let body = BulkOverridesBody { overrides, replace_sets, dry_run };
        let answer = self.api.batch_overrides(&self.tenant, &body).await;
        let answer = answer.map_err(|mut problem| {
            for field in &mut problem.fields {
                field.field = csv::file_problem(&field.field, "overrides", batch);
            }
            problem
        })?;
        Ok(answer.replaced_sets)
    }

    fn report(&self, count: usize, done: &str) {
        self.progress.try_set(format!("{count} of {} {done}.", self.lines.len()));
    }
}
