//! Whether the server answers. One banner reports an interruption for the whole page, whose data stays visible.

use leptos::prelude::*;

use super::Problem;
use crate::browser;

/// The state of the connection; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Connection {
    /// The problem of the last call that got no answer, or that failed to refresh data of the page.
    problem: RwSignal<Option<Problem>>,
    /// The time of the last answer, in milliseconds since 1970.
    answered_ms: RwSignal<i64>,
    retries: RwSignal<u32>,
}

impl Connection {
    pub fn new() -> Self {
        Self {
            problem: RwSignal::new(None),
            answered_ms: RwSignal::new(browser::now_ms()),
            retries: RwSignal::new(0),
        }
    }

    /// Records whether a call got an answer. After an interruption, data that is missing is fetched again.
    pub fn record<T>(self, answer: &Result<T, Problem>) {
        match answer {
            Err(problem) if problem.is_unreachable() => self.report(problem.clone()),
            Err(_) => {}
            Ok(_) => {
                self.answered_ms.set(browser::now_ms());
                if self.problem.with_untracked(Option::is_some) {
                    self.problem.set(None);
                    self.retry();
                }
            }
        }
    }

    /// Shows a problem in the banner.
    pub fn report(self, problem: Problem) {
        if self.problem.with_untracked(|shown| shown.as_ref() != Some(&problem)) {
            self.problem.set(Some(problem));
        }
    }

    /// The problem to show; tracked.
    pub fn problem(self) -> Option<Problem> {
        self.problem.get()
    }

    /// The time of the last answer; tracked.
    pub fn answered_ms(self) -> i64 {
        self.answered_ms.get()
    }

    /// Fetches what is missing.
    pub fn retry(self) {
        self.retries.update(|retries| *retries += 1);
    }

    /// The number of calls of [`Self::retry`]; tracked.
    pub fn retries(self) -> u32 {
        self.retries.get()
    }
}
