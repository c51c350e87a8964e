//! The filtered overrides, one page at a time.

use futures_util::{FutureExt as _, TryFutureExt as _};
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::components::A;
use weir_wire::overrides::{OVERRIDES_TOTAL_MAX, OverrideAnswer, OverridesPage};
use weir_wire::page::Page;
use weir_wire::tenants::Role;

use super::export::Export;
use super::state::{OpenForm, OverrideFilter};
use crate::api::{Api, OverrideSearch, Problem};
use crate::components::data_table::{Column, TableOptions, table_in_url};
use crate::components::dialog::Confirm;
use crate::components::feedback::{Empty, Skeleton};
use crate::components::field::TextField;
use crate::components::owner::files_mark;
use crate::components::paged::{Paged, PagedTable};
use crate::components::remote_data::{fetch_data, show_latest_shaped};
use crate::components::require_role::RequireRole;
use crate::components::rule_picker::{RulePicker, Rules};
use crate::components::submit::SubmitAction;
use crate::components::table::RowButton;
use crate::components::time::{ExactTime, ExpiryTime};
use crate::components::toast::Toasts;
use crate::model::number::grouped;
use crate::model::rule_choice::by_id;
use crate::model::{override_labels, owners, subject};
use crate::pages::namespace_filter::NamespaceFilter;
use crate::pages::rule_options::load_missing_rules;
use crate::pages::shell::TenantId;
use crate::pages::subject_link::{subject_link, two_lines};

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
        let (tenant, search) = (tenant.get(), filter.search());
        async move { overrides(api, &tenant, rules, &search, None).await }.boxed_local()
    });
    view! {
        <div class="filter" role="search">
            <TextField label="Search subjects" kind="search" value=filter.typed />
            <NamespaceFilter namespace=filter.namespace />
            <div class="rule-filter">
                <RulePicker label="Rule" rules value=filter.rule options=by_id others=vec![(String::new(), "Any rule".to_owned())] />
            </div>
            <Export rules />
        </div>
        {show_latest_shaped(first, Skeleton::Table, move |page| view! { <Pages page filter rules writes open /> })}
    }
}

/// One page of the filtered overrides; also loads the names of their rules.
async fn overrides(
    api: Api,
    tenant: &str,
    rules: Rules,
    search: &OverrideSearch,
    cursor: Option<String>,
) -> Result<OverridesPage, Problem> {
    let page = api.overrides(tenant, search, cursor.as_deref()).await?;
    load_missing_rules(api, tenant, rules, page.data.iter().map(|answer| &answer.body.rule_id))
        .await?;
    Ok(page)
}

/// The first page and the pages loaded after it.
#[component]
fn Pages(
    page: Signal<OverridesPage>,
    filter: OverrideFilter,
    rules: Rules,
    writes: RwSignal<u32>,
    open: RwSignal<OpenForm>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let paged = Paged::new(Signal::derive(move || rows(page.get())), move |cursor| {
        let search = filter.search();
        let page = async move { overrides(api, &tenant.now(), rules, &search, cursor).await };
        page.map_ok(rows).boxed_local()
    });
    let total = Signal::derive(move || match page.with(|page| page.total) {
        Some(total) => Some(grouped(total)),
        None if filter.typed.value.with(String::is_empty) => {
            Some(format!("more than {}", grouped(OVERRIDES_TOTAL_MAX)))
        }
        None => None,
    });
    let is_filtered = Memo::new(move |_| filter.search() != OverrideSearch::default());
    let empty = move || {
        if is_filtered.get() {
            return view! {
                <Empty title="No matching overrides">
                    <button type="button" class="button" on:click=move |_| filter.clear()>"Clear filters"</button>
                </Empty>
            }
            .into_any();
        }
        view! {
            <Empty title="No overrides yet"><p>"Use New override to give one subject another limit, or to always allow or deny it. Use Import CSV for many subjects."</p></Empty>
        }
        .into_any()
    };
    view! {
        <PagedTable
            paged
            label="Overrides"
            nouns=("override", "overrides")
            columns=columns(rules, Actions { writes, open, action: paged.more.action })
            id=|entry| entry.id.clone()
            view=table_in_url()
            options=TableOptions { is_virtual: true, total: Some(total), ..TableOptions::default() }
            empty
        />
    }
}

fn rows(page: OverridesPage) -> Page<OverrideAnswer> {
    Page { data: page.data, next_cursor: page.next_cursor }
}

/// The state of the buttons of a row; `action` belongs to the list, which shows its problem below the table.
#[derive(Debug, Clone, Copy)]
struct Actions {
    writes: RwSignal<u32>,
    open: RwSignal<OpenForm>,
    action: SubmitAction,
}

fn columns(rules: Rules, actions: Actions) -> Vec<Column<OverrideAnswer>> {
    let rule_name = move |entry: &OverrideAnswer| {
        let rule = rules.rule(&entry.body.rule_id);
        rule.map_or_else(|| "Deleted rule".to_owned(), |rule| rule.rule.name)
    };
    let reason = |entry: &OverrideAnswer| entry.body.reason.clone().unwrap_or_default();
    let ends_ms = |entry: &OverrideAnswer| {
        entry.body.expires_at.map_or(i64::MAX, |expires_at| expires_at.0.as_millis())
    };
    vec![
        Column::text("subject", "Subject", |entry: &OverrideAnswer| subject::label(&entry.body.subject))
            .cell(subject_cell)
            .class("name"),
        Column::text("rule", "Rule", rule_name).cell(move |entry| {
            let (tenant, id) = (expect_context::<TenantId>(), entry.body.rule_id.clone());
            let name = rule_name(entry);
            view! {
                <div class="two-lines"><A href=move || tenant.page(&format!("rules/{id}"))>{name}</A></div>
            }
            .into_any()
        }),
        Column::new("effect", "Effect", |entry: &OverrideAnswer| override_labels::effect(&entry.body))
            .cell(|entry| two_lines(override_labels::effect(&entry.body))),
        Column::new("expires", "Expires", |entry: &OverrideAnswer| {
            entry.body.expires_at.map_or_else(|| "Never".to_owned(), weir_wire::time::DateTime::text)
        })
        .by_number(ends_ms)
        .cell(|entry| {
            let starts = entry.body.starts_at;
            let starts = starts.map(|at| view! { <div class="note">"from "<ExactTime at /></div> });
            view! { <ExpiryTime at=entry.body.expires_at />{starts} }.into_any()
        }),
        Column::text("reason", "Reason", reason).cell(move |entry| {
            let files = files_mark(entry.managed_by.as_ref(), entry.edited);
            view! { <div>{two_lines(reason(entry))}{files}</div> }.into_any()
        }),
        Column::actions(move |entry: &OverrideAnswer| {
            view! { <RowActions entry=entry.clone() actions /> }.into_any()
        })
        .class("number row-actions"),
    ]
}

/// The subject, with a link to its page unless it is a pattern.
fn subject_cell(entry: &OverrideAnswer) -> AnyView {
    let subject = &entry.body.subject;
    if subject.values().any(|value| value.contains('*') || value.is_empty()) {
        return two_lines(subject::label(subject));
    }
    subject_link(subject)
}

#[component]
fn RowActions(entry: OverrideAnswer, actions: Actions) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let Actions { writes, open, action } = actions;
    let subject_label = subject::label(&entry.body.subject);
    let owner = owners::sentence("override", "overrides", std::slice::from_ref(&entry.managed_by));
    let asking = RwSignal::new(false);
    let is_owned = owner.is_some();
    let before = StoredValue::new(entry);
    let toasts = expect_context::<Toasts>();
    let delete = Callback::new(move |()| {
        let (tenant, deleted) = (tenant.now(), before.get_value());
        action.run(api.delete_override(&tenant, &deleted), move |()| {
            writes.try_update(|writes| *writes += 1);
            let text = format!("Override of {} deleted", subject::label(&deleted.body.subject));
            // The undo outlives the page.
            let undo = Callback::new(move |()| {
                spawn_local(restore(api, tenant.clone(), deleted.clone(), toasts, writes));
            });
            toasts.show_undoable(text, undo);
        });
    });
    let ask = move |()| if is_owned { asking.set(true) } else { delete.run(()) };
    let confirmation = owner.map(|text| {
        view! {
            <Confirm title="Delete this override?" action="Delete override" open=asking on_confirm=delete>
                <p>{text.clone()}</p>
            </Confirm>
        }
    });
    let edit = move |()| open.set(OpenForm::Edit(Box::new(before.get_value())));
    view! {
        <RequireRole role=Role::Editor reason_shown=true>
            <RowButton text="Edit" label=format!("Edit override of {subject_label}") on_press=edit />
            <RowButton text="Delete" label=format!("Delete override of {subject_label}") on_press=ask />
            {confirmation}
        </RequireRole>
    }
}

/// Creates a deleted override again, in the set that owned it and with its mark.
async fn restore(
    api: Api,
    tenant: String,
    deleted: OverrideAnswer,
    toasts: Toasts,
    writes: RwSignal<u32>,
) {
    match api.restore_override(&tenant, deleted).await {
        Ok(_) => toasts.show("Override restored"),
        Err(problem) => toasts.show(format!("Not restored: {}", problem.text())),
    }
    writes.try_update(|writes| *writes += 1);
}
