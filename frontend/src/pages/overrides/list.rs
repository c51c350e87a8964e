//! The overrides that were searched for, a page at a time.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::page::Page;
use weir_wire::tenants::Role;
use weir_wire::time::DateTime;

use super::export::Export;
use super::{Open, Wanted};
use crate::api::{Api, Problem};
use crate::browser;
use crate::components::act::Act;
use crate::components::dialog::ConfirmByName;
use crate::components::feedback::{ActProblem, Empty};
use crate::components::field::TextField;
use crate::components::load::{kept, load};
use crate::components::long_table::{LongTable, Sight};
use crate::components::needs::Needs;
use crate::components::rule_picker::{RulePicker, Rules};
use crate::components::time::When;
use crate::model::rule_choice::by_id;
use crate::model::{override_words, subject};
use crate::pages::shell::TenantId;
use crate::pages::some_rules::meet;

/// The list with its search; `turn` rises when something was written.
#[component]
pub(super) fn List(
    wanted: Wanted,
    rules: Rules,
    turn: RwSignal<u32>,
    open: RwSignal<Open>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let first = load(move || {
        turn.track();
        let (tenant, typed, rule) = (tenant.get(), wanted.typed.get(), wanted.rule.get());
        async move { overrides(api, &tenant, rules, (&typed, &rule), None).await }
    });
    view! {
        <div class="filter" role="search">
            <TextField label="Search a subject" kind="search" value=wanted.typed />
            <div class="of-rules">
                <RulePicker label="Of the rule" rules value=wanted.rule.into() options=by_id others=vec![(String::new(), "Any rule".to_owned())] />
            </div>
            <Export rules />
        </div>
        {kept(first, move |page| view! { <Pages page wanted rules turn open /> })}
    }
}

/// A page of those with a text in their subject and of a rule, with what their rules are called.
async fn overrides(
    api: Api,
    tenant: &str,
    rules: Rules,
    (typed, rule): (&str, &str),
    cursor: Option<String>,
) -> Result<Page<OverrideAnswer>, Problem> {
    let page = api.overrides(tenant, typed, Some(rule), cursor.as_deref()).await?;
    meet(api, tenant, rules, page.data.iter().map(|it| &it.body.rule_id)).await?;
    Ok(page)
}

/// The first page, and those that were asked for after it.
#[component]
fn Pages(
    page: Signal<Page<OverrideAnswer>>,
    wanted: Wanted,
    rules: Rules,
    turn: RwSignal<u32>,
    open: RwSignal<Open>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let shown = RwSignal::new(Page { data: Vec::new(), next_cursor: None });
    Effect::new(move |_| shown.set(page.get()));
    let act = Act::new();
    let more = move |_| {
        let (typed, rule) = (wanted.typed.get_untracked(), wanted.rule.get_untracked());
        let cursor = shown.get_untracked().next_cursor;
        act.run(
            async move { overrides(api, &tenant.now(), rules, (&typed, &rule), cursor).await },
            move |mut next| {
                shown.update(|shown| {
                    shown.data.append(&mut next.data);
                    shown.next_cursor = next.next_cursor;
                });
            },
        );
    };
    let sight = Sight::new();
    let count = Signal::derive(move || shown.with(|shown| shown.data.len()));
    let in_sight = move || {
        shown.with(|shown| {
            let window = sight.window(shown.data.len());
            let rows = shown.data[window.from..window.to].iter().cloned().enumerate();
            rows.map(|(at, it)| (window.from + at, it)).collect::<Vec<_>>()
        })
    };
    let empty = move || shown.with(|shown| shown.data.is_empty());
    let title = move || {
        if wanted.typed.with(String::is_empty) && wanted.rule.with(String::is_empty) {
            "No overrides yet: the rules hold for everybody alike."
        } else {
            "No override has this in its subject."
        }
    };
    let has_more = move || shown.with(|shown| shown.next_cursor.is_some());
    view! {
        <Show when=move || !empty() fallback=move || view! {
            <Empty title=title()><p>"Give one subject a higher limit, a pass or a ban with New override, or many with Import CSV."</p></Empty>
        }>
            <LongTable label="Overrides" sight count head=head()>
                <For each=in_sight key=move |(_, it)| (it.id.clone(), it.revision) let:((at, it))>
                    <Line at it rules turn open act />
                </For>
            </LongTable>
        </Show>
        <ActProblem problem=act.problem />
        <Show when=has_more>
            <button type="button" class="button" disabled=act.busy on:click=more>"Show more"</button>
        </Show>
    }
}

fn head() -> AnyView {
    view! {
        <tr>
            <th scope="col">"Subject"</th><th scope="col">"Rule"</th><th scope="col">"Instead"</th>
            <th scope="col">"Until"</th><th scope="col">"Reason"</th>
            <th scope="col"><span class="hidden">"Actions"</span></th>
        </tr>
    }
    .into_any()
}

/// The row at `at` of those shown; `act` is that of the list, for its problem stands below the table.
#[component]
fn Line(
    at: usize,
    it: OverrideAnswer,
    rules: Rules,
    turn: RwSignal<u32>,
    open: RwSignal<Open>,
    act: Act,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let asking = RwSignal::new(false);
    let rule_name = rules
        .rule(&it.body.rule_id)
        .map_or_else(|| "a rule that is gone".to_owned(), |rule| rule.rule.name);
    let rule_id = it.body.rule_id.clone();
    let who = subject::words(&it.body.subject);
    let instead = override_words::instead(&it.body);
    let until = it.body.expires_at;
    let reason = it.body.reason.clone().unwrap_or_default();
    let before = StoredValue::new(it);
    let delete = Callback::new(move |()| {
        act.run(
            async move { api.delete_override(&tenant.now(), &before.get_value()).await },
            move |()| turn.update(|turn| *turn += 1),
        );
    });
    let edit = move |_| open.set(Open::Edit(Box::new(before.get_value())));
    let consequence =
        format!("The limits of {rule_name} hold for {who} again, on all gates at once.");
    let (edit_label, delete_label) =
        (format!("Edit the override of {who}"), format!("Delete the override of {who}"));
    view! {
        <tr aria-rowindex=at + 2>
            <td class="name"><div class="two-lines" title=who.clone()><bdi>{who.clone()}</bdi></div></td>
            <td><div class="two-lines"><A href=move || tenant.page(&format!("rules/{rule_id}"))>{rule_name}</A></div></td>
            <td><div class="two-lines" title=instead.clone()>{instead.clone()}</div></td>
            <td>{until.map_or_else(|| "it is removed".into_any(), ends)}</td>
            <td><div class="two-lines" title=reason.clone()><bdi>{reason.clone()}</bdi></div></td>
            <td class="number">
                <Needs role=Role::Editor told=true>
                    <button type="button" class="button quiet-button" aria-label=edit_label on:click=edit>"Edit"</button>
                    <button type="button" class="button quiet-button" aria-label=delete_label on:click=move |_| asking.set(true)>"Delete"</button>
                </Needs>
                <ConfirmByName title="Delete this override?" consequence name=who act="Delete override" open=asking on_confirm=delete />
            </td>
        </tr>
    }
}

fn ends(at: DateTime) -> AnyView {
    let over = at.0.as_millis() <= browser::now_ms();
    let badge = over.then(|| view! { <span class="badge badge-shadow">"Over"</span>" " });
    view! { {badge}<When at /> }.into_any()
}
