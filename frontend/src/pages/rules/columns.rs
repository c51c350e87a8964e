//! The columns of the rule list.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::rules::{RuleAnswer, RuleBody};
use weir_wire::stats::RuleSeries;
use weir_wire::tenants::Role;
use weir_wire::words::{Action, Mode};

use super::duplicate::duplicate;
use super::state::{RuleState, checks, denied};
use crate::access::Access;
use crate::charts::spark::{HEIGHT, WIDTH, spark};
use crate::components::badge::ModeBadge;
use crate::components::data_table::Column;
use crate::components::icon::Icon;
use crate::components::menu::{Menu, MenuItem, MenuLink};
use crate::components::mini_picture::MiniPicture;
use crate::components::owner::files_mark;
use crate::components::time::RelativeTime;
use crate::model::labels;
use crate::model::number::{grouped, quantity, share};
use crate::pages::shell::TenantId;

/// The most overrides of a rule that the server counts.
const COUNTED_OVERRIDES_MAX: u64 = 1_000;

pub(super) fn columns(state: RuleState) -> Vec<Column<RuleAnswer>> {
    let hour = state.hour;
    let decided = move |rule: &RuleAnswer, read: fn(&RuleSeries) -> String| {
        hour.with(|hour| hour.get(&rule.id).map(read).unwrap_or_default())
    };
    let share_denied = move |rule: &RuleAnswer| {
        let millionths = |series: &RuleSeries| denied(series) * 1_000_000 / checks(series).max(1);
        number(hour.with(|hour| hour.get(&rule.id).map_or(0, millionths)))
    };
    vec![
        Column::new("name", "Rule", |rule: &RuleAnswer| rule.rule.name.clone())
            .by_text(|rule| format!("{}\n{}", rule.rule.namespace, rule.rule.name))
            .cell(name_cell),
        Column::new("matches", "Matches", |rule: &RuleAnswer| {
            let body = &rule.rule;
            let requests = labels::capital(&labels::matches(&body.conditions));
            format!("{requests}, {}", labels::counted_by(&body.count_by))
        })
        .cell(matches_cell)
        .class("text-cell"),
        Column::new("limits", "Limits", |rule: &RuleAnswer| limits(&rule.rule))
            .cell(limits_cell)
            .class("text-cell"),
        Column::new("mode", "Mode", |rule: &RuleAnswer| rule.rule.mode.title().to_owned())
            .by_text(|rule| (rule.rule.mode as u8).to_string())
            .cell(move |rule| view! { <ModeMenu rule=rule.clone() state /> }.into_any()),
        Column::new("checks", "Checks, last hour", move |rule: &RuleAnswer| {
            decided(rule, |series| checks(series).to_string())
        })
        .by_number(move |rule| number(hour.with(|hour| hour.get(&rule.id).map_or(0, checks))))
        .cell(move |rule| {
            let id = rule.id.clone();
            let cell = move || hour.with(|hour| hour.get(&id).map_or(0, checks));
            view! { <span>{move || grouped(cell())}</span> }.into_any()
        })
        .live()
        .class("number"),
        Column::new("denied", "Denied, last hour", move |rule: &RuleAnswer| {
            decided(rule, |series| share(denied(series), checks(series)))
        })
        .by_number(share_denied)
        .cell(move |rule| {
            let id = rule.id.clone();
            let cell = move || hour.with(|hour| hour.get(&id).map(denied_cell));
            view! { <div>{cell}</div> }.into_any()
        })
        .live(),
        Column::new("overrides", "Overrides", |rule: &RuleAnswer| {
            rule.overrides.unwrap_or_default().to_string()
        })
        .by_number(|rule| number(rule.overrides.unwrap_or_default()))
        .cell(overrides_cell)
        .class("number"),
        Column::new("changed", "Changed", |rule: &RuleAnswer| {
            let by = rule.changed_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            rule.updated_at.text() + &by
        })
        .by_number(|rule| rule.updated_at.0.as_millis())
        .cell(changed_cell)
        .class("short-cell"),
        Column::actions(move |rule: &RuleAnswer| {
            view! { <RuleMenu rule=rule.clone() state /> }.into_any()
        }),
    ]
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn name_cell(rule: &RuleAnswer) -> AnyView {
    let tenant = expect_context::<TenantId>();
    let (id, name) = (rule.id.clone(), rule.rule.name.clone());
    let title = name.clone();
    let below = match rule.rule.description.as_str() {
        "" => rule.rule.namespace.clone(),
        text => format!("{} · {text}", rule.rule.namespace),
    };
    view! {
        <div class="pictured">
            <MiniPicture rule=rule.rule.clone() />
            <div>
                <div class="one-line" title=title>
                    <A href=move || tenant.page(&format!("rules/{id}")) attr:class="name">{name}</A>
                </div>
                <div class="muted one-line" title=below.clone()>{below.clone()}</div>
            </div>
        </div>
    }
    .into_any()
}

fn matches_cell(rule: &RuleAnswer) -> AnyView {
    let matches = labels::matches_in_short(&rule.rule.conditions);
    let counted_by = labels::counted_by(&rule.rule.count_by);
    let title = format!("{matches}, {counted_by}");
    view! {
        <div class="two-lines" title=title>{matches}<span class="muted">", "{counted_by}</span></div>
    }
    .into_any()
}

/// The number of overrides, with a link to them.
fn overrides_cell(rule: &RuleAnswer) -> AnyView {
    let (tenant, page) = (expect_context::<TenantId>(), format!("overrides?rule={}", rule.id));
    let count = rule.overrides.unwrap_or_default();
    if count == 0 {
        return view! { <span class="muted">"–"</span> }.into_any();
    }
    let more = if count >= COUNTED_OVERRIDES_MAX { "+" } else { "" };
    let label = format!("{} of {}", quantity_of(count), rule.rule.name);
    view! { <A href=move || tenant.page(&page) attr:aria-label=label>{grouped(count)}{more}</A> }
        .into_any()
}

fn quantity_of(overrides: u64) -> String {
    quantity(usize::try_from(overrides).unwrap_or(usize::MAX), "override", "overrides")
}

/// The time of the last change, its author as a tooltip, and whether the files of a set have another rule.
fn changed_cell(rule: &RuleAnswer) -> AnyView {
    let by = rule.changed_by.as_ref().map(|by| {
        let label = format!("by {by}");
        view! { <span class="initial" title=label.clone() aria-label=label.clone() role="img">{initial(by)}</span> }
    });
    let files = files_mark(rule.managed_by.as_ref(), rule.edited);
    view! { <div class="changed"><RelativeTime at=rule.updated_at />" "{by}</div>{files} }
        .into_any()
}

fn initial(name: &str) -> String {
    name.chars().take(1).flat_map(char::to_uppercase).collect()
}

/// A chip for each limit.
fn limits_cell(rule: &RuleAnswer) -> AnyView {
    let body = &rule.rule;
    if body.limits.is_empty() || body.action != Action::Limit {
        return limits(body).into_any();
    }
    let chip = |limit| view! { <span class="badge">{labels::limit_in_short(limit)}</span> };
    let chips = body.limits.iter().map(chip);
    view! { <div class="chips two-lines" title=limits(body)>{chips.collect::<Vec<_>>()}</div> }
        .into_any()
}

/// The share of denials, with a sparkline.
fn denied_cell(series: &RuleSeries) -> AnyView {
    let both = |pair: (&u64, &u64)| pair.0 + pair.1;
    let passed: Vec<u64> = series.allowed.iter().zip(&series.shadow_denied).map(both).collect();
    let all: Vec<u64> = passed.iter().zip(&series.denied).map(both).collect();
    let most = all.iter().copied().max().unwrap_or(0);
    let shadow: u64 = series.shadow_denied.iter().sum();
    let enforced = denied(series);
    let summary = format!("{} of {} checks denied", grouped(enforced), grouped(checks(series)));
    let summary = if shadow > 0 {
        format!("{summary}, {} would be denied", grouped(shadow))
    } else {
        summary
    };
    let would = (shadow > 0).then(|| {
        view! { <div class="note">"would deny "{share(shadow, checks(series))}</div> }
    });
    view! {
        <div class="spark" title=summary>
            <span>{share(enforced, checks(series))}</span>
            <svg viewBox=format!("0 0 {WIDTH} {HEIGHT}") aria-hidden="true">
                <path class="checks" d=spark(&all, most) />
                <path class="denied" d=spark(&series.denied, most) />
                <path class="would-deny" d=spark(&series.shadow_denied, most) />
            </svg>
        </div>
        {would}
    }
    .into_any()
}

fn limits(body: &RuleBody) -> String {
    match body.action {
        Action::Limit => {
            labels::capital(&body.limits.iter().map(labels::limit).collect::<Vec<_>>().join("; "))
        }
        Action::Allow => "Allow".to_owned(),
        Action::Deny => "Deny".to_owned(),
    }
}

/// The mode, and for editors a menu that changes it.
#[component]
fn ModeMenu(rule: RuleAnswer, state: RuleState) -> impl IntoView {
    let access = expect_context::<Access>();
    let mode = rule.rule.mode;
    let rule = StoredValue::new(rule);
    let label = rule.with_value(|rule| format!("Mode of {}: {}", rule.rule.name, mode.title()));
    let may_change = Memo::new(move |_| access.missing_role(Role::Editor).is_none());
    let menu = move || {
        let trigger = view! { <ModeBadge mode /><Icon name="chevron-down" /> };
        view! {
            <Menu label=label.clone() class="mode-menu" trigger=trigger.into_any()>
                {Mode::ALL.iter().copied().filter(|one| *one != mode).map(|one| view! {
                    <MenuItem icon=mode_icon(one) text=format!("Set to {}", one.title()) on_press=move |()| state.ask_mode(vec![rule.get_value()], one) />
                }).collect::<Vec<_>>()}
            </Menu>
        }
        .into_any()
    };
    move || if may_change.get() { menu() } else { view! { <ModeBadge mode /> }.into_any() }
}

/// The mode, and for editors the other modes beside it.
#[component]
pub fn ModeSwitch(rule: RuleAnswer, state: RuleState) -> impl IntoView {
    let access = expect_context::<Access>();
    let mode = rule.rule.mode;
    let label = format!("Mode of {}", rule.rule.name);
    let rule = StoredValue::new(rule);
    let button = move |one: Mode| {
        let press = move |_| {
            if one != mode {
                state.ask_mode(vec![rule.get_value()], one);
            }
        };
        view! { <button type="button" aria-pressed=(one == mode).to_string() class=format!("badge-{}", one.as_str()) on:click=press>{one.title()}</button> }
    };
    move || {
        if access.missing_role(Role::Editor).is_some() {
            return view! { <ModeBadge mode /> }.into_any();
        }
        let buttons: Vec<_> = Mode::ALL.iter().rev().copied().map(button).collect();
        view! { <div class="segmented" role="group" aria-label=label.clone()>{buttons}</div> }
            .into_any()
    }
}

pub(super) const fn mode_icon(mode: Mode) -> &'static str {
    match mode {
        Mode::Enforce => "shield-half",
        Mode::Report => "bell",
        Mode::Shadow => "eye",
        Mode::Off => "pause",
    }
}

/// The other actions of a rule.
#[component]
fn RuleMenu(rule: RuleAnswer, state: RuleState) -> impl IntoView {
    let (tenant, access) = (expect_context::<TenantId>(), expect_context::<Access>());
    let label = format!("Actions of {}", rule.rule.name);
    let rule = StoredValue::new(rule);
    let page =
        move |page: fn(&str) -> String| tenant.page_now(&rule.with_value(|rule| page(&rule.id)));
    let can_edit = Memo::new(move |_| access.missing_role(Role::Editor).is_none());
    let duplicate = duplicate(state);
    let trigger = view! { <Icon name="ellipsis" /> };
    view! {
        <Menu label trigger=trigger.into_any()>
            {can_edit.get().then(|| view! { <MenuLink icon="pencil" text="Edit" href=page(|id| format!("rules/{id}/edit")) /> })}
            <MenuLink icon="history" text="Replay" href=page(|id| format!("what-if?rule={id}")) />
            <MenuLink icon="split" text="Overrides" href=page(|id| format!("overrides?rule={id}")) />
            {can_edit.get().then(|| view! {
                <MenuItem icon="layers" text="Duplicate" on_press=move |()| duplicate.run(vec![rule.get_value()]) />
                <MenuItem icon="trash-2" text="Delete" danger=true on_press=move |()| state.ask_delete(vec![rule.get_value()]) />
            })}
        </Menu>
    }
}
