//! The bar below the editor: the number of problems, and what can be done with the draft.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::components::A;
use leptos_router::hooks::use_navigate;
use weir_wire::problem::ErrorCode;
use weir_wire::rules::RuleAnswer;
use weir_wire::tenants::Role;
use weir_wire::words::Mode;

use super::publish::Publish;
use super::retained::RetainedDraft;
use crate::access::Access;
use crate::browser;
use crate::components::control_flow::Show;
use crate::components::feedback::SubmitProblem;
use crate::components::icon::Icon;
use crate::components::menu::{Menu, MenuItem};
use crate::components::require_role::RequireRole;
use crate::components::rule_form::{DraftTransfer, Editor};
use crate::model::number::quantity;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Footer(
    editor: Editor,
    before: RwSignal<Option<RuleAnswer>>,
    retained: StoredValue<RetainedDraft>,
    publish: Publish,
    open_review: Callback<()>,
) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let back = move || {
        let page = |rule: &RuleAnswer| format!("rules/{}", rule.id);
        tenant.page(&before.with(|rule| rule.as_ref().map_or_else(|| "rules".to_owned(), page)))
    };
    // An enforced rule would stop denying, and files would undo what is changed of theirs.
    let needs_review = move || {
        before.with_untracked(|rule| {
            rule.as_ref()
                .is_some_and(|rule| rule.rule.mode == Mode::Enforce || rule.managed_by.is_some())
        })
    };
    let as_shadow = Callback::new(move |()| {
        editor.form.update(|form| form.mode = Mode::Shadow);
        if needs_review() { open_review.run(()) } else { publish.run.run(()) }
    });
    let discard = move || retained.with_value(RetainedDraft::drop);
    let navigate = use_navigate();
    let cancel = Callback::new(move |()| {
        discard();
        navigate(&untrack(back), NavigateOptions::default());
    });
    let replay = replay(editor, before);
    let access = expect_context::<Access>();
    view! {
        <div class="editor-foot">
            <ProblemCount editor />
            <Show when=move || !shown_elsewhere(publish)><SubmitProblem problem=publish.problem /></Show>
            <div class="actions">
                <button type="button" class="button wide-only" on:click=move |_| replay.run(())>"Replay on recorded traffic"</button>
                <A href=back attr:class="button wide-only" on:click=move |_| discard()>"Cancel"</A>
                // On a phone the foot has one button beside the menu.
                <div class="narrow-only">
                    <Menu label="More actions" class="button icon-button" trigger=view! { <Icon name="ellipsis" /> }.into_any()>
                        <MenuItem icon="history" text="Replay on recorded traffic" on_press=replay />
                        {access.has(Role::Editor).then(|| view! { <MenuItem icon="eye" text="Save as shadow" on_press=as_shadow /> })}
                        <MenuItem icon="x" text="Cancel" on_press=cancel />
                    </Menu>
                </div>
                <RequireRole role=Role::Editor>
                    <button type="button" class="button wide-only" disabled=publish.busy on:click=move |_| as_shadow.run(())>"Save as shadow"</button>
                    <button type="submit" class="button primary" disabled=publish.busy title="Ctrl+Enter">"Review changes"</button>
                </RequireRole>
            </div>
        </div>
    }
}

/// Whether the review, or the field of the name, shows the problem.
fn shown_elsewhere(publish: Publish) -> bool {
    let taken = publish.problem.with(|problem| {
        problem.as_ref().is_some_and(|problem| problem.code == Some(ErrorCode::NameTaken))
    });
    taken || publish.is_stale()
}

/// The number of problems, once a review was attempted.
#[component]
fn ProblemCount(editor: Editor) -> impl IntoView {
    let text = move || match editor.shown_problems() {
        0 => String::new(),
        some => format!("Fix {} before saving", quantity(some, "field", "fields")),
    };
    view! { <p class="field-problem" role="status">{text}</p> }
}

/// Opens a what-if run with the unsaved rule.
fn replay(editor: Editor, before: RwSignal<Option<RuleAnswer>>) -> Callback<()> {
    let (tenant, draft_transfer) =
        (expect_context::<TenantId>(), expect_context::<DraftTransfer>());
    let navigate = use_navigate();
    Callback::new(move |()| {
        let Some(rule) = editor.submit() else { return browser::focus_first_invalid() };
        let id = before.with_untracked(|rule| rule.as_ref().map(|rule| rule.id.clone()));
        let query = id.as_ref().map(|id| format!("?rule={id}")).unwrap_or_default();
        draft_transfer.put(id, rule);
        navigate(&format!("/t/{}/what-if{query}", tenant.now()), NavigateOptions::default());
    })
}
