//! The first decision, as it is made: the rule is looked at every second, which counts nothing.

use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::check::CheckBody;
use weir_wire::tester::TestedRule;

use crate::api::Api;
use crate::components::badge::PassBadge;
use crate::components::verdict::again;
use crate::model::number::grouped;
use crate::model::words;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Watch(rule_id: String, check: CheckBody) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let seen = RwSignal::new(None::<TestedRule>);
    let arrived = RwSignal::new(false);
    let look = move || {
        let (rule_id, check) = (rule_id.clone(), check.clone());
        spawn_local(async move {
            let Ok(answer) = api.test(&tenant.now(), &check).await else { return };
            let rule = answer.rules.into_iter().find(|rule| rule.rule_id == rule_id);
            if rule.as_ref().is_some_and(used) {
                arrived.try_set(true);
            }
            seen.try_set(rule);
        });
    };
    if let Ok(timer) = set_interval_with_handle(look, EVERY) {
        on_cleanup(move || timer.clear());
    }
    let shown = move || match seen.get() {
        Some(rule) if arrived.get() => state(&rule).into_any(),
        _ => view! { <p class="waiting">"Waiting for the first check…"</p> }.into_any(),
    };
    view! {
        <section class="panel" aria-label="The first decision">
            <h2>"4. The first decision"</h2>
            <div class="stack" aria-live="polite">{shown}</div>
        </section>
    }
}

/// Whether something was taken from it.
fn used(rule: &TestedRule) -> bool {
    rule.limits.iter().any(|it| it.remaining.is_some_and(|remaining| remaining < it.limit))
}

fn state(rule: &TestedRule) -> impl IntoView + use<> {
    let subject = rule.subject.as_ref().map(words::subject).unwrap_or_default();
    let left: Vec<_> = rule
        .limits
        .iter()
        .filter_map(|it| Some((it.remaining?, it.limit)))
        .map(|(left, limit)| format!("{} of {} left", grouped(left), grouped(limit)))
        .collect();
    let wait = rule.limits.iter().filter(|it| !it.allowed).map(|it| it.retry_after_ms).max();
    let (told, next) = match wait {
        Some(wait_ms) => (
            "It works: the limit is used up. ",
            format!("The next check of {subject} is denied; it could pass {}.", again(wait_ms)),
        ),
        None => (
            "It works: the first check has arrived. ",
            format!("{} for {subject}.", left.join(", ")),
        ),
    };
    view! {
        <p class="sentence">
            <PassBadge passes=wait.is_none() yes="Allowed" no="Denied" />" "{told}{next}
        </p>
    }
}

const EVERY: Duration = Duration::from_secs(1);
