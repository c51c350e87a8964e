//! Forgetting what a rule counted of one subject: whoever was denied may go on now.

use leptos::prelude::*;
use weir_wire::tester::ResetBody;

use super::edit::{SubjectFields, fields_of, typed};
use crate::api::Api;
use crate::components::act::{Act, ActForm};
use crate::components::field::Bind;
use crate::components::rule_picker::{RulePicker, Rules};
use crate::model::number::counted;
use crate::model::rule_choice::by_id;
use crate::pages::shell::TenantId;

/// The form.
#[component]
pub(super) fn Reset(rules: Rules, cancel: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rule = RwSignal::new(rules.first().map(|it| it.id).unwrap_or_default());
    let fields = move |id: &str| rules.rule(id).as_ref().map(fields_of).unwrap_or_default();
    let subject = RwSignal::new(fields(&rule.get_untracked()));
    let said = RwSignal::new(String::new());
    let act = Act::new();
    let choose = Callback::new(move |id: String| {
        subject.set(fields(&id));
        rule.set(id);
    });
    let reset = Callback::new(move |()| {
        said.set(String::new());
        let body = ResetBody { rule_id: rule.get_untracked(), subject: untrack(|| typed(subject)) };
        act.run(async move { api.reset_counters(&tenant.now(), &body).await }, move |answer| {
            let counters = usize::try_from(answer.counters).unwrap_or(usize::MAX);
            said.set(match counters {
                0 => "Nothing was counted of this subject.".to_owned(),
                some => format!("Forgot {}; it starts anew.", counted(some, "counter", "counters")),
            });
        });
    });
    view! {
        <ActForm act submit="Reset" on_submit=reset cancel=cancel>
            <h2>"Reset a counter"</h2>
            <p class="note">"What was counted of one subject is forgotten, blocks too, on all gates at once."</p>
            <RulePicker label="Rule" rules value=Bind { value: rule.into(), set: choose } options=by_id />
            <SubjectFields subject />
            <p class="note" role="status">{said}</p>
        </ActForm>
    }
}
