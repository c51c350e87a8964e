//! The checks that no rule counted, for each namespace, with a link to the tester.

use std::collections::BTreeMap;

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::stats::UnmatchedChecks;

use crate::model::request_link::request_link;
use crate::model::unmatched::{name, sentence};
use crate::pages::shell::TenantId;

/// The most namespaces that are listed.
const SHOWN_MAX: usize = 5;

/// Nothing unless checks met no rule.
#[component]
pub fn Unmatched(#[prop(into)] found: Signal<Vec<UnmatchedChecks>>) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let entry = move |one: &UnmatchedChecks| {
        let tester = (!one.namespace.is_empty())
            .then(|| request_link(Some(&one.namespace), &BTreeMap::new(), 1));
        let link = tester.map(|tester| {
            view! { " "<A href=move || tenant.page(&tester)>"Simulate a request"</A> }
        });
        view! { <li><b>{name(one).to_owned()}</b>": "{sentence(one)}{link}</li> }
    };
    let list = move || {
        found.with(|found| {
            let more = found.len().saturating_sub(SHOWN_MAX);
            let more =
                (more > 0).then(|| view! { <li>{format!("And {more} more namespaces.")}</li> });
            let entries: Vec<_> = found.iter().take(SHOWN_MAX).map(entry).collect();
            (!found.is_empty()).then(|| {
                view! {
                    <section class="health health-warning" aria-label="Checks that met no rule">
                        <ul>{entries}{more}</ul>
                    </section>
                }
            })
        })
    };
    list.into_any()
}
