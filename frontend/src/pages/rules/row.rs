//! A row of the rule list.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::rules::RuleBody;
use weir_wire::stats::RuleSeries;
use weir_wire::words::Action;

use super::table::Table;
use crate::charts::spark::{HEIGHT, WIDTH, spark};
use crate::components::badge::ModeBadge;
use crate::components::time::RelativeTime;
use crate::model::labels;
use crate::model::number::{grouped, share};
use crate::pages::shell::TenantId;

/// The row at index `at` of the list, for the rule at index `place` of all rules.
#[component]
pub(super) fn RuleRow(at: usize, place: usize, table: Table) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let rule = table.rules.with_untracked(|rules| rules[place].clone());
    let (id, body) = (StoredValue::new(rule.id), rule.rule);
    let selected =
        move || table.selected.with(|selected| id.with_value(|id| selected.contains(id)));
    let tick = move |event| {
        let on = event_target_checked(&event);
        table.selected.update(|selected| {
            if on {
                selected.insert(id.get_value())
            } else {
                selected.remove(&id.get_value())
            };
        });
    };
    let matches = labels::capital(&labels::matches(&body.conditions));
    let limits = limits(&body);
    let (matches_whole, limits_whole) = (matches.clone(), limits.clone());
    let (name, namespace) = (body.name.clone(), body.namespace.clone());
    let hour = move || table.hour.with(|hour| id.with_value(|id| hour.get(id).map(last_hour)));
    view! {
        <tr aria-rowindex=at + 2>
            <td class="checkbox-cell">
                <input type="checkbox" aria-label=format!("Select {}", body.name) prop:checked=selected on:change=tick />
            </td>
            <td>
                <div class="one-line" title=name>
                    <A href=move || tenant.page(&format!("rules/{}", id.get_value())) attr:class="name">{body.name.clone()}</A>
                </div>
                <div class="muted one-line" title=namespace>{body.namespace.clone()}</div>
            </td>
            <td class="text-cell"><div class="two-lines" title=matches_whole>
                {matches}<span class="muted">", "{labels::counted_by(&body.count_by)}</span>
            </div></td>
            <td class="text-cell"><div class="two-lines" title=limits_whole>{limits}</div></td>
            <td>{hour}</td>
            <td><ModeBadge mode=body.mode /></td>
            <td><RelativeTime at=rule.updated_at /></td>
        </tr>
    }
}

/// The share of denials in the last hour, with a sparkline.
fn last_hour(series: &RuleSeries) -> impl IntoView + use<> {
    let (enforced, shadow) =
        (series.denied.iter().sum::<u64>(), series.shadow_denied.iter().sum::<u64>());
    let both = |pair: (&u64, &u64)| pair.0 + pair.1;
    let denied: Vec<u64> = series.denied.iter().zip(&series.shadow_denied).map(both).collect();
    let all: Vec<u64> = series.allowed.iter().zip(&denied).map(both).collect();
    let (checks, most) = (all.iter().sum(), all.iter().copied().max().unwrap_or(0));
    let denied_checks = format!("{} of {} checks denied", grouped(enforced), grouped(checks));
    let summary = if shadow > 0 {
        format!("{denied_checks}, {} would be denied", grouped(shadow))
    } else {
        denied_checks
    };
    let would = (shadow > 0).then(|| view! { <div class="note">"would deny"</div> });
    view! {
        <div class="spark" title=summary>
            <span>{share(enforced + shadow, checks)}</span>
            <svg viewBox=format!("0 0 {WIDTH} {HEIGHT}") aria-hidden="true">
                <path class="checks" d=spark(&all, most) />
                <path class="denied" d=spark(&denied, most) />
            </svg>
        </div>
        {would}
    }
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
