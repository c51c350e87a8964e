//! The alerts that fired in the last hour, which the navigation counts on every page.

use std::time::Duration;

use leptos::prelude::*;
use weir_wire::stats::Events;

use super::tenant::TenantId;
use crate::api::{Api, StatsScope};
use crate::browser;
use crate::components::remote_data::fetch_after;
use crate::components::timer::repeat;
use crate::model::alert_labels::{RECENT_MS, recently_fired};

/// The number of alerts that fired in the last hour.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fired(pub(super) Memo<usize>);

/// Provides [`Fired`], which is read every minute once `ready` holds.
pub(super) fn provide_fired(api: Api, tenant: TenantId, ready: Signal<bool>) {
    let events = fetch_after(ready, move || api.events(&StatsScope::last(tenant.get(), RECENT_MS)));
    repeat(|| Some(Duration::from_mins(1)), move || events.poll());
    let count = |found: Events| recently_fired(&found.data, browser::now_ms()).len();
    provide_context(Fired(events.latest(count)));
}
