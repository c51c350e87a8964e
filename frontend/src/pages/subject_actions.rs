//! Raising the limits of one subject, blocking it, and resetting its counters.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::subjects::{BlockSubjectBody, RaiseSubjectBody};
use weir_wire::tenants::Role;
use weir_wire::tester::ResetBody;

use crate::access::Access;
use crate::api::{Api, Problem};
use crate::components::icon::Icon;
use crate::components::menu::{Menu, MenuItem, MenuLink};
use crate::components::toast::Toasts;
use crate::model::subject;
use crate::model::subject_action::{RuleSubject, SubjectAction};
use crate::pages::rollout::settled;
use crate::pages::shell::TenantId;

/// Runs changes of subjects and confirms them; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct SubjectActions {
    api: Api,
    tenant: TenantId,
    toasts: Toasts,
    /// Called after each change.
    changed: Callback<()>,
}

impl SubjectActions {
    pub fn new(changed: Callback<()>) -> Self {
        let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
        Self { api, tenant, toasts: expect_context(), changed }
    }

    /// Runs a change. Its confirmation says from when the gates apply it, and can undo an override.
    pub fn run(self, target: RuleSubject, action: SubjectAction) {
        spawn_local(async move {
            match self.send(&target, action).await {
                Err(problem) => self.report(&problem),
                Ok(None) => {
                    self.changed.try_run(());
                    self.toasts.show(action.done(&target));
                }
                Ok(Some(made)) => {
                    self.changed.try_run(());
                    let live = settled(self.api, &self.tenant.now(), made.rulebook_version).await;
                    let undo = Callback::new(move |()| self.undo(made.clone()));
                    self.toasts.show_undoable(format!("{}: {live}", action.done(&target)), undo);
                    self.changed.try_run(());
                }
            }
        });
    }

    async fn send(
        self,
        target: &RuleSubject,
        action: SubjectAction,
    ) -> Result<Option<OverrideAnswer>, Problem> {
        let (api, tenant) = (self.api, self.tenant.now());
        let (rule_id, subject) = (target.rule_id.clone(), target.subject.clone());
        match action {
            SubjectAction::Raise { factor, for_s } => {
                let body = RaiseSubjectBody {
                    rule_id,
                    subject,
                    for_s,
                    factor: Some(factor),
                    reason: None,
                };
                api.raise_subject(&tenant, &body).await.map(Some)
            }
            SubjectAction::Block { for_s } => {
                let body = BlockSubjectBody { rule_id, subject, for_s, reason: None };
                api.block_subject(&tenant, &body).await.map(Some)
            }
            SubjectAction::Reset => {
                api.reset_counters(&tenant, &ResetBody { rule_id, subject }).await.map(|_| None)
            }
        }
    }

    /// Deletes an override.
    pub fn undo(self, made: OverrideAnswer) {
        spawn_local(async move {
            match self.api.delete_override(&self.tenant.now(), &made).await {
                Ok(()) => {
                    let subject = subject::label(&made.body.subject);
                    self.toasts.show(format!("Removed the override of {subject}"));
                    self.changed.try_run(());
                }
                Err(problem) => self.report(&problem),
            }
        });
    }

    fn report(self, problem: &Problem) {
        self.toasts.show(problem.text());
    }
}

/// The changes of a menu, for an hour.
const CHANGES: [(&str, SubjectAction, bool); 4] = [
    ("arrow-up", SubjectAction::Raise { factor: 2, for_s: 3_600 }, false),
    ("arrow-up", SubjectAction::Raise { factor: 10, for_s: 3_600 }, false),
    ("rotate-ccw", SubjectAction::Reset, false),
    ("trash-2", SubjectAction::Block { for_s: 3_600 }, true),
];

/// A menu of changes for a subject, and a link to its page. Only the link for people who cannot change it.
#[component]
pub fn SubjectMenu(target: RuleSubject, actions: SubjectActions) -> impl IntoView {
    let (access, tenant) = (expect_context::<Access>(), expect_context::<TenantId>());
    let label = format!("Actions for {} in {}", subject::label(&target.subject), target.rule);
    let page = subject::page(&target.subject);
    let target = StoredValue::new(target);
    let trigger = view! { <Icon name="ellipsis" /> }.into_any();
    let items = move || {
        access.has(Role::Editor).then(|| {
            CHANGES.map(|(icon, action, danger)| {
                let press = Callback::new(move |()| actions.run(target.get_value(), action));
                view! { <MenuItem icon text=action.label() danger on_press=press /> }
            })
        })
    };
    let page = StoredValue::new(page);
    view! {
        <Menu label trigger>
            <MenuLink icon="crosshair" text="Open subject" href=tenant.page(&page.get_value()) />
            {items()}
        </Menu>
    }
}
