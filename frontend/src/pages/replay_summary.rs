//! A replay of the last hour in short: before a rule or a plan is published.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_wire::rules::RuleBody;
use weir_wire::simulate::{SimulateAnswer, SimulateBody, SimulatedPlan, SimulatedSubject, Source};

use crate::api::Api;
use crate::components::remote_data::{RemoteData, RemoteState, fetch_data};
use crate::model::number::grouped;
use crate::model::replay_difference::headline;
use crate::model::{labels, subject, what_if};
use crate::pages::shell::TenantId;

/// The most affected subjects listed.
const SUBJECTS: usize = 8;

/// The request for a replay of the last hour.
pub const fn last_hour(
    rule: RuleBody,
    rule_id: Option<String>,
    plan: Option<SimulatedPlan>,
) -> SimulateBody {
    SimulateBody {
        rule,
        rule_id,
        source: Source::Recorded,
        from: None,
        to: None,
        trace: None,
        plan,
        assignments: Vec::new(),
    }
}

/// The answer; `None` if the namespace has no recorded checks.
pub fn fetch_replay(
    api: Api,
    tenant: TenantId,
    body: SimulateBody,
) -> RemoteData<Option<SimulateAnswer>> {
    fetch_data(move || {
        let (tenant, body) = (tenant.get(), body.clone());
        async move {
            let namespace = &body.rule.namespace;
            let recorded = api.recorded(&tenant).await?;
            if recorded.data.iter().all(|recorded| recorded.namespace != *namespace) {
                return Ok(None);
            }
            api.simulate(&tenant, &body).await.map(Some)
        }
        .boxed_local()
    })
}

/// The headline of a replay and the subjects with the greatest changes.
pub fn replay_view(replay: RemoteData<Option<SimulateAnswer>>) -> AnyView {
    match replay.state() {
        RemoteState::Loading => view! { <p class="muted" role="status">"Replaying…"</p> }.into_any(),
        RemoteState::Ready(None) => {
            view! { <p class="muted" role="status">"No checks have been recorded in this namespace yet."</p> }.into_any()
        }
        // The rule can be published all the same.
        RemoteState::Failed(problem) => {
            view! { <p class="muted" role="status">"No replay. "{labels::capital(&problem.detail)}"."</p> }.into_any()
        }
        RemoteState::Ready(Some(answer)) if answer.candidate.allowed + answer.candidate.denied == 0 => {
            view! { <p class="muted" role="status">"No recorded check of the last hour matches."</p> }.into_any()
        }
        RemoteState::Ready(Some(answer)) => view! {
            <p class="replay-headline" role="status">{headline(&answer)}</p>
            <p class="note">{what_if::certainty(&answer)}</p>
            {affected(answer.subjects.data)}
        }
        .into_any(),
    }
}

/// The subjects with the greatest changes.
fn affected(subjects: Vec<SimulatedSubject>) -> Option<AnyView> {
    if subjects.is_empty() {
        return None;
    }
    let row = |found: SimulatedSubject| {
        let change = format!("{} → {}", grouped(found.denied_before), grouped(found.denied_after));
        let label = subject::label(&found.subject);
        view! { <tr><th scope="row"><bdi>{label}</bdi></th><td class="number">{change}</td></tr> }
    };
    let rows: Vec<_> = subjects.into_iter().take(SUBJECTS).map(row).collect();
    Some(
        view! {
            <div class="table-wrap" tabindex="0" role="region" aria-label="Affected subjects">
                <table>
                    <thead><tr><th scope="col">"Subject"</th><th scope="col" class="number">"Denied, now → then"</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any(),
    )
}
