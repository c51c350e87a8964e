//! The counters of the subject, rule by rule, with what is left of each limit.

use std::cmp::Reverse;

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::check::LimitAnswer;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::subjects::{InspectSubjectAnswer, SubjectOfRule};
use weir_wire::tenants::Role;
use weir_wire::words::{Action, Mode};

use crate::access::Access;
use crate::components::badge::ModeBadge;
use crate::components::control_flow::{For, Show};
use crate::components::feedback::{Empty, Warning};
use crate::components::field::Choice;
use crate::components::icon::Icon;
use crate::components::menu::Menu;
use crate::components::owner::files_mark;
use crate::components::remote_data::RemoteData;
use crate::components::require_role::RequireRole;
use crate::components::time::RelativeTime;
use crate::model::denied_by::denials_of;
use crate::model::duration::about;
use crate::model::headroom::{Headroom, by_region, per};
use crate::model::number::grouped;
use crate::model::override_labels;
use crate::model::subject_action::{RuleSubject, TIMES_S, time};
use crate::pages::shell::TenantId;
use crate::pages::subject_actions::{SubjectActions, change_items};

/// A card for each rule, the one that denied most in the last hour first.
#[component]
pub(super) fn Counters(
    found: Signal<InspectSubjectAnswer>,
    past: RemoteData<InspectSubjectAnswer>,
    for_s: RwSignal<u32>,
    actions: SubjectActions,
) -> impl IntoView {
    let none = Memo::new(move |_| found.with(|found| found.data.is_empty()));
    let unread = Memo::new(move |_| {
        let mut limits = found.get().data.into_iter().flat_map(|rule| rule.limits);
        limits.any(|limit| limit.remaining.is_none())
    });
    let truncated = move || found.with(|found| found.truncated);
    let rules = move || {
        let (mut rules, past) = (found.get().data, past.data());
        // A rule that is off cannot be the reason of a denial.
        rules.sort_by_key(|rule| {
            (rule.mode == Mode::Off, Reverse(denials_of(past.as_ref(), &rule.rule_id)))
        });
        rules
    };
    let present = move |rule: SubjectOfRule| {
        Signal::derive(move || {
            found.with(|found| {
                let now = found.data.iter().find(|now| now.rule_id == rule.rule_id);
                now.unwrap_or(&rule).clone()
            })
        })
    };
    view! {
        <section class="stack" aria-labelledby="counters-heading">
            <h2 id="counters-heading">"Rules"</h2>
            <Show when=move || none.get()>
                <Empty title="No rule counts by these attributes">
                    <p>"A rule appears here if it counts only by attributes that the subject has."</p>
                </Empty>
            </Show>
            <Show when=move || unread.get()>
                <Warning>"Redis does not answer, so what is left is unknown. A block takes effect all the same."</Warning>
            </Show>
            <Show when=truncated><Warning>"More rules count this subject than are listed."</Warning></Show>
            <div class="rule-cards">
                <For each=rules key=|rule| rule.rule_id.clone() let:rule>
                    <RuleCard rule=present(rule) for_s actions />
                </For>
            </div>
        </section>
    }
}

/// The choice of the time after which a change ends.
pub fn changes_last(for_s: RwSignal<u32>) -> impl IntoView {
    let options = TIMES_S.map(|for_s| (for_s, time(for_s))).to_vec();
    view! { <Choice label="Changes last" value=for_s.into() options /> }
}

/// A rule with the counters of the subject, the override that applies, and a menu of changes.
#[component]
pub fn RuleCard(
    #[prop(into)] rule: Signal<SubjectOfRule>,
    for_s: RwSignal<u32>,
    actions: SubjectActions,
) -> impl IntoView {
    let (access, tenant) = (expect_context::<Access>(), expect_context::<TenantId>());
    let SubjectOfRule { rule_id, rule: name, namespace, .. } = rule.get_untracked();
    let page = format!("rules/{rule_id}");
    let label = format!("{name} in {namespace}");
    let target = StoredValue::new(rule.with_untracked(RuleSubject::of));
    // An override can hide the limits of a rule; a rule without an override has limits or decides outright.
    let changeable = Memo::new(move |_| {
        let limited = rule.with(|rule| rule.action == Action::Limit || rule.exception.is_some());
        limited && access.has(Role::Editor)
    });
    let state = move || rule.with(state);
    let exception = Memo::new(move |_| rule.with(|rule| rule.exception.clone()));
    let note =
        move || exception.get().map(|exception| view! { <OverrideNote exception actions /> });
    let mode = Memo::new(move |_| rule.with(|rule| rule.mode));
    let menu = move || {
        let label = format!("Actions for {}", target.with_value(RuleSubject::label));
        let trigger = view! { <Icon name="ellipsis" /> }.into_any();
        view! { <Menu label trigger>{change_items(target, actions, for_s.get_untracked())}</Menu> }
    };
    view! {
        <article class="card stack" aria-label=label>
            <div class="card-head">
                <p><span class="muted">{namespace}" / "</span><A href=move || tenant.page(&page) attr:class="name">{name}</A></p>
                <div class="actions">
                    {move || view! { <ModeBadge mode=mode.get() /> }}
                    <Show when=move || changeable.get()>{menu()}</Show>
                </div>
            </div>
            {state}
            {note}
        </article>
    }
}

/// The limits of the rule, or its decision.
fn state(rule: &SubjectOfRule) -> AnyView {
    match rule.action {
        Action::Limit => {
            let meters: Vec<_> = rule.limits.iter().map(meter).collect();
            let regions = by_region(&rule.regions).map(|text| view! { <p class="note">{text}</p> });
            view! { <ul class="meters">{meters}</ul>{regions} }.into_any()
        }
        Action::Deny => view! { <p class="verdict-denied">"Every check is denied"</p> }.into_any(),
        Action::Allow => {
            view! { <p class="verdict-allowed">"Every check is allowed"</p> }.into_any()
        }
    }
}

/// The override that applies, with a button that removes it.
#[component]
fn OverrideNote(exception: OverrideAnswer, actions: SubjectActions) -> impl IntoView {
    let effect = override_labels::effect(&exception.body);
    let ends = exception.body.expires_at;
    let reason = exception.body.reason.clone().filter(|reason| !reason.is_empty());
    let files = files_mark(exception.managed_by.as_ref(), exception.edited);
    view! {
        <div class="override-note">
            <div>
                <p>
                    <span class="badge badge-override">"Override"</span>" "{effect}
                    {ends.map(|at| view! { ", ends "<RelativeTime at /> })}
                    {reason.map(|reason| view! { <span class="muted">" · "{reason}</span> })}
                </p>
                {files}
            </div>
            <RequireRole role=Role::Editor reason_shown=true>
                <button type="button" class="button small" on:click=move |_| actions.remove(exception.clone())>"Remove override"</button>
            </RequireRole>
        </div>
    }
}

/// How much of a limit is used.
pub(super) fn meter(limit: &LimitAnswer) -> impl IntoView + use<> {
    let headroom = Headroom::of(limit);
    let name = limit.algorithm.kind().title();
    let blocked = (!limit.allowed).then(|| match limit.retry_after_ms {
        Some(wait_ms) => format!("Denied, retry in {}", about(wait_ms)),
        None => "Denied".to_owned(),
    });
    let per = per(limit);
    let bar = headroom.left.map(|_| {
        let width = format!("{}%", headroom.used_percent);
        let class = format!("meter-fill {}", headroom.class());
        view! {
            <div class="meter" role="meter" aria-label=format!("{name}: used") aria-valuemin="0" aria-valuemax="100" aria-valuenow=headroom.used_percent.to_string()>
                <i class=class style=("width", width)></i>
            </div>
        }
    });
    view! {
        <li>
            <div class="meter-text">
                <span>{name}<span class="muted">{per}</span></span>
                <span>
                    {blocked.map(|text| view! { <span class="badge badge-denied">{text}</span>" " })}
                    <b>{headroom.left.map_or_else(|| "unknown".to_owned(), grouped)}</b>" of "{grouped(limit.limit)}" left"
                </span>
            </div>
            {bar}
        </li>
    }
}
