//! Forgetting what a rule counted of one subject: whoever was denied may go on now.

use leptos::prelude::*;
use weir_wire::rules::RuleAnswer;
use weir_wire::tester::ResetBody;

use super::edit::{SubjectFields, fields_of, rule_options, typed};
use crate::api::Api;
use crate::components::act::{Act, ActForm};
use crate::components::field::{Bind, Choice};
use crate::model::number::counted;
use crate::pages::shell::TenantId;

/// The form.
#[component]
pub(super) fn Reset(rules: StoredValue<Vec<RuleAnswer>>, cancel: Callback<()>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let options = rule_options(rules);
    let rule = RwSignal::new(options.first().map(|(id, _)| id.clone()).unwrap_or_default());
    let fields = move |id: &str| {
        let found = rules.with_value(|rules| rules.iter().find(|rule| rule.id == id).cloned());
        found.as_ref().map(fields_of).unwrap_or_default()
    };
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
            <Choice label="Rule" value=Bind { value: rule.into(), set: choose } options />
            <SubjectFields subject />
            <p class="note" role="status">{said}</p>
        </ActForm>
    }
}
