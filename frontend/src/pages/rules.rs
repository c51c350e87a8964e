//! The rules of a tenant.

mod bulk_mode;
mod row;
mod table;

use std::collections::BTreeSet;

use leptos::prelude::*;
use weir_wire::page::Page;
use weir_wire::rules::RuleAnswer;
use weir_wire::tenants::Role;
use weir_wire::words::Mode;

use crate::api::Api;
use crate::browser;
use crate::components::feedback::{Empty, ProblemPanel};
use crate::components::field::{Binding, Choice, TextField};
use crate::components::guide_link::GuideLink;
use crate::components::long_table::{LongTable, Viewport};
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show};
use crate::components::require_role::RoleLink;
use crate::components::url_state::url_state;
use crate::model::number::quantity;
use crate::model::rule_list::{Order, RuleFilter, text};
use crate::pages::shell::TenantId;
use bulk_mode::SetMode;
use row::RuleRow;
use table::Table;

#[component]
pub fn Rules() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rules = fetch_data(move || {
        let tenant = tenant.get();
        async move { api.some_rules(&tenant, "").await }
    });
    let new = Signal::derive(move || tenant.page("rules/new"));
    view! {
        <PageHeader title="Rules" lead="Who can do what, and how often">
            <RoleLink role=Role::Editor href=new text="New rule" primary=true />
        </PageHeader>
        {show(rules, move |first| {
            if first.data.is_empty() {
                return view! {
                    <Empty title="No rules yet, so every check is allowed">
                        <p>"A rule defines which requests are counted, by which attributes, and how many are allowed. "<GuideLink page="rules" text="About rules" /></p>
                        <RoleLink role=Role::Editor href=new text="Create your first rule" primary=true />
                    </Empty>
                }
                .into_any();
            }
            view! { <List first /> }.into_any()
        })}
    }
}

/// The first page of the list is shown at once; the rest follows when all rules have loaded.
#[component]
fn List(first: Page<RuleAnswer>) -> impl IntoView {
    let filter = url_state(
        |url| RuleFilter::of(|name| url.get(name)),
        |filter| filter.query(browser::encode_component),
    );
    let Page { data, next_cursor } = first;
    let rules = RwSignal::new(data);
    // Computed when the filter first needs them, and then only when the rules change.
    let texts = Memo::new(move |_| rules.with(|rules| rules.iter().map(text).collect::<Vec<_>>()));
    let shown = Memo::new(move |_| {
        let filter = filter.value.get();
        rules.with(|rules| {
            if filter.needs_texts() {
                texts.with(|texts| filter.arrange(rules, texts))
            } else {
                filter.arrange(rules, &[])
            }
        })
    });
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let hour = fetch_data(move || {
        let tenant = tenant.get();
        async move { api.rules_last_hour(&tenant).await }
    });
    let hour = Memo::new(move |_| {
        let series = hour.data().map(|hour| hour.data).unwrap_or_default();
        series.into_iter().map(|series| (series.rule_id.clone(), series)).collect()
    });
    let table = Table { rules, selected: RwSignal::new(BTreeSet::new()), hour, shown };
    let viewport = Viewport::new();
    Effect::new(move |_| {
        filter.value.track();
        viewport.to_top();
    });
    let in_sight = move || {
        let places = shown.get();
        let window = viewport.window(places.len());
        places[window.from..window.to]
            .iter()
            .copied()
            .enumerate()
            .map(move |(at, place)| (window.from + at, place))
            .collect::<Vec<_>>()
    };
    let key = move |(_, place): &(usize, usize)| {
        table.rules.with_untracked(|rules| (rules[*place].id.clone(), rules[*place].revision))
    };
    let clear = move |_| {
        let order = filter.value.get_untracked();
        filter.set.run(RuleFilter { typed: String::new(), mode: None, ..order });
    };
    let head = view! {
        <tr>
            <th class="checkbox-cell"><SelectAll table /></th>
            <SortHeader label="Rule" order=Order::Name filter />
            <th scope="col">"Matches"</th>
            <th scope="col">"Limits"</th>
            <th scope="col">"Denied, last hour"</th>
            <SortHeader label="Mode" order=Order::Mode filter />
            <SortHeader label="Changed" order=Order::Changed filter />
        </tr>
    };
    view! {
        <Filter filter table />
        <SetMode table />
        {next_cursor.map(|cursor| view! { <RemainingRules cursor rules /> })}
        <LongTable label="Rules" viewport count=Signal::derive(move || shown.with(Vec::len)) head=head.into_any()>
            <For each=in_sight key let:((at, place))><RuleRow at place table /></For>
        </LongTable>
        <Show when=move || shown.with(Vec::is_empty)>
            <Empty title="No rules match">
                <button type="button" class="button" on:click=clear>"Clear filters"</button>
            </Empty>
        </Show>
    }
}

/// Fetches the remaining rules, and says so meanwhile.
#[component]
fn RemainingRules(cursor: String, rules: RwSignal<Vec<RuleAnswer>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let others = fetch_data(move || {
        let (tenant, cursor) = (tenant.now(), cursor.clone());
        async move { api.rules_after(&tenant, cursor).await }
    });
    Effect::new(move |_| {
        if let Some(mut others) = others.data() {
            rules.update(|rules| rules.append(&mut others));
        }
    });
    move || match (others.data(), others.problem()) {
        (Some(_), _) => ().into_any(),
        (None, Some(problem)) => {
            let retry = Callback::new(move |()| others.refetch());
            view! { <ProblemPanel problem retry /> }.into_any()
        }
        (None, None) => {
            let loaded = rules.with_untracked(Vec::len);
            let notice = format!("Showing the first {loaded}. Loading more…");
            view! { <p class="note" role="status">{notice}</p> }.into_any()
        }
    }
}

#[component]
fn Filter(filter: Binding<RuleFilter>, table: Table) -> impl IntoView {
    let typed = Binding {
        value: Signal::derive(move || filter.value.get().typed),
        set: Callback::new(move |typed| {
            filter.set.run(RuleFilter { typed, ..filter.value.get_untracked() });
        }),
    };
    let mode = Binding {
        value: Signal::derive(move || filter.value.get().mode),
        set: Callback::new(move |mode| {
            filter.set.run(RuleFilter { mode, ..filter.value.get_untracked() });
        }),
    };
    let modes = std::iter::once((None, "Any mode".to_owned()))
        .chain(Mode::ALL.iter().map(|mode| (Some(*mode), mode.title().to_owned())))
        .collect();
    let count = move || {
        let (shown_count, all) = (table.shown.with(Vec::len), table.rules.with(Vec::len));
        let all_counted = quantity(all, "rule", "rules");
        if shown_count == all { all_counted } else { format!("{shown_count} of {all_counted}") }
    };
    view! {
        <div class="filter" role="search">
            <TextField label="Filter" kind="search" value=typed />
            <Choice label="Mode" value=mode options=modes />
            <p class="muted" role="status">{count}</p>
        </div>
    }
}

/// The head of a sortable column.
#[component]
fn SortHeader(label: &'static str, order: Order, filter: Binding<RuleFilter>) -> impl IntoView {
    let direction = move || {
        let filter = filter.value.get();
        (filter.order == order).then_some(if filter.descending {
            "descending"
        } else {
            "ascending"
        })
    };
    let sort = move |_| {
        let before = filter.value.get_untracked();
        let descending = before.order == order && !before.descending;
        filter.set.run(RuleFilter { order, descending, ..before });
    };
    view! {
        <th scope="col" aria-sort=direction>
            <button type="button" class="sort" on:click=sort>{label}<span aria-hidden="true"></span></button>
        </th>
    }
}

/// Selects all listed rules, or none.
#[component]
fn SelectAll(table: Table) -> impl IntoView {
    let all = move || {
        table.shown.with(|shown| {
            table.selected.with(|selected| !shown.is_empty() && shown.len() == selected.len())
        })
    };
    let tick = move |event| {
        let ids = || {
            let shown = table.shown.get_untracked();
            table
                .rules
                .with_untracked(|rules| shown.iter().map(|at| rules[*at].id.clone()).collect())
        };
        table.selected.set(if event_target_checked(&event) { ids() } else { BTreeSet::new() });
    };
    view! { <input type="checkbox" aria-label="Select all rules shown" prop:checked=all on:change=tick /> }
}
