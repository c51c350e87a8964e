//! The latest changes, with the time after which each gate served them.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::replicas::{GateRollout, Replicas, Rollout, Rollouts};
use weir_wire::stats::{Event, EventKind};

use crate::charts::geometry::Scale;
use crate::charts::timeline::{WIDTH, percent};
use crate::components::control_flow::Show;
use crate::components::time::RelativeTime;
use crate::model::duration::about;
use crate::model::marker::change_title;
use crate::model::rollout_times::events_of;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn RolloutTimeline(
    rollouts: Signal<Rollouts>,
    events: Signal<Vec<Event>>,
    replicas: Signal<Option<Replicas>>,
) -> impl IntoView {
    let none = Memo::new(move |_| rollouts.with(|rollouts| rollouts.data.is_empty()));
    let name = move |id: &str| {
        let of = |replicas: &Replicas| {
            let gate = replicas.data.iter().find(|gate| gate.id == id)?;
            gate.address.clone()
        };
        replicas.with(|replicas| replicas.as_ref().and_then(of)).unwrap_or_else(|| id.to_owned())
    };
    let rows = move || {
        let data = rollouts.get().data;
        let times = data.iter().flat_map(|rollout| &rollout.gates).filter_map(|gate| gate.after_ms);
        let scale = Scale { most: times.max().unwrap_or(0), start: 0, end: WIDTH };
        let changes = |at: usize| {
            events.with(|events| events_of(&data, at, events).into_iter().map(change).collect())
        };
        let changes: Vec<Vec<AnyView>> = (0..data.len()).map(changes).collect();
        let rows = data.into_iter().zip(changes);
        rows.map(|(rollout, changes)| row(rollout, changes, scale, &name)).collect::<Vec<_>>()
    };
    view! {
        <div class="card stack">
            <h2>"Rollouts"</h2>
            <p class="note">"A bar is the time from a change until the gate reported that it serves it."</p>
            <Show when=move || !none.get() fallback=|| view! { <p class="muted">"No changes since the gates started"</p> }>
                <div class="table-wrap" tabindex="0" role="region" aria-label="Rollouts">
                    <table class="rollouts">
                        <thead><tr>
                            <th scope="col">"Changed"</th><th scope="col" class="number">"Version"</th>
                            <th scope="col">"Live on each gate after"</th>
                        </tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            </Show>
        </div>
    }
}

/// The text of a change, with a link to it.
fn change(event: &Event) -> AnyView {
    let deleted = event.action.as_deref() == Some("rule.delete");
    let rule = event.rule_id.as_ref().filter(|_| !deleted);
    let page = match (event.kind, rule) {
        (EventKind::Enforcement, _) => Some("settings".to_owned()),
        (EventKind::OverrideChange, Some(id)) => Some(format!("overrides?rule={id}")),
        (_, id) => id.map(|id| format!("rules/{id}?tab=history")),
    };
    let title = change_title(event);
    let title = match page {
        Some(page) => {
            let href = expect_context::<TenantId>().page_now(&page);
            view! { <A href>{title}</A> }.into_any()
        }
        None => title.into_any(),
    };
    let summary = event.summary.clone().map(|summary| format!(": {summary}"));
    view! { <p class="note">{title}{summary}</p> }.into_any()
}

fn row(
    rollout: Rollout,
    mut changes: Vec<AnyView>,
    scale: Scale,
    name: &dyn Fn(&str) -> String,
) -> impl IntoView + use<> {
    let more = changes.len().saturating_sub(CHANGES_MAX);
    changes.truncate(CHANGES_MAX);
    let more = (more > 0).then(|| view! { <p class="note">{more}" more"</p> });
    let changed = match rollout.published_at {
        Some(at) => view! { <RelativeTime at /> }.into_any(),
        None => "unknown".into_any(),
    };
    let lane = |gate: GateRollout| {
        let name = name(&gate.gate_id);
        let width = percent(gate.after_ms.map_or(0, |after_ms| scale.place(after_ms)));
        let text = gate.after_ms.map_or_else(|| "not yet".to_owned(), about);
        view! {
            <li>
                <span class="lane-name" title=name.clone()>{name.clone()}</span>
                <span class="lane"><i class="bar" style=("width", width)></i></span>
                <span class="number">{text}</span>
            </li>
        }
    };
    let lanes = if rollout.gates.is_empty() {
        view! { <span class="muted">"Before the running gates started"</span> }.into_any()
    } else {
        let lanes: Vec<_> = rollout.gates.into_iter().map(lane).collect();
        view! { <ul class="lanes">{lanes}</ul> }.into_any()
    };
    view! {
        <tr>
            <td>{changed}{changes}{more}</td>
            <td class="number">{rollout.rulebook_version}</td>
            <td>{lanes}</td>
        </tr>
    }
}

/// The most changes of a rollout that its row names.
const CHANGES_MAX: usize = 3;
