//! What stands where data is not: on its way, failed, or not there yet; and notes.

use leptos::prelude::*;

use crate::api::Problem;
use crate::components::time::Exactly;
use crate::model::said::{Part, sentence};

/// Grey bars in the place of what is on its way.
#[component]
pub fn Skeleton() -> impl IntoView {
    view! {
        <div class="skeleton" role="status" aria-label="Loading">
            <span></span><span></span><span></span><span></span>
        </div>
    }
}

/// What went wrong, which request it was, and a way to try again.
#[component]
pub fn ProblemPanel(
    problem: Problem,
    /// What the button does; without it there is none.
    #[prop(optional, into)]
    retry: Option<Callback<()>>,
    /// What the button says.
    #[prop(default = "Try again")]
    act: &'static str,
) -> impl IntoView {
    let fields: Vec<_> = problem
        .fields
        .iter()
        .map(|it| view! { <li><code>{it.field.clone()}</code>" "{it.reason.clone()}</li> })
        .collect();
    let has_fields = !fields.is_empty();
    view! {
        <div class="problem" role="alert">
            <p class="problem-title">{problem.title}</p>
            {if has_fields {
                view! { <ul>{fields}</ul> }.into_any()
            } else {
                view! { <p>{problem.detail}</p> }.into_any()
            }}
            {problem.request_id.map(|id| view! { <p class="quiet">"Request "<code>{id}</code></p> })}
            {retry.map(|retry| view! {
                <button type="button" class="button" on:click=move |_| retry.run(())>{act}</button>
            })}
        </div>
    }
}

/// The problem of the last act, if it failed.
#[component]
pub fn ActProblem(problem: RwSignal<Option<Problem>>) -> impl IntoView {
    move || problem.get().map(|problem| view! { <ProblemPanel problem /> })
}

/// Nothing here yet, and what to do about it.
#[component]
pub fn Empty(#[prop(into)] title: String, children: Children) -> impl IntoView {
    view! {
        <div class="empty">
            <p class="empty-title">{title}</p>
            {children()}
        </div>
    }
}

/// What the API warns of, as a sentence.
pub fn remark(said: &str) -> AnyView {
    let parts = sentence(said).into_iter().map(|part| match part {
        Part::Text(text) => text.into_any(),
        Part::At(at) => view! { <Exactly at /> }.into_any(),
    });
    view! { <Warning><p>{parts.collect::<Vec<_>>()}</p></Warning> }.into_any()
}

/// Something to know that is not wrong.
#[component]
pub fn Warning(children: Children) -> impl IntoView {
    view! { <div class="warning" role="note">{children()}</div> }
}
