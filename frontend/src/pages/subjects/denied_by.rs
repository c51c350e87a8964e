//! The head of the page: which rules denied the subject in the last hour, and a menu that lets it through.

use leptos::prelude::*;
use weir_wire::subjects::InspectSubjectAnswer;
use weir_wire::tenants::Role;

use super::counters::changes_last;
use crate::components::require_role::RequireRole;
use crate::components::time::Clock;
use crate::model::denied_by::{denying, sentence};
use crate::pages::subject_actions::{LetThrough, SubjectActions};

#[component]
pub(super) fn DeniedBy(
    found: Signal<InspectSubjectAnswer>,
    past: Signal<InspectSubjectAnswer>,
    for_s: RwSignal<u32>,
    actions: SubjectActions,
) -> impl IntoView {
    let clock = expect_context::<Clock>();
    let text = Memo::new(move |_| {
        past.with(|past| found.with(|found| sentence(past, &found.denials, clock.now_ms())))
    });
    let targets = Memo::new(move |_| past.with(|past| found.with(|found| denying(past, found))));
    view! {
        <section class="card page-head" aria-label="Last hour">
            <p class="sentence">{text}</p>
            <RequireRole role=Role::Editor reason_shown=true>
                <div class="actions">
                    {changes_last(for_s)}
                    <LetThrough targets for_s actions />
                </div>
            </RequireRole>
        </section>
    }
}
