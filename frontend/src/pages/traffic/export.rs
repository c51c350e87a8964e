//! The lists of a page as CSV files, with more rows than the page shows.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_wire::stats::{DenialEntry, Top, TopEntry};

use crate::api::{Api, Problem, StatsScope};
use crate::components::csv_export::{EXPORT_ROWS_MAX, ExportCsv};
use crate::model::subject;

/// The most entries that the API lists by denials.
const TOP_MAX: u32 = 100;

/// A button that saves the most denied rules or subjects; `by` is `rule` or `subject`.
#[component]
pub fn ExportTop(scope: Signal<StatsScope>, by: &'static str) -> impl IntoView {
    let api = expect_context::<Api>();
    let rows = Callback::new(move |()| {
        let top = api.top(&scope.get_untracked(), by, TOP_MAX);
        async move { top.await.map(top_rows) }.boxed_local()
    });
    view! { <ExportCsv name=format!("denied-{by}s") titles=&TOP_TITLES rows note="The 100 most denied" /> }
}

/// A button that saves the subjects that are first by `order`: `denied` or `checks`.
#[component]
pub fn ExportSubjects(scope: Signal<StatsScope>, order: &'static str) -> impl IntoView {
    let api = expect_context::<Api>();
    let rows = Callback::new(move |()| {
        let top = api.top_subjects(&scope.get_untracked(), order, TOP_MAX);
        async move { top.await.map(top_rows) }.boxed_local()
    });
    view! { <ExportCsv name=format!("subjects-{order}") titles=&TOP_TITLES rows note="The first 100 of this list" /> }
}

const TOP_TITLES: [&str; 7] = [
    "Namespace",
    "Rule",
    "Subject",
    "Checks",
    "Denied",
    "Would deny",
    "Checks too high by at most",
];

fn top_rows(top: Top) -> Vec<Vec<String>> {
    let error = top.error_at_most.to_string();
    let row = |entry: TopEntry| {
        let enforced = entry.enforced();
        vec![
            entry.namespace.unwrap_or_default(),
            entry.rule.unwrap_or(entry.rule_id),
            entry.subject.as_ref().map(subject::label).unwrap_or_default(),
            entry.checks.to_string(),
            enforced.to_string(),
            entry.shadow_denied.to_string(),
            error.clone(),
        ]
    };
    top.data.into_iter().map(row).collect()
}

/// A button that saves the log of denials.
#[component]
pub fn ExportDenials(scope: Signal<StatsScope>) -> impl IntoView {
    let api = expect_context::<Api>();
    let rows = Callback::new(move |()| {
        let scope = scope.get_untracked();
        async move {
            let entries = log(api, &scope.tenant, scope.rule.as_deref(), &scope.namespace).await?;
            Ok(entries.into_iter().map(denial_row).collect())
        }
        .boxed_local()
    });
    view! { <ExportCsv name="denials".to_owned() titles=&DENIAL_TITLES rows note="The newest 10,000 entries of the log" /> }
}

/// The newest entries of the log.
async fn log(
    api: Api,
    tenant: &str,
    rule: Option<&str>,
    namespace: &str,
) -> Result<Vec<DenialEntry>, Problem> {
    let mut entries = Vec::new();
    let mut cursor = None;
    loop {
        let page = api.denials(tenant, rule, namespace, cursor.as_deref()).await?;
        entries.extend(page.data);
        cursor = page.next_cursor;
        if cursor.is_none() || entries.len() >= EXPORT_ROWS_MAX {
            return Ok(entries);
        }
    }
}

const DENIAL_TITLES: [&str; 9] = [
    "Time",
    "Namespace",
    "Rule",
    "Subject",
    "Cost",
    "Shadow",
    "Without Redis",
    "Stands for",
    "Request",
];

fn denial_row(denial: DenialEntry) -> Vec<String> {
    vec![
        denial.at.text(),
        denial.namespace,
        denial.rule,
        subject::label(&denial.subject),
        denial.cost.to_string(),
        denial.shadow.to_string(),
        denial.degraded.to_string(),
        denial.stands_for.to_string(),
        denial.request_id.unwrap_or_default(),
    ]
}
