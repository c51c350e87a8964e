//! Forms and buttons that send a request: disabled while it runs, with its problem shown until the next attempt.

use futures_util::{FutureExt as _, TryFutureExt as _};
use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::problem::ErrorCode;

use crate::api::{Answer, Problem};
use crate::browser;
use crate::components::feedback::ProblemPanel;

/// Whether the request is running, and its last problem; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct SubmitAction {
    pub busy: RwSignal<bool>,
    pub problem: RwSignal<Option<Problem>>,
    /// Fields whose problems the form shows beside them.
    fields: &'static [&'static str],
}

impl SubmitAction {
    pub fn new() -> Self {
        Self::with_fields(&[])
    }

    /// For a form that shows the problems of these fields beside them. `rules[]` stands for the fields of all items of `rules`.
    pub fn with_fields(fields: &'static [&'static str]) -> Self {
        Self { busy: RwSignal::new(false), problem: RwSignal::new(None), fields }
    }

    /// Sends the request; `done` is called only if it succeeds.
    pub fn run<T: 'static>(
        self,
        request: impl Future<Output = Result<T, Problem>> + 'static,
        done: impl FnOnce(T) + 'static,
    ) {
        let done = |answer| Box::new(move || done(answer)) as Box<dyn FnOnce()>;
        self.start(request.map_ok(done).boxed_local());
    }

    /// Not generic, so that the code is not duplicated for each request type.
    fn start(self, request: Answer<Box<dyn FnOnce()>>) {
        self.busy.set(true);
        self.problem.set(None);
        spawn_local(async move {
            let answer = request.await;
            self.busy.try_set(false);
            match answer {
                Ok(done) => done(),
                Err(problem) => {
                    self.problem.try_set(Some(not_sent(problem)));
                    if !self.fields.is_empty() {
                        browser::focus_first_invalid();
                    }
                }
            }
        });
    }

    /// The server's problem with one field.
    pub fn server_problem(self, field: &'static str) -> Signal<Option<String>> {
        Signal::derive(move || {
            self.problem.with(|problem| {
                let fields = &problem.as_ref()?.fields;
                fields
                    .iter()
                    .find(|problem| problem.field == field)
                    .map(|problem| problem.reason.clone())
            })
        })
    }

    /// The validation problem of a text while it is typed, or else the server's problem. `None` while the field is
    /// empty.
    pub fn validated(
        self,
        field: &'static str,
        typed: RwSignal<String>,
        validate: fn(&str) -> Result<(), String>,
    ) -> Signal<Option<String>> {
        let server_problem = self.server_problem(field);
        Signal::derive(move || {
            let wrong = typed.with(|typed| {
                let typed = typed.trim();
                (!typed.is_empty()).then(|| validate(typed).err()).flatten()
            });
            wrong.or_else(|| server_problem.get())
        })
    }

    /// The last problem, unless the form's fields show all of it.
    fn hidden_problem(self) -> Option<Problem> {
        let problem = self.problem.get()?;
        let shown_by_form = |field: &str| {
            let list = field.split('[').next().map(|list| format!("{list}[]"));
            self.fields.contains(&field) || list.is_some_and(|list| self.fields.contains(&&*list))
        };
        let all_shown = !problem.fields.is_empty()
            && problem.fields.iter().all(|field| shown_by_form(&field.field));
        (!all_shown).then_some(problem)
    }
}

/// The banner says that Weir cannot be reached; the form says what this means for its input.
fn not_sent(problem: Problem) -> Problem {
    if !problem.is_unreachable() {
        return problem;
    }
    Problem {
        title: "Not sent".to_owned(),
        detail: "There is no connection to the server. Your input is still here: try again."
            .to_owned(),
        ..problem
    }
}

/// A form with one submit button.
#[component]
pub fn SubmitForm(
    action: SubmitAction,
    /// The label of the submit button.
    #[prop(into)]
    submit: String,
    on_submit: Callback<()>,
    /// Whether required input is missing or invalid.
    #[prop(optional, into)]
    incomplete: Signal<bool>,
    /// The error code that the form displays itself.
    #[prop(optional, into)]
    handled_code: Option<ErrorCode>,
    /// Called by the cancel button; without it there is no such button.
    #[prop(optional, into)]
    cancel: Option<Callback<()>>,
    #[prop(default = "panel")] class: &'static str,
    children: Children,
) -> impl IntoView {
    let submit_form = move |event: SubmitEvent| {
        event.prevent_default();
        if !action.busy.get_untracked() && !incomplete.get_untracked() {
            on_submit.run(());
        }
    };
    let hidden_problem =
        move |problem: &Problem| handled_code.is_none() || problem.code != handled_code;
    view! {
        <form class=class on:submit=submit_form>
            {children()}
            {move || action.hidden_problem().filter(hidden_problem).map(|problem| view! { <ProblemPanel problem /> })}
            <div class="actions">
                <button type="submit" class="button primary" disabled=move || action.busy.get() || incomplete.get()>{submit}</button>
                {cancel.map(|cancel| view! {
                    <button type="button" class="button" on:click=move |_| cancel.run(())>"Cancel"</button>
                })}
            </div>
        </form>
    }
}
