//! The denials of the subject in the last day, over time and by rule.

use leptos::prelude::*;
use weir_wire::subjects::InspectSubjectAnswer;

use crate::browser;
use crate::components::control_flow::Show;
use crate::components::time_series::{TimeSeries, Zoom};
use crate::model::chart::{ChartData, Outcome};
use crate::model::denial_history::denial_series;
use crate::pages::subject_actions::SubjectActions;
use crate::pages::traffic::DenialGroups;

#[component]
pub(super) fn History(
    found: Signal<InspectSubjectAnswer>,
    actions: SubjectActions,
) -> impl IntoView {
    let zoomed = RwSignal::new(None::<(i64, i64)>);
    let data = Memo::new(move |_| {
        let now_ms = browser::now_ms();
        let series =
            found.with(|found| denial_series(&found.denials, found.as_of, now_ms, zoomed.get()));
        ChartData::of(&series, &[Outcome::Denied, Outcome::WouldDeny])
    });
    let zoom = Zoom {
        to: Callback::new(move |(from_ms, to_ms): (i64, i64)| {
            zoomed.set(Some((from_ms, to_ms.min(browser::now_ms()))));
        }),
        reset: Callback::new(move |()| zoomed.set(None)),
        is_zoomed: Signal::derive(move || zoomed.with(Option::is_some)),
    };
    let denials = Signal::derive(move || found.with(|found| found.denials.clone()));
    let none = Memo::new(move |_| found.with(|found| found.denials.is_empty()));
    view! {
        <Show when=move || !none.get()>
            <TimeSeries label="Denials" data=data.into() zoom />
        </Show>
        <DenialGroups denials actions />
    }
}
