//! The most denied rules or subjects.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::stats::{Top, TopBy, TopEntry};

use crate::browser;
use crate::charts::geometry::Scale;
use crate::charts::timeline::{WIDTH, percent};
use crate::components::control_flow::Show;
use crate::model::chart::span;
use crate::model::number::{grouped, share_within};
use crate::model::subject_action::RuleSubject;
use crate::pages::shell::TenantId;
use crate::pages::subject_actions::{SubjectActions, SubjectMenu, SubjectQuestion};
use crate::pages::subject_link::subject_link;

/// The list, with its error bound.
#[component]
pub fn TopDenied(
    title: &'static str,
    top: Signal<Top>,
    /// Whether entries of subjects name their rule.
    #[prop(default = true)]
    names_rules: bool,
    /// Whether there are denials that the list does not have yet.
    #[prop(optional, into)]
    counting: Signal<bool>,
) -> impl IntoView {
    let of_subjects = top.with_untracked(|top| top.by == TopBy::Subject);
    let actions = SubjectActions::new(Callback::new(|()| {}));
    let shadows =
        Memo::new(move |_| top.with(|top| top.data.iter().any(|entry| entry.shadow_denied > 0)));
    let rows = move || {
        let Top { data: entries, error_at_most: error, .. } = top.get();
        let most = entries.iter().map(drawn).max().unwrap_or(0);
        entries
            .into_iter()
            .filter(|entry| entry.denied > 0)
            .take(ROWS_MAX)
            .map(|entry| view! { <TopRow entry most error shadows names_rules actions /> })
            .collect::<Vec<_>>()
    };
    let none = move || top.with(|top| top.data.iter().all(|entry| entry.denied == 0));
    let empty = move || {
        if counting.get() {
            "Counting… Subjects are listed up to 10 seconds after their denials."
        } else {
            "No denials in this period"
        }
    };
    view! {
        <div class="card stack">
            <h2>{title}</h2>
            <SubjectQuestion actions />
            <Show when=none><p class="muted">{empty}</p></Show>
            <Show when=move || !none()>
                <div class="table-wrap" tabindex="0" role="region" aria-label=title>
                    <table class="bars">
                        <thead><tr>
                            <th scope="col">"Name"</th><th scope="col" class="number">"Denied"</th>
                            <Show when=move || shadows.get()><th scope="col" class="number">"Would deny"</th></Show>
                            <th scope="col" class="number">"Share"</th>
                            {of_subjects.then(|| view! { <th scope="col"><span class="hidden">"Actions"</span></th> })}
                        </tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            </Show>
            <TopNotes top />
        </div>
    }
}

/// How exact the numbers of subjects are, and the time that they cover, which is longer than the selected one.
#[component]
pub fn TopNotes(top: Signal<Top>) -> impl IntoView {
    let accuracy = move || {
        let error_bound = top.with(|top| top.error_at_most);
        (error_bound > 0).then(|| {
            format!("Approximate: of a subject, up to {} checks can be counted too many, and as many denials too few.", grouped(error_bound))
        })
    };
    let covered = move || {
        top.with(|top| {
            let [from_ms, to_ms] = [top.from, top.to].map(|at| at.0.as_millis());
            let covered = span(from_ms, to_ms, STEP_MS, browser::zone_ms);
            (top.by == TopBy::Subject)
                .then(|| format!("{covered}, counted in steps of 10 minutes."))
        })
    };
    view! {
        <p class="note">{accuracy}</p>
        <p class="note">{covered}</p>
    }
}

#[component]
fn TopRow(
    entry: TopEntry,
    most: u64,
    /// The greatest error of the entry's checks.
    error: u64,
    shadows: Memo<bool>,
    names_rules: bool,
    actions: SubjectActions,
) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let (enforced, length) = (entry.enforced(), drawn(&entry));
    let TopEntry { rule_id, rule, subject, checks, shadow_denied, .. } = entry;
    let name = rule.unwrap_or_else(|| "Deleted rule".to_owned());
    let menu = subject.clone().map(|subject| {
        let target = RuleSubject { rule_id: rule_id.clone(), rule: name.clone(), subject };
        view! { <td class="menu-cell"><SubjectMenu target actions /></td> }
    });
    let link = view! { <A href=move || tenant.page(&format!("rules/{rule_id}"))>{name}</A> };
    let which = match subject {
        Some(attributes) => view! {
            <div class="name">{subject_link(&attributes)}</div>
            {names_rules.then(|| view! { <div class="muted">{link}</div> })}
        }
        .into_any(),
        None => view! { <span class="name">{link}</span> }.into_any(),
    };
    let class = if enforced == 0 { "bar would-deny" } else { "bar denied" };
    let width = percent(Scale { most, start: 0, end: WIDTH }.place(length));
    view! {
        <tr>
            <td class="bar-cell">{which}<i class=class style=("width", width)></i></td>
            <td class="number">{grouped(enforced)}</td>
            <Show when=move || shadows.get()><td class="number">{grouped(shadow_denied)}</td></Show>
            <td class="number">{share_within(enforced, checks, error).unwrap_or_else(|| "–".to_owned())}</td>
            {menu}
        </tr>
    }
}

/// The length of the bar: the denied checks, or those that a rule only would have denied.
fn drawn(entry: &TopEntry) -> u64 {
    match entry.enforced() {
        0 => entry.shadow_denied,
        denied => denied,
    }
}

/// The steps in which subjects are counted.
const STEP_MS: i64 = 600_000;
/// The most rows of a list.
const ROWS_MAX: usize = 10;
