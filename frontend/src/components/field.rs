//! Form fields: label, input, hint, and the problem beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use leptos::prelude::*;

use crate::model::field_problem::field_problem;
use crate::model::labels::capital;

/// A value that a field displays and changes.
#[derive(Debug)]
pub struct Binding<T: Send + Sync + 'static> {
    pub value: Signal<T>,
    pub set: Callback<T>,
}

#[component]
pub fn TextField(
    #[prop(into)] label: String,
    #[prop(into)] value: Binding<String>,
    #[prop(optional, into)] problem: Signal<Option<String>>,
    #[prop(optional, into)] hint: Option<String>,
    /// The `type` attribute of the input.
    #[prop(default = "text")]
    kind: &'static str,
    #[prop(default = "off")] autocomplete: &'static str,
    /// A narrow field for a number.
    #[prop(optional)]
    short: bool,
    #[prop(optional)] autofocus: bool,
    /// Values to choose from while typing; any other value can be typed as well.
    #[prop(optional, into)]
    suggestions: Option<Signal<Vec<String>>>,
) -> impl IntoView {
    let id = fresh_id();
    let input_mode = if short { "numeric" } else { "text" };
    let list_id = suggestions.map(|_| format!("{id}-list"));
    let list = suggestions.zip(list_id.clone()).map(|(suggestions, list_id)| {
        let option = |value: String| view! { <option value=value></option> };
        let options = move || suggestions.get().into_iter().map(option).collect::<Vec<_>>();
        view! { <datalist id=list_id>{options}</datalist> }
    });
    view! {
        <div class="field" class:short=short>
            <label for=id.clone()>{label}</label>
            <input
                id=id.clone()
                type=kind
                autocomplete=autocomplete
                autofocus=autofocus
                spellcheck="false"
                inputmode=input_mode
                list=list_id
                aria-describedby=format!("{id}-note")
                aria-invalid=move || problem.with(Option::is_some).then_some("true")
                prop:value=value.value
                on:input=move |event| value.set.run(event_target_value(&event))
            />
            {list}
            <Note id hint problem />
        </div>
    }
}

#[component]
pub fn TextArea(
    #[prop(into)] label: String,
    #[prop(into)] value: Binding<String>,
    #[prop(optional, into)] problem: Signal<Option<String>>,
    #[prop(optional, into)] hint: Option<String>,
    #[prop(default = 2)] rows: u32,
    /// The text is JSON, headers or the like.
    #[prop(optional)]
    code: bool,
) -> impl IntoView {
    let id = fresh_id();
    view! {
        <div class="field">
            <label for=id.clone()>{label}</label>
            <textarea
                class:code=code
                id=id.clone()
                rows=rows
                aria-describedby=format!("{id}-note")
                aria-invalid=move || problem.with(Option::is_some).then_some("true")
                prop:value=value.value
                on:input=move |event| value.set.run(event_target_value(&event))
            ></textarea>
            <Note id hint problem />
        </div>
    }
}

/// A select with typed options.
#[component]
pub fn Choice<T>(
    #[prop(into)] label: String,
    value: Binding<T>,
    options: Vec<(T, String)>,
    #[prop(optional, into)] problem: Signal<Option<String>>,
    #[prop(optional, into)] hint: Option<String>,
    /// The meaning of the chosen option.
    #[prop(optional, into)]
    explanation: Signal<Option<&'static str>>,
    #[prop(optional)] short: bool,
) -> impl IntoView
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    let (options, labels): (Vec<T>, Vec<String>) = options.into_iter().unzip();
    let options: Arc<[T]> = options.into();
    let all = options.clone();
    let place = move |value: &T| all.iter().position(|option| option == value);
    let chosen = Signal::derive(move || value.value.with(&place));
    let choose = Callback::new(move |at: usize| {
        if let Some(option) = options.get(at) {
            value.set.run(option.clone());
        }
    });
    view! { <Select label labels chosen choose problem hint explanation short /> }
}

/// A select with options identified by index. Not generic, so that the code is not duplicated for each option type.
#[component]
fn Select(
    label: String,
    labels: Vec<String>,
    chosen: Signal<Option<usize>>,
    choose: Callback<usize>,
    problem: Signal<Option<String>>,
    hint: Option<String>,
    explanation: Signal<Option<&'static str>>,
    short: bool,
) -> impl IntoView {
    let id = fresh_id();
    let item = |(at, label): (usize, String)| {
        let is_it = move || chosen.get() == Some(at);
        view! { <option value=at.to_string() prop:selected=is_it>{label}</option> }
    };
    let items: Vec<_> = labels.into_iter().enumerate().map(item).collect();
    let changed = move |event| {
        if let Ok(at) = event_target_value(&event).parse() {
            choose.run(at);
        }
    };
    view! {
        <div class="field" class:short=short>
            <label for=id.clone()>{label}</label>
            <select
                id=id.clone()
                aria-describedby=format!("{id}-chosen {id}-note")
                aria-invalid=move || problem.with(Option::is_some).then_some("true")
                on:change=changed
            >
                {items}
            </select>
            <p id=format!("{id}-chosen") class="note">{move || explanation.get().map(capital)}</p>
            <Note id hint problem />
        </div>
    }
}

#[component]
pub fn Checkbox(#[prop(into)] label: String, value: Binding<bool>) -> impl IntoView {
    view! {
        <label class="checkbox">
            <input
                type="checkbox"
                prop:checked=value.value
                on:change=move |event| value.set.run(event_target_checked(&event))
            />
            <span>{label}</span>
        </label>
    }
}

/// The problem of several fields together.
#[component]
pub fn GroupProblem(
    problem: Signal<Option<String>>,
    /// It takes a row of its own.
    #[prop(optional)]
    whole_row: bool,
) -> impl IntoView {
    let shown = move || problem.get().as_deref().map(field_problem);
    view! { <p class="field-problem" class:whole-row=whole_row>{shown}</p> }
}

/// A unique id for an element that others reference.
pub fn fresh_id() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("f{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

impl<T: Send + Sync + 'static> Clone for Binding<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for Binding<T> {}

impl<T: Clone + Send + Sync + 'static> From<RwSignal<T>> for Binding<T> {
    fn from(signal: RwSignal<T>) -> Self {
        Self { value: signal.into(), set: Callback::new(move |value| signal.set(value)) }
    }
}

/// The hint of a field, replaced by its problem if there is one.
#[component]
fn Note(id: String, hint: Option<String>, problem: Signal<Option<String>>) -> impl IntoView {
    let shown = move || match problem.get() {
        Some(problem) => {
            view! { <span class="field-problem">{field_problem(&problem)}</span> }.into_any()
        }
        None => view! { <span>{hint.clone()}</span> }.into_any(),
    };
    view! { <div id=format!("{id}-note") class="note" aria-live="polite">{shown}</div> }
}
