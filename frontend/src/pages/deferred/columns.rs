//! The columns of the failed jobs, with the actions of a job.

use leptos::prelude::*;
use weir_wire::deferred::DeadLetter;
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::data_table::Column;
use crate::components::dialog::{Confirm, Dialog};
use crate::components::feedback::SubmitProblem;
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::table::RowButton;
use crate::components::toast::Toasts;
use crate::model::number::grouped;
use crate::pages::shell::TenantId;

/// The columns; `changed` is called after an action.
pub(super) fn columns(changed: Callback<()>) -> Vec<Column<DeadLetter>> {
    vec![
        Column::text("job", "Job", subject).class("text-cell").cell(|job| {
            let namespace = job.namespace.clone();
            view! { <div>{namespace}<div class="muted two-lines">{attributes(job)}</div></div> }
                .into_any()
        }),
        Column::text("reason", "Reason", |job: &DeadLetter| job.error.clone()).class("text-cell"),
        Column::number("attempts", "Deliveries", |job: &DeadLetter| job.attempts),
        Column::new("charged", "Charged", |job: &DeadLetter| {
            if job.charged { grouped(job.cost) } else { "No".to_owned() }
        }),
        Column::time("failed", "Failed", |job: &DeadLetter| job.failed_at),
        Column::actions(move |job: &DeadLetter| {
            let job = job.clone();
            view! { <Actions job changed /> }.into_any()
        })
        .class("number row-actions many-actions"),
    ]
}

/// The job's namespace and attributes.
fn subject(job: &DeadLetter) -> String {
    format!("{} {}", job.namespace, attributes(job))
}

fn attributes(job: &DeadLetter) -> String {
    let each: Vec<_> =
        job.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
    each.join(", ")
}

#[component]
fn Actions(job: DeadLetter, changed: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let toasts = expect_context::<Toasts>();
    let (action, deleting) = (SubmitAction::new(), RwSignal::new(false));
    let name = subject(&job);
    let payload = StoredValue::new(format!("{:#}", job.payload));
    let showing = RwSignal::new(false);
    let id = StoredValue::new(job.id);
    let done = move |text: &'static str| {
        move |()| {
            toasts.show(text);
            changed.run(());
        }
    };
    let retry = move |()| {
        let work = api.retry_deferred(&tenant.now(), &id.get_value());
        action.run(work, done("The job waits again"));
    };
    let delete = move |()| {
        let work = api.delete_deferred(&tenant.now(), &id.get_value());
        action.run(work, done("Job deleted"));
    };
    view! {
        <RowButton text="Payload" label=format!("Payload of {name}") on_press=move |()| showing.set(true) />
        <Dialog title="Payload" open=showing>
            <div class="stack">
                <pre tabindex="0"><code>{payload.get_value()}</code></pre>
                <div class="actions">
                    <button type="button" class="button" on:click=move |_| showing.set(false)>"Close"</button>
                </div>
            </div>
        </Dialog>
        <RequireRole role=Role::Editor reason_shown=true>
            <RowButton text="Retry" label=format!("Retry {name}") disabled=action.busy on_press=retry />
            <RowButton text="Delete" label=format!("Delete {name}") disabled=action.busy on_press=move |()| deleting.set(true) />
        </RequireRole>
        <SubmitProblem problem=action.problem />
        <Confirm title="Delete this job?" action="Delete job" open=deleting on_confirm=delete>
            <p>"Its payload is removed and it is never delivered. This cannot be undone."</p>
        </Confirm>
    }
}
