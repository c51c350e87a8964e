//! The rollout of a rule's last change, polled until all gates serve it.

use std::time::Duration;

use leptos::prelude::*;
use weir_wire::replicas::Replicas;

use crate::api::Api;
use crate::components::remote_data::fetch_data;
use crate::components::timer::repeat;
use crate::model::rollout::Rollout;
use crate::pages::shell::TenantId;

/// The polling interval while a gate is behind.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Shows "Live on 2 of 2 gates after 38 ms".
#[component]
pub(super) fn RolloutStatus(
    /// The rulebook version in which the change takes effect.
    version: u64,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = fetch_data(move || {
        let tenant = tenant.get();
        async move { api.replicas(&tenant).await }
    });
    let rollout = move || {
        let Replicas { data, .. } = replicas.data()?;
        Some(Rollout::of(version, &data))
    };
    let behind = move || rollout().is_some_and(|rollout| !rollout.is_complete());
    repeat(move || behind().then_some(POLL_INTERVAL), move || replicas.refetch());
    let status = move || rollout().map_or_else(|| "…".to_owned(), |rollout| rollout.to_string());
    view! { <dt>"Rollout"</dt><dd><span role="status">{status}</span></dd> }
}
