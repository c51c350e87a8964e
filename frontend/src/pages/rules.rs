//! All rules of a tenant, in words.

mod line;
mod many;

use std::collections::{BTreeMap, BTreeSet};

use leptos::prelude::*;
use weir_wire::page::Page;
use weir_wire::rules::RuleAnswer;
use weir_wire::stats::RuleSeries;
use weir_wire::tenants::Role;
use weir_wire::words::Mode;

use crate::api::Api;
use crate::browser;
use crate::components::feedback::{Empty, ProblemPanel};
use crate::components::field::{Bind, Choice, TextField};
use crate::components::load::{load, loaded};
use crate::components::long_table::{LongTable, Sight};
use crate::components::needs::ActLink;
use crate::components::page::PageHead;
use crate::components::wanted::by_address;
use crate::model::number::counted;
use crate::model::rule_list::{Order, Wanted, text};
use crate::model::words;
use crate::pages::shell::TenantId;
use line::Line;
use many::SetMode;

/// The list with its filter.
#[component]
pub fn Rules() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let rules = load(move || {
        let tenant = tenant.get();
        async move { api.some_rules(&tenant, "").await }
    });
    let new = Signal::derive(move || tenant.page("rules/new"));
    view! {
        <PageHead title="Rules" lead="What is limited, for whom, and how much.">
            <ActLink role=Role::Editor href=new text="New rule" primary=true />
        </PageHead>
        {loaded(rules, move |first| {
            if first.data.is_empty() {
                return view! {
                    <Empty title="No rules yet: every check passes.">
                        <p>"A rule says which requests count, for whom, and how many may pass."</p>
                        <ActLink role=Role::Editor href=new text="Create the first rule" primary=true />
                    </Empty>
                }
                .into_any();
            }
            view! { <List first /> }.into_any()
        })}
    }
}

/// The rules of the page and which of them are ticked; cheap to copy.
#[derive(Debug, Clone, Copy)]
struct Table {
    rules: RwSignal<Vec<RuleAnswer>>,
    /// Ids.
    ticked: RwSignal<BTreeSet<String>>,
    /// What they decided in the last hour, by their ids; nothing while that is not known.
    hour: Memo<BTreeMap<String, RuleSeries>>,
    /// Places in `rules`, as filtered and sorted.
    shown: Memo<Vec<usize>>,
}

/// The first page of the list is shown at once, the others as soon as all of them are there.
#[component]
fn List(first: Page<RuleAnswer>) -> impl IntoView {
    let wanted = by_address(
        |said| Wanted::of(|name| said.get(name)),
        |wanted| wanted.query(browser::encoded),
    );
    let Page { data, next_cursor } = first;
    let rules = RwSignal::new(data);
    // Made when something is typed at last, and then once for all keystrokes.
    let texts = Memo::new(move |_| rules.with(|rules| rules.iter().map(text).collect::<Vec<_>>()));
    let shown = Memo::new(move |_| {
        let wanted = wanted.value.get();
        rules.with(|rules| {
            if wanted.reads() {
                texts.with(|texts| wanted.arrange(rules, texts))
            } else {
                wanted.arrange(rules, &[])
            }
        })
    });
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let hour = load(move || {
        let tenant = tenant.get();
        async move { api.rules_last_hour(&tenant).await }
    });
    let hour = Memo::new(move |_| {
        let series = hour.data().map(|hour| hour.data).unwrap_or_default();
        series.into_iter().map(|it| (it.rule_id.clone(), it)).collect()
    });
    let table = Table { rules, ticked: RwSignal::new(BTreeSet::new()), hour, shown };
    let sight = Sight::new();
    Effect::new(move |_| {
        wanted.value.track();
        sight.to_top();
    });
    let in_sight = move || {
        let places = shown.get();
        let window = sight.window(places.len());
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
    let head = view! {
        <tr>
            <th class="tick-cell"><TickAll table /></th>
            <Sorted label="Rule" order=Order::Name wanted />
            <th scope="col">"Matches"</th>
            <th scope="col">"Limits"</th>
            <th scope="col">"Denied, last hour"</th>
            <Sorted label="Mode" order=Order::Mode wanted />
            <Sorted label="Changed" order=Order::Changed wanted />
        </tr>
    };
    view! {
        <Filter wanted table />
        <SetMode table />
        {next_cursor.map(|cursor| view! { <Others cursor rules /> })}
        <LongTable label="Rules" sight count=Signal::derive(move || shown.with(Vec::len)) head=head.into_any()>
            <For each=in_sight key let:((at, place))><Line at place table /></For>
        </LongTable>
    }
}

/// Fetches the rules after those that are there, and says so meanwhile.
#[component]
fn Others(cursor: String, rules: RwSignal<Vec<RuleAnswer>>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let others = load(move || {
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
            let retry = Callback::new(move |()| others.again());
            view! { <ProblemPanel problem retry /> }.into_any()
        }
        (None, None) => {
            let there = rules.with_untracked(Vec::len);
            let said = format!("These are the first {there}; the others are on their way.");
            view! { <p class="note" role="status">{said}</p> }.into_any()
        }
    }
}

#[component]
fn Filter(wanted: Bind<Wanted>, table: Table) -> impl IntoView {
    let typed = Bind {
        value: Signal::derive(move || wanted.value.get().typed),
        set: Callback::new(move |typed| {
            wanted.set.run(Wanted { typed, ..wanted.value.get_untracked() });
        }),
    };
    let mode = Bind {
        value: Signal::derive(move || wanted.value.get().mode),
        set: Callback::new(move |mode| {
            wanted.set.run(Wanted { mode, ..wanted.value.get_untracked() });
        }),
    };
    let modes = std::iter::once((None, "Any mode".to_owned()))
        .chain(Mode::ALL.iter().map(|it| (Some(*it), words::mode(*it).to_owned())))
        .collect();
    let count = move || {
        let (some, all) = (table.shown.with(Vec::len), table.rules.with(Vec::len));
        let all_counted = counted(all, "rule", "rules");
        if some == all { all_counted } else { format!("{some} of {all_counted}") }
    };
    view! {
        <div class="filter" role="search">
            <TextField label="Filter" kind="search" value=typed />
            <Choice label="Mode" value=mode options=modes />
            <p class="quiet" role="status">{count}</p>
        </div>
    }
}

/// The head of a column that can be sorted by.
#[component]
fn Sorted(label: &'static str, order: Order, wanted: Bind<Wanted>) -> impl IntoView {
    let direction = move || {
        let wanted = wanted.value.get();
        (wanted.order == order).then_some(if wanted.descending {
            "descending"
        } else {
            "ascending"
        })
    };
    let sort = move |_| {
        let before = wanted.value.get_untracked();
        let descending = before.order == order && !before.descending;
        wanted.set.run(Wanted { order, descending, ..before });
    };
    view! {
        <th scope="col" aria-sort=direction>
            <button type="button" class="sort" on:click=sort>{label}<span aria-hidden="true"></span></button>
        </th>
    }
}

/// Ticks all that are shown, or none.
#[component]
fn TickAll(table: Table) -> impl IntoView {
    let all = move || {
        table.shown.with(|shown| {
            table.ticked.with(|ticked| !shown.is_empty() && shown.len() == ticked.len())
        })
    };
    let tick = move |event| {
        let ids = || {
            let shown = table.shown.get_untracked();
            table
                .rules
                .with_untracked(|rules| shown.iter().map(|at| rules[*at].id.clone()).collect())
        };
        table.ticked.set(if event_target_checked(&event) { ids() } else { BTreeSet::new() });
    };
    view! { <input type="checkbox" aria-label="Select all rules shown" prop:checked=all on:change=tick /> }
}
