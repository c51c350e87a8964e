//! Something a person does that the server may refuse: off while it runs, and its problem kept until the next try.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::api::Problem;

/// Whether it runs, and what went wrong last; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Act {
    pub busy: RwSignal<bool>,
    pub problem: RwSignal<Option<Problem>>,
}

impl Act {
    pub fn new() -> Self {
        Self { busy: RwSignal::new(false), problem: RwSignal::new(None) }
    }

    /// Asks the server; `done` follows only when it did it.
    pub fn run<T: 'static>(
        self,
        asked: impl Future<Output = Result<T, Problem>> + 'static,
        done: impl FnOnce(T) + 'static,
    ) {
        self.busy.set(true);
        self.problem.set(None);
        spawn_local(async move {
            let answer = asked.await;
            self.busy.try_set(false);
            match answer {
                Ok(answer) => done(answer),
                Err(refused) => drop(self.problem.try_set(Some(refused))),
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
}
