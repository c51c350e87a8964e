//! A replay of the last hour in short, and the customers near a new limit: before a rule or a plan is published.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use weir_wire::rules::RuleBody;
use weir_wire::simulate::{SimulateAnswer, SimulateBody, SimulatedPlan, SimulatedSubject, Source};
use weir_wire::subjects::{NearLimit, NearLimitAnswer};

use crate::api::Api;
use crate::components::remote_data::{RemoteData, RemoteState, fetch_data};
use crate::model::number::{grouped, quantity};
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
            {affected(&answer.subjects.data)}
        }
        .into_any(),
    }
}

/// The customers that have used most of the limits that a plan would give them.
pub fn near_limit_view(near: RemoteData<NearLimitAnswer>) -> AnyView {
    match near.state() {
        RemoteState::Loading => view! { <p class="muted" role="status">"Reading the counters…"</p> }.into_any(),
        RemoteState::Failed(problem) => {
            view! { <p class="muted" role="status">"Customers near the new limits are unknown. "{labels::capital(&problem.detail)}"."</p> }.into_any()
        }
        RemoteState::Ready(answer) if answer.inspected == 0 => {
            view! { <p class="muted" role="status">"No customer of this plan was counted by this rule in the last hour."</p> }.into_any()
        }
        RemoteState::Ready(answer) => {
            let many = answer.data.len();
            let of = quantity(
                usize::try_from(answer.inspected).unwrap_or(usize::MAX),
                "subject of this plan",
                "subjects of this plan",
            );
            let text = format!("{} of {of} in the last hour have used 80% or more of the new limits.", grouped(u64::try_from(many).unwrap_or(u64::MAX)));
            let all = (!answer.complete).then_some(" Only the busiest were read.");
            let used = |near: &NearLimit| {
                let left = near.limit.remaining.unwrap_or(near.limit.limit);
                let used = near.limit.limit.saturating_sub(left);
                (subject::label(&near.subject), format!("{} of {}", grouped(used), grouped(near.limit.limit)))
            };
            view! {
                <p class="replay-headline" role="status">{text}</p>
                <p class="note">"Used units stay used. A limit smaller than what is used denies until it renews."{all}</p>
                {first_rows("Near the new limits", "Used", answer.data.iter().map(used))}
            }
            .into_any()
        }
    }
}

/// The subjects with the greatest changes.
fn affected(subjects: &[SimulatedSubject]) -> Option<AnyView> {
    let row = |found: &SimulatedSubject| {
        let change = format!("{} → {}", grouped(found.denied_before), grouped(found.denied_after));
        (subject::label(&found.subject), change)
    };
    first_rows("Affected subjects", "Denied, now → then", subjects.iter().map(row))
}

/// A table of the first subjects, each with a value. `None` if there are none.
fn first_rows(
    label: &'static str,
    value: &'static str,
    subjects: impl Iterator<Item = (String, String)>,
) -> Option<AnyView> {
    let row = |(subject, value): (String, String)| {
        view! { <tr><th scope="row"><bdi>{subject}</bdi></th><td class="number">{value}</td></tr> }
    };
    let rows: Vec<_> = subjects.take(SUBJECTS).map(row).collect();
    (!rows.is_empty()).then(|| {
        view! {
            <div class="table-wrap" tabindex="0" role="region" aria-label=label>
                <table>
                    <thead><tr><th scope="col">"Subject"</th><th scope="col" class="number">{value}</th></tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any()
    })
}
