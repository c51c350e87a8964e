//! Importing assignments from CSV: parsed and validated in the browser, and written together or not at all.

use leptos::prelude::*;
use weir_domain::time::Timestamp;
use weir_wire::plans::{BULK_ASSIGNMENTS_MAX, BulkAssignmentsAnswer, PlanAnswer};

use crate::api::Api;
use crate::browser;
use crate::components::csv_import::CsvInput;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::toast::Toasts;
use crate::model::number::quantity;
use crate::model::{assignment_table, csv};
use crate::pages::shell::TenantId;

/// The form; `done` is called once the assignments are written.
#[component]
pub(super) fn Import(
    plans: StoredValue<Vec<PlanAnswer>>,
    done: Callback<()>,
    cancel: Callback<()>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let toasts = expect_context::<Toasts>();
    let text = RwSignal::new(String::new());
    let read = Memo::new(move |_| {
        let now = Timestamp::from_millis(browser::now_ms());
        let mut read =
            text.with(|text| plans.with_value(|plans| assignment_table::read(text, plans, now)));
        if read.rows.len() > BULK_ASSIGNMENTS_MAX {
            let lines = quantity(read.rows.len(), "line", "lines");
            read.wrong.push(format!("{lines}; split the file: at most {BULK_ASSIGNMENTS_MAX}"));
        }
        read
    });
    let action = SubmitAction::new();
    let import = Callback::new(move |()| {
        let rows = read.get_untracked().rows;
        let work = async move {
            let bodies = rows.iter().map(|(_, body)| body.clone()).collect();
            api.assign_many(&tenant.now(), bodies).await.map_err(|mut problem| {
                for field in &mut problem.fields {
                    field.field = csv::file_problem(&field.field, "assignments", &rows);
                }
                problem
            })
        };
        action.run(work, move |answer: BulkAssignmentsAnswer| {
            let count = usize::try_from(answer.created).unwrap_or(usize::MAX);
            toasts.show(format!("Imported {}", quantity(count, "assignment", "assignments")));
            done.try_run(());
        });
    });
    let incomplete =
        Signal::derive(move || read.with(|read| read.rows.is_empty() || !read.wrong.is_empty()));
    let status = Signal::derive(move || {
        read.with(|read| match read.rows.len() {
            0 if read.wrong.is_empty() => "Columns: customer, plan, from, until, note, email. The first two are needed; a plan is its name. An empty from means at once.".to_owned(),
            some => format!("{} ready to import. All are written together, or none.", quantity(some, "assignment", "assignments")),
        })
    });
    let wrong = Signal::derive(move || read.get().wrong);
    view! {
        <SubmitForm action submit="Import" on_submit=import incomplete cancel=cancel>
            <CsvInput text status wrong />
        </SubmitForm>
    }
}
