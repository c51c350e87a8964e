//! Raising the limits of one subject, blocking it, and resetting its counters.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::subjects::{AllowOrBlockBody, InspectSubjectBody, RaiseSubjectBody};
use weir_wire::tenants::Role;
use weir_wire::tester::ResetBody;

use crate::access::Access;
use crate::api::{Api, Problem};
use crate::components::control_flow::Show;
use crate::components::dialog::Confirm;
use crate::components::icon::Icon;
use crate::components::menu::{Menu, MenuItem, MenuLink};
use crate::components::toast::Toasts;
use crate::model::number::quantity;
use crate::model::owners;
use crate::model::subject;
use crate::model::subject_action::{RuleSubject, SubjectAction, TIMES_S, time};
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
    /// The question of [`SubjectQuestion`], and whether it is open.
    asked: RwSignal<Option<Question>>,
    open: RwSignal<bool>,
}

/// A change of an override that belongs to a set of rules as code. It waits for a confirmation.
#[derive(Debug, Clone)]
struct Question {
    change: String,
    note: String,
    confirmed: Callback<()>,
}

impl SubjectActions {
    /// The page shows a [`SubjectQuestion`] of these.
    pub fn new(changed: Callback<()>) -> Self {
        let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
        let (asked, open) = (RwSignal::new(None), RwSignal::new(false));
        Self { api, tenant, toasts: expect_context(), changed, asked, open }
    }

    /// Makes a change in some rules. If it edits overrides of sets, asks first.
    pub fn run(self, targets: Vec<RuleSubject>, action: SubjectAction) {
        spawn_local(async move {
            let mut planned = Vec::new();
            for target in targets {
                let before = match action {
                    SubjectAction::Reset => None,
                    _ => self.override_of(&target).await,
                };
                planned.push((target, before));
            }
            let owner = |before: &OverrideAnswer| before.managed_by.clone();
            let owners: Vec<_> =
                planned.iter().filter_map(|(_, before)| before.as_ref().map(owner)).collect();
            let change = Callback::new(move |()| self.change(planned.clone(), action));
            self.ask(action.label(), &owners, change);
        });
    }

    /// The override of exactly this subject, which a change replaces. If it cannot be read, the change is made all the same:
    /// nobody should have to wait for Redis to block a subject.
    async fn override_of(self, target: &RuleSubject) -> Option<OverrideAnswer> {
        let attributes = target.subject.clone();
        let body = InspectSubjectBody { attributes, namespace: None, history: false };
        let found = self.api.inspect_subject(&self.tenant.now(), &body).await.ok()?;
        let rule = found.data.into_iter().find(|rule| rule.rule_id == target.rule_id)?;
        rule.exception.filter(|exception| exception.body.subject == target.subject)
    }

    /// Asks before a change of overrides of sets. Runs other changes at once.
    fn ask(self, change: String, owners: &[Option<String>], confirmed: Callback<()>) {
        let Some(note) = owners::sentence("override", "overrides", owners) else {
            confirmed.run(());
            return;
        };
        if self.asked.try_set(Some(Question { change, note: note.clone(), confirmed })).is_some() {
            // The page was left.
            self.toasts.show(note);
            return;
        }
        self.open.set(true);
    }

    /// Makes a change. Its confirmation says from when the gates apply it, and can undo overrides.
    fn change(self, planned: Vec<(RuleSubject, Option<OverrideAnswer>)>, action: SubjectAction) {
        spawn_local(async move {
            let (mut done, mut made) = (Vec::new(), Vec::new());
            for (target, before) in planned {
                match self.send(&target, action).await {
                    Err(problem) => {
                        self.toasts.show(format!("{}: {}", target.rule, problem.text()));
                    }
                    Ok(answer) => {
                        made.extend(answer.map(|answer| (answer, before)));
                        done.push(target);
                    }
                }
            }
            if done.is_empty() {
                return;
            }
            self.changed.try_run(());
            let said = action.done(&done);
            let Some(version) = made.iter().map(|(made, _)| made.rulebook_version).max() else {
                return self.toasts.show(said);
            };
            let live = settled(self.api, &self.tenant.now(), version).await;
            let undo = Callback::new(move |()| {
                for (made, before) in made.clone() {
                    match before {
                        Some(before) => self.restore(made, before),
                        None => self.remove(made),
                    }
                }
            });
            self.toasts.show_undoable(format!("{said}: {live}"), undo);
            self.changed.try_run(());
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
            SubjectAction::Allow { for_s } => {
                let body = AllowOrBlockBody { rule_id, subject, for_s, reason: None };
                api.allow_subject(&tenant, &body).await.map(Some)
            }
            SubjectAction::Block { for_s } => {
                let body = AllowOrBlockBody { rule_id, subject, for_s, reason: None };
                api.block_subject(&tenant, &body).await.map(Some)
            }
            SubjectAction::Reset => {
                api.reset_counters(&tenant, &ResetBody { rule_id, subject }).await.map(|_| None)
            }
        }
    }

    /// Deletes an override. If it belongs to a set, asks first.
    pub fn remove(self, made: OverrideAnswer) {
        let owner = made.managed_by.clone();
        let delete = Callback::new(move |()| self.delete(made.clone()));
        self.ask("Remove override".to_owned(), &[owner], delete);
    }

    fn delete(self, made: OverrideAnswer) {
        spawn_local(async move {
            let answer = self.api.delete_override(&self.tenant.now(), &made).await;
            self.report(answer, "Removed", &made);
        });
    }

    /// Replaces an override by the one that it replaced.
    fn restore(self, made: OverrideAnswer, before: OverrideAnswer) {
        spawn_local(async move {
            let answer = self.api.replace_override(&self.tenant.now(), &made, &before.body).await;
            self.report(answer.map(drop), "Restored", &made);
        });
    }

    fn report(self, answer: Result<(), Problem>, done: &str, made: &OverrideAnswer) {
        match answer {
            Ok(()) => {
                let subject = subject::label(&made.body.subject);
                self.toasts.show(format!("{done} the override of {subject}"));
                self.changed.try_run(());
            }
            Err(problem) => self.toasts.show(problem.text()),
        }
    }
}

/// The question before a change of an override that belongs to a set.
#[component]
pub fn SubjectQuestion(actions: SubjectActions) -> impl IntoView {
    let SubjectActions { asked, open, .. } = actions;
    move || {
        asked.get().map(|Question { change, note, confirmed }| {
            let title = format!("{change}?");
            view! {
                <Confirm title action=Signal::stored(change) open on_confirm=confirmed><p>{note.clone()}</p></Confirm>
            }
        })
    }
}

/// The items of a menu of changes that last some seconds.
pub fn change_items(
    target: StoredValue<RuleSubject>,
    actions: SubjectActions,
    for_s: u32,
) -> impl IntoView {
    let changes = [
        ("arrow-up", SubjectAction::Raise { factor: 2, for_s }, false),
        ("arrow-up", SubjectAction::Raise { factor: 10, for_s }, false),
        ("check", SubjectAction::Allow { for_s }, false),
        ("rotate-ccw", SubjectAction::Reset, false),
        ("trash-2", SubjectAction::Block { for_s }, true),
    ];
    changes.map(|(icon, action, danger)| {
        let press = Callback::new(move |()| actions.run(vec![target.get_value()], action));
        view! { <MenuItem icon text=action.label() danger on_press=press /> }
    })
}

/// A menu of changes for a subject, and a link to its page. Only the link for people who cannot change it.
#[component]
pub fn SubjectMenu(target: RuleSubject, actions: SubjectActions) -> impl IntoView {
    let (access, tenant) = (expect_context::<Access>(), expect_context::<TenantId>());
    let label = format!("Actions for {}", target.label());
    let page = StoredValue::new(subject::page(&target.subject));
    let target = StoredValue::new(target);
    let trigger = view! { <Icon name="ellipsis" /> }.into_any();
    let items = move || access.has(Role::Editor).then(|| change_items(target, actions, TIMES_S[0]));
    view! {
        <Menu label trigger>
            <MenuLink icon="crosshair" text="Open subject" href=tenant.page(&page.get_value()) />
            {items()}
        </Menu>
    }
}

/// A menu that lets a subject through in these rules for some seconds. Nothing without rules.
#[component]
pub fn LetThrough(
    targets: Memo<Vec<RuleSubject>>,
    #[prop(into)] for_s: Signal<u32>,
    actions: SubjectActions,
) -> impl IntoView {
    let text = move || {
        let rules = quantity(targets.with(Vec::len), "rule", "rules");
        format!("Let through for {} in {rules}", time(for_s.get()))
    };
    let items = move || {
        let for_s = for_s.get_untracked();
        let changes = [
            ("arrow-up", SubjectAction::Raise { factor: 2, for_s }),
            ("arrow-up", SubjectAction::Raise { factor: 10, for_s }),
            ("check", SubjectAction::Allow { for_s }),
        ];
        changes.map(|(icon, action)| {
            let press = Callback::new(move |()| actions.run(targets.get_untracked(), action));
            view! { <MenuItem icon text=action.label() on_press=press /> }
        })
    };
    view! {
        <Show when=move || !targets.with(Vec::is_empty)>
            <Menu
                label=Signal::derive(text)
                class="button primary"
                trigger=view! { {text}<Icon name="chevron-down" /> }.into_any()
            >
                {items()}
            </Menu>
        </Show>
    }
}
