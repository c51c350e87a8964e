//! The filter of the rule list.

use std::collections::BTreeSet;

use leptos::prelude::*;
use weir_wire::words::Mode;

use crate::components::field::{Binding, Choice, TextField};
use crate::components::namespace::NamespacePicker;
use crate::model::rule_list::{DenialFilter, RuleFilter};

/// The filter bar.
#[component]
pub(super) fn Filter(
    filter: Binding<RuleFilter>,
    namespace: Binding<String>,
    known: Signal<BTreeSet<String>>,
) -> impl IntoView {
    let modes = std::iter::once((None, "Any mode".to_owned()))
        .chain(Mode::ALL.iter().map(|mode| (Some(*mode), mode.title().to_owned())))
        .collect();
    let denials = DenialFilter::ALL.map(|(one, label)| (one, label.to_owned())).to_vec();
    view! {
        <div class="filter" role="search">
            <TextField label="Filter" kind="search" value=part(filter, |filter| &mut filter.typed) />
            <NamespacePicker namespace known />
            <Choice label="Mode" value=part(filter, |filter| &mut filter.mode) options=modes />
            <Choice label="Denials" value=part(filter, |filter| &mut filter.denials) options=denials />
        </div>
    }
}

/// Binds one part of the filter.
fn part<V: Clone + Send + Sync + 'static>(
    filter: Binding<RuleFilter>,
    part: fn(&mut RuleFilter) -> &mut V,
) -> Binding<V> {
    Binding {
        value: Signal::derive(move || part(&mut filter.value.get()).clone()),
        set: Callback::new(move |value| {
            let mut new = filter.value.get_untracked();
            *part(&mut new) = value;
            filter.set.run(new);
        }),
    }
}
