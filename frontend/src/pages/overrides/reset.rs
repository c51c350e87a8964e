//! Resetting the counters of one subject, which allows a denied subject again.

use leptos::prelude::*;
use weir_wire::tester::ResetBody;

use super::edit::{SubjectFields, fields_of, typed};
use crate::api::Api;
use crate::browser;
use crate::components::field::Binding;
use crate::components::rule_picker::{RulePicker, Rules};
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::model::number::quantity;
use crate::model::rule_choice::by_id;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Reset(rules: Rules, cancel: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rule = RwSignal::new(rules.first().map(|rule| rule.id).unwrap_or_default());
    let fields = move |id: &str| rules.rule(id).as_ref().map(fields_of).unwrap_or_default();
    let subject = RwSignal::new(fields(&rule.get_untracked()));
    let status = RwSignal::new(String::new());
    let (action, tried) = (SubmitAction::new(), RwSignal::new(false));
    let problem = Signal::derive(move || {
        let empty = typed(subject).values().any(String::is_empty);
        (empty && tried.get()).then(|| "Enter a value.".to_owned())
    });
    let choose = Callback::new(move |id: String| {
        subject.set(fields(&id));
        rule.set(id);
    });
    let reset = Callback::new(move |()| {
        status.set(String::new());
        tried.set(true);
        if untrack(|| problem.get()).is_some() {
            browser::focus_first_invalid();
            return;
        }
        let body = ResetBody { rule_id: rule.get_untracked(), subject: untrack(|| typed(subject)) };
        action.run(api.reset_counters(&tenant.now(), &body), move |answer| {
            let counters = usize::try_from(answer.counters).unwrap_or(usize::MAX);
            status.set(match counters {
                0 => "This subject has no counters.".to_owned(),
                some => {
                    format!("Reset {}.", quantity(some, "counter", "counters"))
                }
            });
        });
    });
    view! {
        <SubmitForm action submit="Reset" on_submit=reset cancel=cancel>
            <p class="note">"Clears the usage and the blocks of one subject on all gates."</p>
            <RulePicker label="Rule" rules value=Binding { value: rule.into(), set: choose } options=by_id />
            <SubjectFields subject problem />
            <p class="note" role="status">{status}</p>
        </SubmitForm>
    }
}
