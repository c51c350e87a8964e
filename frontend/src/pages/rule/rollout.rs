//! Whether the last change of a rule is live: asked again until all gates say so.

use std::time::Duration;

use leptos::prelude::*;
use weir_wire::replicas::Replicas;

use crate::api::Api;
use crate::components::load::load;
use crate::components::timer::repeat;
use crate::model::rollout::Rollout;
use crate::pages::shell::TenantId;

/// Between two questions while a gate is behind.
const AGAIN: Duration = Duration::from_millis(250);

/// "Live on 2 of 2 gates after 38 ms".
#[component]
pub(super) fn RolloutLine(
    /// The rulebook version in which the change holds.
    version: u64,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = load(move || {
        let tenant = tenant.get();
        async move { api.replicas(&tenant).await }
    });
    let rollout = move || {
        let Replicas { data, .. } = replicas.data()?;
        Some(Rollout::of(version, &data))
    };
    let behind = move || rollout().is_some_and(|rollout| !rollout.is_complete());
    repeat(move || behind().then_some(AGAIN), move || replicas.again());
    let said = move || rollout().map_or_else(|| "…".to_owned(), |rollout| rollout.to_string());
    view! { <dt>"Rollout"</dt><dd><span role="status">{said}</span></dd> }
}
