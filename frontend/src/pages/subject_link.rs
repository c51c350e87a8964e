//! Subjects in tables: at most two lines, with a link to the page of the subject.

use std::collections::BTreeMap;

use leptos::prelude::*;
use leptos_router::components::A;

use crate::model::subject;
use crate::pages::shell::TenantId;

/// The subject with a link to its page. No link if all requests share one counter.
pub fn subject_link(subject: &BTreeMap<String, String>) -> AnyView {
    let (label, page) = (subject::label(subject), subject::page(subject));
    if subject.is_empty() {
        return two_lines(label);
    }
    let tenant = expect_context::<TenantId>();
    let title = label.clone();
    view! {
        <div class="two-lines" title=title>
            <A href=move || tenant.page(&page)><bdi>{label.clone()}</bdi></A>
        </div>
    }
    .into_any()
}

/// A text of at most two lines, whose direction is its own.
pub fn two_lines(text: String) -> AnyView {
    let title = text.clone();
    view! { <div class="two-lines" title=title><bdi>{text}</bdi></div> }.into_any()
}
