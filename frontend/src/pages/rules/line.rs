//! One rule of the list, in words.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::rules::RuleBody;
use weir_wire::stats::RuleSeries;
use weir_wire::words::Action;

use super::Table;
use crate::charts::spark::{HEIGHT, WIDTH, spark};
use crate::components::badge::ModeBadge;
use crate::components::time::When;
use crate::model::number::{grouped, share};
use crate::model::words;
use crate::pages::shell::TenantId;

/// The row at `at` of those shown, of the rule at `place` of all.
#[component]
pub(super) fn Line(at: usize, place: usize, table: Table) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let rule = table.rules.with_untracked(|rules| rules[place].clone());
    let (id, body) = (StoredValue::new(rule.id), rule.rule);
    let ticked = move || table.ticked.with(|ticked| id.with_value(|id| ticked.contains(id)));
    let tick = move |event| {
        let on = event_target_checked(&event);
        table.ticked.update(|ticked| {
            if on {
                ticked.insert(id.get_value())
            } else {
                ticked.remove(&id.get_value())
            };
        });
    };
    let matches = words::capital(&words::matches(&body.conditions));
    let limits = limits(&body);
    let (matches_whole, limits_whole) = (matches.clone(), limits.clone());
    let hour = move || table.hour.with(|hour| id.with_value(|id| hour.get(id).map(last_hour)));
    view! {
        <tr aria-rowindex=at + 2>
            <td class="tick-cell">
                <input type="checkbox" aria-label=format!("Select {}", body.name) prop:checked=ticked on:change=tick />
            </td>
            <td><div class="two-lines">
                <A href=move || tenant.page(&format!("rules/{}", id.get_value())) attr:class="name">{body.name}</A>
                <div class="quiet">{body.namespace}</div>
            </div></td>
            <td class="says"><div class="two-lines" title=matches_whole>
                {matches}<span class="quiet">", "{words::counted_by(&body.count_by)}</span>
            </div></td>
            <td class="says"><div class="two-lines" title=limits_whole>{limits}</div></td>
            <td>{hour}</td>
            <td><ModeBadge mode=body.mode /></td>
            <td><When at=rule.updated_at /></td>
        </tr>
    }
}

/// The share that was denied, and how it went.
fn last_hour(series: &RuleSeries) -> impl IntoView + use<> {
    let denied: u64 = series.denied.iter().sum();
    let checks = series.allowed.iter().sum::<u64>() + denied;
    let all: Vec<u64> = series.allowed.iter().zip(&series.denied).map(|(a, b)| a + b).collect();
    let most = all.iter().copied().max().unwrap_or(0);
    let told = format!("{} of {} checks", grouped(denied), grouped(checks));
    view! {
        <div class="spark" title=told>
            <span>{share(denied, checks)}</span>
            <svg viewBox=format!("0 0 {WIDTH} {HEIGHT}") aria-hidden="true">
                <path class="checks" d=spark(&all, most) />
                <path class="denied" d=spark(&series.denied, most) />
            </svg>
        </div>
    }
}

fn limits(body: &RuleBody) -> String {
    match body.action {
        Action::Limit => body.limits.iter().map(words::limit).collect::<Vec<_>>().join("; "),
        Action::Allow => "always passes".to_owned(),
        Action::Deny => "always refused".to_owned(),
    }
}
