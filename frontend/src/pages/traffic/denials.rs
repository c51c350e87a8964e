//! The most recent denials, with the limit that denied each.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::stats::DenialEntry;

use crate::browser;
use crate::components::control_flow::{For, Show};
use crate::components::table::TableFrame;
use crate::components::time::RelativeTime;
use crate::components::verdict::retry_text;
use crate::model::chart::span;
use crate::model::denial_groups::{DenialGroup, denial_groups};
use crate::model::number::{grouped, quantity};
use crate::model::request_link::denial_link;
use crate::model::subject;
use crate::model::subject_action::RuleSubject;
use crate::model::why;
use crate::pages::shell::TenantId;
use crate::pages::subject_actions::{SubjectActions, SubjectMenu};
use crate::pages::subject_link::subject_link;

/// The latest denials, one row for each rule and subject.
#[component]
pub fn DenialGroups(
    denials: Signal<Vec<DenialEntry>>,
    /// Whether rows name their rule.
    #[prop(default = true)]
    names_rules: bool,
    #[prop(default = "Latest denials")] title: &'static str,
    actions: SubjectActions,
) -> impl IntoView {
    let groups = Memo::new(move |_| denial_groups(denials.get()));
    let all = RwSignal::new(false);
    let rows = move || {
        let row = |group| view! { <GroupRow group names_rules actions /> };
        let most = if all.get() { GROUPS_MAX } else { GROUPS_FIRST };
        groups.get().into_iter().take(most).map(row).collect::<Vec<_>>()
    };
    let count = move || groups.with(Vec::len).min(GROUPS_MAX);
    let none = move || denials.with(Vec::is_empty);
    // The list says nothing about the time before its oldest entry.
    let covered = move || {
        denials.with(|all| {
            let [to_ms, from_ms] =
                [all.first()?, all.last()?].map(|denial| denial.at.0.as_millis());
            let time = span(from_ms, to_ms, 1_000, browser::zone_ms);
            Some(format!(
                "From the newest {}: {time}.",
                quantity(all.len(), "log entry", "log entries")
            ))
        })
    };
    let sampled = move || {
        let sampled = denials.with(|all| all.iter().any(|denial| denial.stands_for > 1));
        sampled.then_some(
            " Sampled: gates store a few denials per second; the counts include the others.",
        )
    };
    view! {
        <div class="card stack">
            <h2>{title}</h2>
            <p class="note">{covered}{sampled}</p>
            <Show when=none><p class="muted">"No denials in the log"</p></Show>
            <Show when=move || !none()>
                <TableFrame label=title columns=if names_rules { GROUP_COLUMNS } else { GROUP_COLUMNS_OF_RULE }>
                    <table class="denials">
                        <thead><tr>
                            <th scope="col">"Last"</th><th scope="col">"Subject"</th>
                            {names_rules.then(|| view! { <th scope="col">"Rule"</th> })}
                            <th scope="col" class="number">"Denials"</th><th scope="col">"Retry"</th>
                            <th scope="col"><span class="hidden">"Actions"</span></th>
                        </tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </TableFrame>
            </Show>
            <Show when=move || { !all.get() && count() > GROUPS_FIRST }>
                <div class="actions">
                    <button type="button" class="button" on:click=move |_| all.set(true)>"Show all "{count}</button>
                </div>
            </Show>
        </div>
    }
}

#[component]
fn GroupRow(group: DenialGroup, names_rules: bool, actions: SubjectActions) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let DenialGroup { last, checks, degraded } = group;
    let link = denial_link(&last);
    let target = target(&last);
    view! {
        <tr>
            <td><RelativeTime at=last.at /></td>
            <td class="text-cell">
                {subject_link(&last.subject)}
                {outcome_badges(last.shadow, degraded > 0)}
            </td>
            {names_rules.then(|| view! { <td class="text-cell">{rule_name(last.clone())}</td> })}
            <td class="number">{grouped(checks)}</td>
            <td>
                {retry(&last)}
                <A href=move || tenant.page(&link)>"Simulate"</A>
            </td>
            <td class="menu-cell"><SubjectMenu target actions /></td>
        </tr>
    }
}

/// When the same check can pass, and a link to the explanation. A check without a request has one only if it never can pass: to
/// the override or the rule that says so.
fn retry(denial: &DenialEntry) -> impl IntoView + use<> {
    let tenant = expect_context::<TenantId>();
    let explained = denial.request_id.is_some() || denial.retry_after_ms.is_none();
    let page = if let Some(request_id) = &denial.request_id {
        why::page(request_id)
    } else if denial.subject.is_empty() {
        format!("rules/{}", denial.rule_id)
    } else {
        subject::page(&denial.subject)
    };
    let why = explained.then(|| view! { <A href=move || tenant.page(&page)>"Why"</A>" · " });
    view! { {retry_text(denial.retry_after_ms)}" "{why} }
}

/// The rule and the subject of a denial.
pub fn target(denial: &DenialEntry) -> RuleSubject {
    RuleSubject {
        rule_id: denial.rule_id.clone(),
        rule: denial.rule.clone(),
        subject: denial.subject.clone(),
    }
}

/// The rule of a denial, with its namespace.
fn rule_name(denial: DenialEntry) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let page = format!("rules/{}", denial.rule_id);
    let whole = format!("{} in {}", denial.rule, denial.namespace);
    view! {
        <div class="two-lines" title=whole>
            <A href=move || tenant.page(&page)>{denial.rule}</A>
            <span class="muted">" in "<bdi>{denial.namespace}</bdi></span>
        </div>
    }
}

fn outcome_badges(shadow: bool, degraded: bool) -> impl IntoView {
    view! {
        {shadow.then(|| view! { <span class="badge badge-shadow">"Shadow"</span>" " })}
        {degraded.then(|| view! { <span class="badge badge-degraded">"Redis unavailable"</span> })}
    }
}

/// The rows of the list, at first and at most.
const GROUPS_FIRST: usize = 5;
const GROUPS_MAX: usize = 20;
const GROUP_COLUMNS: &[&str] = &["Last", "Subject", "Rule", "Denials", "Retry"];
const GROUP_COLUMNS_OF_RULE: &[&str] = &["Last", "Subject", "Denials", "Retry"];

/// Denials one by one, newest first. A row opens a denial.
#[component]
pub fn DenialTable(
    denials: Signal<Vec<DenialEntry>>,
    actions: SubjectActions,
    open: Callback<DenialEntry>,
) -> impl IntoView {
    view! {
        <TableFrame label="Denials" columns=&["Time", "Subject", "Rule", "Cost", "Retry"]>
            <table class="denials">
                <thead><tr>
                    <th scope="col">"Time"</th><th scope="col">"Subject"</th><th scope="col">"Rule"</th>
                    <th scope="col" class="number">"Cost"</th><th scope="col">"Retry"</th>
                    <th scope="col"><span class="hidden">"Actions"</span></th>
                </tr></thead>
                <tbody>
                    <For each=move || denials.get() key=|denial| denial.id.clone() let:denial>
                        <DenialRow denial actions open />
                    </For>
                </tbody>
            </table>
        </TableFrame>
    }
}

#[component]
fn DenialRow(
    denial: DenialEntry,
    actions: SubjectActions,
    open: Callback<DenialEntry>,
) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let (link, target) = (denial_link(&denial), target(&denial));
    let many = (denial.stands_for > 1).then(|| {
        view! { <div class="muted">"× "{grouped(u64::from(denial.stands_for))}</div> }
    });
    let at = browser::exact_clock_time(denial.at.0.as_millis());
    let label = format!("Denial of {} at {at}", subject::label(&denial.subject));
    let opened = StoredValue::new(denial.clone());
    let press = move |event: leptos::ev::MouseEvent| {
        if !browser::is_for_control(&event) {
            open.run(opened.get_value());
        }
    };
    view! {
        <tr class="linked" on:click=press>
            <td>
                <button type="button" class="button plain-button small" aria-label=label aria-haspopup="dialog" on:click=move |_| open.run(opened.get_value())>
                    <time datetime=denial.at.text()>{at.clone()}</time>
                </button>
            </td>
            <td class="text-cell">{subject_link(&denial.subject)}{many}</td>
            <td class="text-cell">
                {rule_name(denial.clone())}
                {outcome_badges(denial.shadow, denial.degraded)}
            </td>
            <td class="number">{grouped(denial.cost)}</td>
            <td>
                {retry(&denial)}
                <A href=move || tenant.page(&link)>"Simulate"</A>
            </td>
            <td class="menu-cell"><SubjectMenu target actions /></td>
        </tr>
    }
}
