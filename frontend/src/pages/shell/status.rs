//! The status strip: how many gates serve the current rules, and whether they reach Redis; unknown while no server answers.

use std::time::Duration;

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::replicas::Replicas;

use super::tenant::TenantId;
use crate::api::{Api, Connection};
use crate::components::region::KnownRegions;
use crate::components::remote_data::fetch_data;
use crate::components::timer::repeat;
use crate::model::health::without_redis;

/// A link to the page of the gates, with their state.
#[component]
pub(super) fn StatusStrip() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = fetch_data(move || api.replicas(&tenant.get()));
    let regions = expect_context::<KnownRegions>();
    Effect::new(move |_| {
        if let Some(found) = replicas.data() {
            regions.set(found.regions);
        }
    });
    // A change is live within a moment, so a strip that is behind would soon be wrong.
    let behind = move || {
        let gates = replicas.data();
        gates.is_some_and(|gates| live(&gates) < gates.data.len())
    };
    repeat(move || Some(if behind() { REFRESH_BEHIND } else { REFRESH }), move || replicas.poll());
    let connection = expect_context::<Connection>();
    // A failed refetch leaves the last state, unless no server answers.
    let latest = Memo::new(move |last: Option<&Option<Replicas>>| match connection.problem() {
        Some(_) => None,
        None => replicas.data().or_else(|| last.cloned().flatten()),
    });
    let state = move || latest.with(|replicas| replicas.as_ref().map_or(State::Unknown, State::of));
    let text = move || match latest.with(|replicas| replicas.as_ref().map(text)) {
        Some(text) => text,
        None if connection.problem().is_some() => "Gates: unknown".to_owned(),
        None => "…".to_owned(),
    };
    view! {
        <A href=move || tenant.page("gates") attr:class="status-strip" attr:data-state=move || state().as_str()>
            <span class="dot" aria-hidden="true"></span>
            <span>{text}</span>
        </A>
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unknown,
    Current,
    Behind,
    Away,
}

impl State {
    fn of(replicas: &Replicas) -> Self {
        match live(replicas) {
            _ if replicas.data.is_empty() || without_redis(&replicas.data) > 0 => Self::Away,
            live if live < replicas.data.len() => Self::Behind,
            _ => Self::Current,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Current => "current",
            Self::Behind => "behind",
            Self::Away => "away",
        }
    }
}

fn live(replicas: &Replicas) -> usize {
    replicas.data.iter().filter(|gate| gate.rulebook_version >= replicas.tenant_version).count()
}

fn text(replicas: &Replicas) -> String {
    match (replicas.data.len(), without_redis(&replicas.data)) {
        (0, _) => "No gates are running".to_owned(),
        (gates, away @ 1..) => format!("No Redis at {away}/{gates} gates"),
        (gates, 0) => format!("Rules live on {}/{gates} gates", live(replicas)),
    }
}

const REFRESH: Duration = Duration::from_secs(5);
const REFRESH_BEHIND: Duration = Duration::from_secs(1);
