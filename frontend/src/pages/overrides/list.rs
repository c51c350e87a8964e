//! The filtered overrides, one page at a time.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::page::Page;
use weir_wire::tenants::Role;
use weir_wire::time::DateTime;

use super::export::Export;
use super::state::{OpenForm, OverrideFilter};
use crate::api::{Api, Problem};
use crate::browser;
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::{Empty, SubmitProblem};
use crate::components::field::TextField;
use crate::components::long_table::{LongTable, Viewport};
use crate::components::remote_data::{fetch_data, show_latest};
use crate::components::require_role::RequireRole;
use crate::components::rule_picker::{RulePicker, Rules};
use crate::components::submit::SubmitAction;
use crate::components::time::RelativeTime;
use crate::model::rule_choice::by_id;
use crate::model::{override_labels, subject};
use crate::pages::rule_options::load_missing_rules;
use crate::pages::shell::TenantId;

/// The list with its search field; `writes` is incremented after each write.
#[component]
pub(super) fn List(
    filter: OverrideFilter,
    rules: Rules,
    writes: RwSignal<u32>,
    open: RwSignal<OpenForm>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let first = fetch_data(move || {
        writes.track();
        let (tenant, typed, rule) = (tenant.get(), filter.typed.get(), filter.rule.get());
        async move { overrides(api, &tenant, rules, (&typed, &rule), None).await }
    });
    view! {
        <div class="filter" role="search">
            <TextField label="Search subjects" kind="search" value=filter.typed />
            <div class="rule-filter">
                <RulePicker label="Rule" rules value=filter.rule.into() options=by_id others=vec![(String::new(), "Any rule".to_owned())] />
            </div>
            <Export rules />
        </div>
        {show_latest(first, move |page| view! { <Pages page filter rules writes open /> })}
    }
}

/// One page of the filtered overrides; also loads the names of their rules.
async fn overrides(
    api: Api,
    tenant: &str,
    rules: Rules,
    (typed, rule): (&str, &str),
    cursor: Option<String>,
) -> Result<Page<OverrideAnswer>, Problem> {
    let page = api.overrides(tenant, typed, Some(rule), cursor.as_deref()).await?;
    load_missing_rules(api, tenant, rules, page.data.iter().map(|answer| &answer.body.rule_id))
        .await?;
    Ok(page)
}

/// The first page and the pages loaded after it.
#[component]
fn Pages(
    page: Signal<Page<OverrideAnswer>>,
    filter: OverrideFilter,
    rules: Rules,
    writes: RwSignal<u32>,
    open: RwSignal<OpenForm>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let shown = RwSignal::new(Page { data: Vec::new(), next_cursor: None });
    Effect::new(move |_| shown.set(page.get()));
    let action = SubmitAction::new();
    let more = move |_| {
        let (typed, rule) = (filter.typed.get_untracked(), filter.rule.get_untracked());
        let cursor = shown.get_untracked().next_cursor;
        action.run(
            async move { overrides(api, &tenant.now(), rules, (&typed, &rule), cursor).await },
            move |mut next| {
                shown.update(|shown| {
                    shown.data.append(&mut next.data);
                    shown.next_cursor = next.next_cursor;
                });
            },
        );
    };
    let viewport = Viewport::new();
    let count = Signal::derive(move || shown.with(|shown| shown.data.len()));
    let in_sight = move || {
        shown.with(|shown| {
            let window = viewport.window(shown.data.len());
            let rows = shown.data[window.from..window.to].iter().cloned().enumerate();
            rows.map(|(at, entry)| (window.from + at, entry)).collect::<Vec<_>>()
        })
    };
    let empty = move || shown.with(|shown| shown.data.is_empty());
    let title = move || {
        if filter.typed.with(String::is_empty) && filter.rule.with(String::is_empty) {
            "No overrides yet"
        } else {
            "No matching overrides"
        }
    };
    let has_more = move || shown.with(|shown| shown.next_cursor.is_some());
    view! {
        <Show when=move || !empty() fallback=move || view! {
            <Empty title=title()><p>"Use New override to give one subject another limit, or to always allow or deny it. Use Import CSV for many subjects."</p></Empty>
        }>
            <LongTable label="Overrides" viewport count head=head()>
                <For each=in_sight key=move |(_, entry)| (entry.id.clone(), entry.revision) let:((at, entry))>
                    <OverrideRow at entry rules writes open action />
                </For>
            </LongTable>
        </Show>
        <SubmitProblem problem=action.problem />
        <Show when=has_more>
            <button type="button" class="button" disabled=action.busy on:click=more>"Load more"</button>
        </Show>
    }
}

fn head() -> AnyView {
    view! {
        <tr>
            <th scope="col">"Subject"</th><th scope="col">"Rule"</th><th scope="col">"Effect"</th>
            <th scope="col">"Expires"</th><th scope="col">"Reason"</th>
            <th scope="col"><span class="hidden">"Actions"</span></th>
        </tr>
    }
    .into_any()
}

/// The row at index `at`; `action` belongs to the list, which shows its problem below the table.
#[component]
fn OverrideRow(
    at: usize,
    entry: OverrideAnswer,
    rules: Rules,
    writes: RwSignal<u32>,
    open: RwSignal<OpenForm>,
    action: SubmitAction,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let asking = RwSignal::new(false);
    let rule_name = rules
        .rule(&entry.body.rule_id)
        .map_or_else(|| "Deleted rule".to_owned(), |rule| rule.rule.name);
    let rule_id = entry.body.rule_id.clone();
    let subject_label = subject::label(&entry.body.subject);
    let effect = override_labels::effect(&entry.body);
    let until = entry.body.expires_at;
    let reason = entry.body.reason.clone().unwrap_or_default();
    let before = StoredValue::new(entry);
    let delete = Callback::new(move |()| {
        action.run(
            async move { api.delete_override(&tenant.now(), &before.get_value()).await },
            move |()| writes.update(|writes| *writes += 1),
        );
    });
    let edit = move |_| open.set(OpenForm::Edit(Box::new(before.get_value())));
    let consequence = format!(
        "The normal limits of {rule_name} apply to {subject_label} again, immediately and on all gates."
    );
    let (edit_label, delete_label) = (
        format!("Edit override of {subject_label}"),
        format!("Delete override of {subject_label}"),
    );
    view! {
        <tr aria-rowindex=at + 2>
            <td class="name"><div class="two-lines" title=subject_label.clone()><bdi>{subject_label.clone()}</bdi></div></td>
            <td><div class="two-lines"><A href=move || tenant.page(&format!("rules/{rule_id}"))>{rule_name}</A></div></td>
            <td><div class="two-lines" title=effect.clone()>{effect.clone()}</div></td>
            <td>{until.map_or_else(|| "Never".into_any(), expiry)}</td>
            <td><div class="two-lines" title=reason.clone()><bdi>{reason.clone()}</bdi></div></td>
            <td class="number">
                <RequireRole role=Role::Editor reason_shown=true>
                    <button type="button" class="button plain-button" aria-label=edit_label on:click=edit>"Edit"</button>
                    <button type="button" class="button plain-button" aria-label=delete_label on:click=move |_| asking.set(true)>"Delete"</button>
                </RequireRole>
                <ConfirmByName title="Delete this override?" consequence name=subject_label action="Delete override" open=asking on_confirm=delete />
            </td>
        </tr>
    }
}

fn expiry(at: DateTime) -> AnyView {
    let over = at.0.as_millis() <= browser::now_ms();
    let badge = over.then(|| view! { <span class="badge badge-shadow">"Expired"</span>" " });
    view! { {badge}<RelativeTime at /> }.into_any()
}
