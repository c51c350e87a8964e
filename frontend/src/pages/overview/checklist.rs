//! The first steps of a tenant, until all are done or the person hides them.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::tenants::Role;

use crate::access::Access;
use crate::api::{Api, Problem, StatsScope};
use crate::browser;
use crate::components::icon::Icon;
use crate::components::remote_data::fetch_after;
use crate::model::checklist::{Step, steps};
use crate::pages::shell::TenantId;

/// A line with the steps. It has its height before the steps are known, so that nothing moves when they are. The browser
/// remembers that a tenant needs it no longer.
#[component]
pub(super) fn Checklist(
    #[prop(into)] ready: Signal<bool>,
    /// Whether the page shows checks, which the steps must not contradict.
    checked: Memo<bool>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let access = expect_context::<Access>();
    let ended = format!("weir.first-steps.{}", tenant.now());
    let shown = RwSignal::new(browser::stored(&ended).is_none());
    let found = fetch_after(Signal::derive(move || ready.get() && shown.get()), move || {
        checked.track();
        first_steps(api, tenant.get()).boxed_local()
    });
    let ended = StoredValue::new(ended);
    let end = move || ended.with_value(|ended| browser::store(ended, "ended"));
    let hide = move |_| {
        end();
        shown.set(false);
    };
    Effect::new(move || {
        if found.data().is_some_and(|steps| steps.iter().all(|step| step.done)) {
            end();
            shown.set(false);
        }
    });
    let line = move || {
        let steps = found.data()?;
        let can_edit = access.has(Role::Editor);
        let items = steps.map(|step| item(tenant, step, can_edit));
        Some(view! {
            <h2>"First steps"</h2>
            <ol>{items}</ol>
            <button type="button" class="button plain-button icon-button" aria-label="Hide the first steps" on:click=hide>
                <Icon name="x" />
            </button>
        })
    };
    move || {
        shown
            .get()
            .then(|| view! { <section class="checklist" aria-label="First steps">{line}</section> })
    }
}

/// An open step leads to its page, for those who can do it.
fn item(tenant: TenantId, Step { text, page, done }: Step, can_edit: bool) -> impl IntoView {
    if done {
        view! { <li class="done"><Icon name="check" /><span class="hidden">"Done: "</span>{text}</li> }
            .into_any()
    } else if can_edit {
        view! { <li><A href=move || tenant.page(page)>{text}</A></li> }.into_any()
    } else {
        view! { <li>{text}</li> }.into_any()
    }
}

async fn first_steps(api: Api, tenant: String) -> Result<[Step; 4], Problem> {
    let about = StatsScope::last(tenant.clone(), LATELY_MS);
    let rules = api.some_rules(&tenant).await?.data;
    let checks = api.summary(&about).await?.counts.checks();
    let alerts = api.alerts(&tenant).await?.len();
    Ok(steps(&rules, checks, alerts))
}

/// The time in which a check counts as sent.
const LATELY_MS: i64 = 7 * 24 * 3_600_000;
