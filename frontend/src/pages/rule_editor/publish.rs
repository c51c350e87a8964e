//! Publishing the rule in the form.

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use weir_wire::problem::{ErrorCode, FieldProblem};
use weir_wire::rules::RuleAnswer;

use super::retained::RetainedDraft;
use crate::api::{Api, Problem};
use crate::browser;
use crate::components::rule_form::Editor;
use crate::pages::published::Confirmation;
use crate::pages::shell::TenantId;

/// The publication and its state; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Publish {
    pub(super) busy: RwSignal<bool>,
    pub(super) problem: RwSignal<Option<Problem>>,
    /// Sends the rule, and opens its page if that succeeds.
    pub(super) run: Callback<()>,
}

impl Publish {
    pub(super) fn new(
        editor: Editor,
        before: RwSignal<Option<RuleAnswer>>,
        retained: StoredValue<RetainedDraft>,
        review: RwSignal<bool>,
    ) -> Self {
        let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
        let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
        let (navigate, confirmation) = (use_navigate(), Confirmation::new());
        let run = Callback::new(move |()| {
            let Some(rule) = editor.submit().filter(|_| !busy.get_untracked()) else {
                return browser::focus_first_invalid();
            };
            problem.set(None);
            busy.set(true);
            let (navigate, confirmation) = (navigate.clone(), confirmation.clone());
            let (id, before, draft) = (tenant.now(), before.get_untracked(), retained.get_value());
            spawn_local(async move {
                let answer = match &before {
                    Some(before) => api.replace_rule(&id, before, &rule).await,
                    None => api.create_rule(&id, &rule).await,
                };
                busy.try_set(false);
                match answer {
                    Ok(rule) => {
                        let page = format!("/t/{id}/rules/{}", rule.id);
                        confirmation.published("Published", rule, before.map(|rule| rule.revision));
                        navigate(&page, NavigateOptions::default());
                        draft.drop();
                    }
                    Err(rejected) => {
                        let fields = named(&rejected);
                        // A problem that the form shows beside its field needs no review.
                        if !fields.is_empty() {
                            review.try_set(false);
                            browser::focus_first_invalid();
                        }
                        editor.refuse(fields);
                        let stale = rejected.code == Some(ErrorCode::Stale);
                        problem.try_set(Some(rejected));
                        if stale {
                            review.try_set(true);
                        }
                    }
                }
            });
        });
        Self { busy, problem, run }
    }

    /// Whether the rule was changed by someone else; tracked.
    pub(super) fn is_stale(self) -> bool {
        self.problem.with(|problem| {
            problem.as_ref().is_some_and(|problem| problem.code == Some(ErrorCode::Stale))
        })
    }
}

/// The rejected fields; a name that is taken is a problem of the name field.
fn named(problem: &Problem) -> Vec<FieldProblem> {
    let mut fields = problem.fields.clone();
    if problem.code == Some(ErrorCode::NameTaken) && fields.is_empty() {
        fields.push(FieldProblem::new("name", "is already used in this namespace"));
    }
    fields
}
