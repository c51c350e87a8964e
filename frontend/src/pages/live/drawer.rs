//! One denial: the attributes of its subject, the limits of its rule now, and what can be done.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::stats::DenialEntry;
use weir_wire::subjects::{InspectSubjectBody, SubjectOfRule};
use weir_wire::tenants::Role;
use weir_wire::words::Action;

use crate::api::Api;
use crate::browser;
use crate::components::dialog::Drawer;
use crate::components::feedback::Skeleton;
use crate::components::remote_data::{fetch_data, show_latest_shaped};
use crate::components::require_role::RequireRole;
use crate::components::verdict::retry_text;
use crate::model::number::grouped;
use crate::model::request_link::denial_link;
use crate::model::subject_action::TIMES_S;
use crate::model::{subject, why};
use crate::pages::shell::TenantId;
use crate::pages::subject_actions::{LetThrough, SubjectActions, SubjectQuestion};
use crate::pages::subjects::RuleCard;
use crate::pages::traffic::target;

/// The drawer of the chosen denial.
#[component]
pub(super) fn DenialDrawer(
    chosen: RwSignal<Option<DenialEntry>>,
    open: RwSignal<bool>,
) -> impl IntoView {
    let title = move || {
        chosen.with(|chosen| {
            chosen.as_ref().map_or_else(String::new, |denial| {
                let verb = if denial.shadow { "Would be denied" } else { "Denied" };
                format!("{verb} by {}", denial.rule)
            })
        })
    };
    view! {
        <Drawer title=Signal::derive(title) open>
            {move || chosen.get().map(|denial| view! { <Denial denial /> })}
        </Drawer>
    }
}

#[component]
fn Denial(denial: DenialEntry) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let (attributes, rule_id) = (denial.subject.clone(), denial.rule_id.clone());
    let found = fetch_data(move || {
        let (rule_id, tenant) = (rule_id.clone(), tenant.get());
        let attributes = attributes.clone();
        async move {
            if attributes.is_empty() {
                return Ok(None);
            }
            let body = InspectSubjectBody { attributes, namespace: None, history: false };
            let rules = api.inspect_subject(&tenant, &body).await?.data;
            Ok(rules.into_iter().find(|rule| rule.rule_id == rule_id))
        }
        .boxed_local()
    });
    let actions = SubjectActions::new(Callback::new(move |()| found.refetch()));
    let targets = StoredValue::new(vec![target(&denial)]);
    let targets = Memo::new(move |_| {
        // A rule that denies outright has no limit to raise.
        let limits = |rule: SubjectOfRule| rule.action == Action::Limit || rule.exception.is_some();
        if found.data().flatten().is_some_and(limits) { targets.get_value() } else { Vec::new() }
    });
    let for_s = RwSignal::new(TIMES_S[0]);
    let values = denial.subject.iter().map(|(name, value)| {
        let value = subject::shown(value);
        view! { <dt>{name.clone()}</dt><dd><bdi>{value}</bdi></dd> }
    });
    let values: Vec<_> = values.collect();
    let (simulate, page) = (denial_link(&denial), subject::page(&denial.subject));
    let retry = retry_text(denial.retry_after_ms);
    let why = denial.request_id.as_deref().map(why::page);
    let at = browser::local_time(denial.at.0.as_millis());
    let cost = (denial.cost != 1).then(|| format!(", cost {}", grouped(denial.cost)));
    let many = (denial.stands_for > 1).then(|| {
        format!(
            " The entry stands for {} denials of its second.",
            grouped(denial.stands_for.into())
        )
    });
    let has_subject = !denial.subject.is_empty();
    let state = move |rule: Signal<Option<_>>| {
        let rule = move || rule.get().map(Signal::stored);
        let none = if has_subject {
            "The rule does not count this subject any more."
        } else {
            "All requests share one counter of the rule."
        };
        move || match rule() {
            Some(rule) => view! { <RuleCard rule for_s actions /> }.into_any(),
            None => view! { <p class="muted">{none}</p> }.into_any(),
        }
    };
    view! {
        <div class="stack">
            <SubjectQuestion actions />
            <p>{at}" in "<bdi>{denial.namespace}</bdi>{cost}". "{retry}"."{many}</p>
            <dl class="facts">{values}</dl>
            <h3>"Now"</h3>
            {show_latest_shaped(found, Skeleton::Card, state)}
            <div class="actions">
                <RequireRole role=Role::Editor reason_shown=true><LetThrough targets for_s actions /></RequireRole>
                <A href=move || tenant.page(&simulate) attr:class="button">"Simulate"</A>
                {why.map(|why| view! { <A href=move || tenant.page(&why) attr:class="button">"Why"</A> })}
                {has_subject.then(|| view! { <A href=move || tenant.page(&page) attr:class="button">"Open subject"</A> })}
            </div>
        </div>
    }
}
