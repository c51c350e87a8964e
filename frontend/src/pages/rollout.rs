//! The rollout of a change to the gates.

use std::time::Duration;

use leptos::prelude::*;

use crate::api::Api;
use crate::browser;
use crate::components::remote_data::fetch_data;
use crate::components::timer::repeat;
use crate::model::rollout::Rollout;
use crate::pages::shell::TenantId;

/// The polling interval while a gate is behind.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The most polls before a confirmation is shown without the rollout's end.
const POLLS: u32 = 12;

/// Waits until all gates serve a version, or a few seconds; the state as text: `live on 2 of 2 gates after 38 ms`.
pub async fn settled(api: Api, tenant: &str, version: u64) -> String {
    let mut text = "rollout unknown".to_owned();
    for _ in 0..POLLS {
        if let Ok(found) = api.replicas(tenant).await {
            let rollout = Rollout::of(version, &found.data);
            text = rollout.to_string();
            if rollout.is_complete() {
                break;
            }
        }
        browser::wait_ms(i32::try_from(POLL_INTERVAL.as_millis()).unwrap_or(0)).await;
    }
    text
}

/// The rollout of the rulebook version in which a change takes effect, as text: "live on 2 of 2 gates after 38 ms". Polled until
/// all gates serve the version.
pub fn rollout_text(version: u64) -> impl Fn() -> String + Copy + Send + Sync {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = fetch_data(move || api.replicas(&tenant.get()));
    let rollout = move || Some(Rollout::of(version, &replicas.data()?.data));
    let behind = move || rollout().is_some_and(|rollout| !rollout.is_complete());
    repeat(move || behind().then_some(POLL_INTERVAL), move || replicas.poll());
    move || rollout().map_or_else(|| "…".to_owned(), |rollout| rollout.to_string())
}

#[component]
pub fn RolloutStatus(
    /// The rulebook version in which the change takes effect.
    version: u64,
) -> impl IntoView {
    let status = rollout_text(version);
    view! { <dt>"Rollout"</dt><dd><span role="status">{status}</span></dd> }
}
