//! Something a person does that the server may refuse: off while it runs, and its problem kept until the next try.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::problem::ErrorCode;

use crate::api::Problem;
use crate::browser;
use crate::components::feedback::ProblemPanel;

/// Whether it runs, and what went wrong last; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Act {
    pub busy: RwSignal<bool>,
    pub problem: RwSignal<Option<Problem>>,
    /// Fields of a form that show their own problems.
    fields: &'static [&'static str],
}

impl Act {
    pub fn new() -> Self {
        Self::with_fields(&[])
    }

    /// One whose form shows the problems of these fields beside them.
    pub fn with_fields(fields: &'static [&'static str]) -> Self {
        Self { busy: RwSignal::new(false), problem: RwSignal::new(None), fields }
    }

    /// Asks the server; `done` follows only when it did it.
    pub fn run<T: 'static>(
        self,
        asked: impl Future<Output = Result<T, Problem>> + 'static,
        done: impl FnOnce(T) + 'static,
    ) {
        let asked = async move {
            let answer = asked.await?;
            Ok(Box::new(move || done(answer)) as Box<dyn FnOnce()>)
        };
        self.start(asked.boxed_local());
    }

    /// Once, whatever is asked.
    fn start(self, asked: LocalBoxFuture<'static, Result<Box<dyn FnOnce()>, Problem>>) {
        self.busy.set(true);
        self.problem.set(None);
        spawn_local(async move {
            let answer = asked.await;
            self.busy.try_set(false);
            match answer {
                Ok(done) => done(),
                Err(refused) => {
                    self.problem.try_set(Some(refused));
                    if !self.fields.is_empty() {
                        browser::focus_first_invalid();
                    }
                }
            }
        });
    }

    /// What the server said of one field.
    pub fn refused(self, field: &'static str) -> Signal<Option<String>> {
        Signal::derive(move || {
            self.problem.with(|problem| {
                let fields = &problem.as_ref()?.fields;
                fields.iter().find(|it| it.field == field).map(|it| it.reason.clone())
            })
        })
    }

    /// What is wrong with a field as it is typed, by its form; else what the server said of it. Nothing while it is empty.
    pub fn checked(
        self,
        field: &'static str,
        typed: RwSignal<String>,
        form: fn(&str) -> Result<(), String>,
    ) -> Signal<Option<String>> {
        let refused = self.refused(field);
        Signal::derive(move || {
            let wrong = typed.with(|typed| {
                let typed = typed.trim();
                (!typed.is_empty()).then(|| form(typed).err()).flatten()
            });
            wrong.or_else(|| refused.get())
        })
    }

    /// What went wrong, unless the fields say all of it.
    fn untold(self) -> Option<Problem> {
        let problem = self.problem.get()?;
        let told = |field: &str| self.fields.contains(&field);
        let all_told =
            !problem.fields.is_empty() && problem.fields.iter().all(|it| told(&it.field));
        (!all_told).then_some(problem)
    }
}

/// A form that does one thing.
#[component]
pub fn ActForm(
    act: Act,
    /// What the button says.
    #[prop(into)]
    submit: String,
    on_submit: Callback<()>,
    /// Something is missing, or wrong as the form shows.
    #[prop(optional, into)]
    incomplete: Signal<bool>,
    /// What the form itself tells of, when the server refuses with it.
    #[prop(optional, into)]
    told_apart: Option<ErrorCode>,
    /// Leaves it, in a dialog.
    #[prop(optional, into)]
    cancel: Option<Callback<()>>,
    #[prop(default = "panel")] class: &'static str,
    children: Children,
) -> impl IntoView {
    let submitted = move |event: SubmitEvent| {
        event.prevent_default();
        if !act.busy.get_untracked() && !incomplete.get_untracked() {
            on_submit.run(());
        }
    };
    let untold = move |it: &Problem| told_apart.is_none() || it.code != told_apart;
    view! {
        <form class=class on:submit=submitted>
            {children()}
            {move || act.untold().filter(untold).map(|problem| view! { <ProblemPanel problem /> })}
            <div class="actions">
                <button type="submit" class="button primary" disabled=move || act.busy.get() || incomplete.get()>{submit}</button>
                {cancel.map(|cancel| view! {
                    <button type="button" class="button" on:click=move |_| cancel.run(())>"Cancel"</button>
                })}
            </div>
        </form>
    }
}
