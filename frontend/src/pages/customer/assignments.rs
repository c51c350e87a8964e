//! The assignments of the customer: scheduled, present and ended.

use std::cmp::Reverse;

use leptos::prelude::*;
use weir_wire::customers::CustomerAnswer;
use weir_wire::plans::{AssignmentAnswer, PlanAnswer};
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::browser;
use crate::components::dialog::Confirm;
use crate::components::feedback::{Empty, SubmitProblem};
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::table::{ObjectTable, RowButton};
use crate::components::time::ExactTime;
use crate::components::toast::Toasts;
use crate::model::customer::AssignmentState;
use crate::pages::shell::TenantId;

/// The table; `changed` is called once an assignment has ended.
#[component]
pub(super) fn Assignments(
    answer: Signal<CustomerAnswer>,
    plans: StoredValue<Vec<PlanAnswer>>,
    changed: Callback<()>,
) -> impl IntoView {
    let table = move || {
        let mut assignments = answer.get().assignments;
        if assignments.is_empty() {
            return view! {
                <Empty title="No plan yet"><p>"The limits of the rules apply to this customer as they are."</p></Empty>
            }
            .into_any();
        }
        assignments.sort_by_key(|assignment| Reverse(assignment.from));
        let rows: Vec<_> = assignments
            .into_iter()
            .map(|assignment| view! { <Row assignment plans changed /> })
            .collect();
        view! {
            <ObjectTable label="Plans of this customer" columns=&["Plan", "State", "From", "Until", "Note"]>{rows}</ObjectTable>
        }
        .into_any()
    };
    view! {
        <section class="stack" aria-labelledby="assignments-heading">
            <h2 id="assignments-heading">"Plans"</h2>
            {table}
        </section>
    }
}

#[component]
fn Row(
    assignment: AssignmentAnswer,
    plans: StoredValue<Vec<PlanAnswer>>,
    changed: Callback<()>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let toasts = expect_context::<Toasts>();
    let state = AssignmentState::of(&assignment, browser::now_ms());
    let (class, text) = state.badge();
    let AssignmentAnswer { id, plan, pinned_revision, from, until, note, email, .. } = assignment;
    let plan = plans.with_value(|plans| {
        let found = plans.iter().find(|one| one.id == plan);
        found.map_or_else(|| "Deleted plan".to_owned(), |found| found.plan.name.clone())
    });
    let pinned = pinned_revision
        .map(|revision| view! { <div class="muted">{format!("Revision {revision}")}</div> });
    let until =
        until.map_or_else(|| "Without end".into_any(), |at| view! { <ExactTime at /> }.into_any());
    let note = if note.is_empty() { "–".to_owned() } else { note };
    let email = email.map(|email| view! { <div class="muted">{email}</div> });
    let action = SubmitAction::new();
    let asking = RwSignal::new(false);
    let end = Callback::new(move |()| {
        action.run(api.end_assignment(&tenant.now(), &id), move |()| {
            toasts.show("Assignment ended");
            changed.try_run(());
        });
    });
    let consequence = match state {
        AssignmentState::Scheduled => {
            "It never begins. A plan that ends at its begin ends then all the same."
        }
        _ => {
            "The customer is then on no plan, and the limits of the rules apply to it. Units that it has used stay used."
        }
    };
    let label = format!("End {plan}");
    let button = state.is_open().then(|| {
        view! {
            <RequireRole role=Role::Editor reason_shown=true>
                <RowButton text="End" label disabled=action.busy on_press=move |()| asking.set(true) />
            </RequireRole>
            <SubmitProblem problem=action.problem />
            <Confirm title="End this assignment?" action=Signal::stored("End assignment".to_owned()) open=asking on_confirm=end>
                <p>{consequence}</p>
            </Confirm>
        }
    });
    view! {
        <tr>
            <td class="name"><div>{plan}</div>{pinned}</td>
            <td><span class=class>{text}</span></td>
            <td><ExactTime at=from /></td>
            <td>{until}</td>
            <td class="text-cell"><div>{note}</div>{email}</td>
            <td class="number">{button}</td>
        </tr>
    }
}
