//! The latest changes, with the time after which each gate served them.

use leptos::prelude::*;
use weir_wire::replicas::{GateRollout, Replicas, Rollout, Rollouts};

use crate::charts::geometry::Scale;
use crate::charts::timeline::{WIDTH, percent};
use crate::components::control_flow::Show;
use crate::components::time::RelativeTime;
use crate::model::duration::about;

#[component]
pub(super) fn RolloutTimeline(
    rollouts: Signal<Rollouts>,
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
        data.into_iter().map(|rollout| row(rollout, scale, &name)).collect::<Vec<_>>()
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

fn row(rollout: Rollout, scale: Scale, name: &dyn Fn(&str) -> String) -> impl IntoView + use<> {
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
            <td>{changed}</td>
            <td class="number">{rollout.rulebook_version}</td>
            <td>{lanes}</td>
        </tr>
    }
}
