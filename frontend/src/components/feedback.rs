//! Loading, error and empty states, and notices.

use leptos::prelude::*;
use weir_wire::problem::ErrorCode;

use crate::api::Problem;
use crate::components::time::ExactTime;
use crate::model::labels::capital;
use crate::model::remark::{Part, sentence};

/// The shape of a placeholder, which is that of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Skeleton {
    #[default]
    Text,
    /// The tools, the head and the rows of a table.
    Table,
    /// A row of tiles with numbers.
    Tiles,
    Chart,
    /// A card with a heading and rows.
    Card,
    /// Several cards side by side.
    Cards,
    /// The text of a rule, its tabs, and its facts at the side.
    Rule,
    /// Fields with their labels.
    Form,
}

impl Skeleton {
    /// The classes and the number of bars.
    const fn bars(self) -> (&'static str, usize) {
        match self {
            Self::Text => ("skeleton", 4),
            Self::Table => ("skeleton skeleton-table", 10),
            Self::Tiles => ("skeleton skeleton-tiles", 5),
            Self::Chart => ("skeleton skeleton-chart", 1),
            Self::Card => ("skeleton skeleton-card", 7),
            Self::Cards => ("skeleton skeleton-cards", 4),
            Self::Rule => ("skeleton skeleton-rule", 4),
            Self::Form => ("skeleton skeleton-form", 6),
        }
    }
}

/// A placeholder while data is loading.
#[component]
pub fn LoadingSkeleton(#[prop(optional)] shape: Skeleton) -> impl IntoView {
    let (class, bars) = shape.bars();
    let bars: Vec<_> = (0..bars).map(|_| view! { <span></span> }).collect();
    view! { <div class=class role="status" aria-label="Loading">{bars}</div> }
}

/// An error with its request id and an optional button.
#[component]
pub fn ProblemPanel(
    problem: Problem,
    /// Called by the button; without it there is no button.
    #[prop(optional, into)]
    retry: Option<Callback<()>>,
    /// The label of the button.
    #[prop(default = "Try again")]
    action: &'static str,
) -> impl IntoView {
    let fields: Vec<_> = problem
        .fields
        .iter()
        .map(|field| view! { <li><code>{field.field.clone()}</code>" "{field.reason.clone()}</li> })
        .collect();
    let has_fields = !fields.is_empty();
    let detail = capital(&problem.detail);
    // The detail names the case; the title of a conflict does not.
    let conflict = matches!(problem.code, Some(ErrorCode::Conflict | ErrorCode::NameTaken));
    let (title, detail) = if conflict { (detail, String::new()) } else { (problem.title, detail) };
    view! {
        <div class="problem" role="alert">
            <p class="problem-title">{title}</p>
            {if has_fields {
                view! { <ul>{fields}</ul> }.into_any()
            } else {
                view! { <p>{detail}</p> }.into_any()
            }}
            {problem.request_id.map(|id| view! { <p class="muted">"Request ID: "<code>{id}</code></p> })}
            {retry.map(|retry| view! {
                <button type="button" class="button" on:click=move |_| retry.run(())>{action}</button>
            })}
        </div>
    }
}

/// The problem of the last request, if it failed.
#[component]
pub fn SubmitProblem(problem: RwSignal<Option<Problem>>) -> impl IntoView {
    move || problem.get().map(|problem| view! { <ProblemPanel problem /> })
}

/// An empty state: what is missing, and what to do next.
#[component]
pub fn Empty(#[prop(into)] title: String, children: Children) -> impl IntoView {
    view! {
        <div class="empty">
            <p class="empty-title">{title}</p>
            {children()}
        </div>
    }
}

/// A warning of the API as a sentence.
pub fn remark(warning: &str) -> AnyView {
    let parts = sentence(warning).into_iter().map(|part| match part {
        Part::Text(text) => text.into_any(),
        Part::At(at) => view! { <ExactTime at /> }.into_any(),
    });
    view! { <Warning><p>{parts.collect::<Vec<_>>()}</p></Warning> }.into_any()
}

/// A notice that is not an error.
#[component]
pub fn Warning(children: Children) -> impl IntoView {
    view! { <div class="warning" role="note">{children()}</div> }
}
