//! The denials of the subject in the last day, as a chart.

use leptos::prelude::*;
use weir_wire::subjects::InspectSubjectAnswer;

use crate::components::time_series::TimeSeries;
use crate::model::denial_history::denial_chart;

/// The counts of the gates, with the denials that they may have missed.
#[component]
pub(super) fn DenialChart(past: Signal<InspectSubjectAnswer>) -> impl IntoView {
    let data = Signal::derive(move || past.with(|past| denial_chart(past.history.as_ref())));
    view! {
        <TimeSeries label="Denials" data />
        <p class="note">
            "Counted at the gates for each of the rules above; a check that two of them deny counts twice. Gates count the busiest subjects, so some denials of others are not known."
        </p>
    }
}
