//! Why a request was denied: the rule and its counters then and now, and what changed since.

use futures_util::FutureExt as _;
use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_params_map;
use weir_wire::audit::Revision;
use weir_wire::problem::ErrorCode;
use weir_wire::stats::{DeniedRequest, ExplainedDenial};

use crate::api::Api;
use crate::components::difference::DifferenceTable;
use crate::components::feedback::{Empty, Skeleton};
use crate::components::guide_link::GuideLink;
use crate::components::page::PageHeader;
use crate::components::remote_data::{fetch_data, show_latest_shaped};
use crate::components::time::{ExactTime, RelativeTime};
use crate::components::verdict::LimitTable;
use crate::model::number::grouped;
use crate::model::subject_action::TIMES_S;
use crate::model::{difference, json, subject, why};
use crate::pages::shell::TenantId;
use crate::pages::subject_actions::{SubjectActions, SubjectQuestion};
use crate::pages::subjects::{RuleCard, changes_last};

/// The denials of a request, or the reasons why the log can lack them.
type Found = Result<DeniedRequest, String>;

#[component]
pub fn Why() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let params = use_params_map();
    let request =
        Memo::new(move |_| params.with(|params| params.get("request")).unwrap_or_default());
    let found = fetch_data(move || {
        let answer = api.denied_request(&tenant.get(), &request.get());
        async move {
            match answer.await {
                Ok(denied) => Ok(Ok(denied)),
                Err(problem) if problem.code == Some(ErrorCode::NotFound) => {
                    Ok(Err(problem.detail))
                }
                Err(problem) => Err(problem),
            }
        }
        .boxed_local()
    });
    let actions = SubjectActions::new(Callback::new(move |()| found.refetch()));
    let for_s = RwSignal::new(TIMES_S[0]);
    view! {
        <PageHeader title="Why was this denied?">
            {changes_last(for_s)}
        </PageHeader>
        <p class="lead">"Request "<code>{request}</code></p>
        <SubjectQuestion actions />
        {show_latest_shaped(found, Skeleton::Card, move |found: Signal<Found>| move || match found.get() {
            Err(reasons) => view! { <NotLogged reasons /> }.into_any(),
            Ok(denied) => {
                let denials = denied.data.into_iter();
                denials
                    .map(|explained| view! { <Denial explained for_s actions /> })
                    .collect::<Vec<_>>()
                    .into_any()
            }
        })}
    }
}

#[component]
fn NotLogged(reasons: String) -> impl IntoView {
    view! {
        <Empty title="The log has no denial of this request">
            <p>{reasons}</p>
            <p><GuideLink page="operate/statistics" text="Which denials the log keeps" /></p>
        </Empty>
    }
}

/// One denied check: a sentence, then the limits of that time, the present ones, and what changed between.
#[component]
fn Denial(
    explained: ExplainedDenial,
    for_s: RwSignal<u32>,
    actions: SubjectActions,
) -> impl IntoView {
    let title = why::sentence(&explained);
    let since = view! { <Since explained=explained.clone() /> };
    let ExplainedDenial { denial, trace_id, rule_revision, limits, now, now_unknown, .. } =
        explained;
    let tenant = expect_context::<TenantId>();
    let rule = format!("rules/{}", denial.rule_id);
    let page = subject::page(&denial.subject);
    let has_subject = !denial.subject.is_empty();
    let revision = rule_revision.map(|revision| format!(", revision {revision}"));
    let cost = (denial.cost != 1).then(|| format!(", cost {}", grouped(denial.cost)));
    let others = (!explained.also_denied_by.is_empty())
        .then(|| format!("Also denied by {}.", explained.also_denied_by.join(", ")));
    let stands_for = (denial.stands_for > 1).then(|| {
        format!("The entry stands for {} denials of its second.", grouped(denial.stands_for.into()))
    });
    let degraded = denial
        .degraded
        .then_some("Redis could not be reached, so the check was decided without it.");
    let shadow = denial.shadow.then_some("The rule was not enforced, so the check passed.");
    let notes = [shadow, degraded].into_iter().flatten().map(str::to_owned);
    let notes = notes.chain(others).chain(stands_for).collect::<Vec<_>>().join(" ");
    let then = (!limits.is_empty()).then(|| view! { <LimitTable limits /> });
    let now = match now {
        Some(rule) => view! { <RuleCard rule=Signal::stored(rule) for_s actions /> }.into_any(),
        None => view! { <p class="muted">{now_unknown}</p> }.into_any(),
    };
    let label = title.clone();
    view! {
        <section class="stack" aria-label=label>
            <h2>{title}</h2>
            <div class="card stack">
                <h3>"Then"</h3>
                <p>
                    <ExactTime at=denial.at />" in "<bdi>{denial.namespace}</bdi>", rule "
                    <A href=move || tenant.page(&rule)>{denial.rule}</A>{revision}{cost}
                    {has_subject.then(|| view! { " · "<A href=move || tenant.page(&page)>"Open subject"</A> })}
                </p>
                {trace_id.map(|id| view! { <p>"Trace "<code>{id}</code></p> })}
                {(!notes.is_empty()).then(|| view! { <p class="note">{notes}</p> })}
                {then}
            </div>
            <h3>"Now"</h3>
            {now}
            {since}
        </section>
    }
}

/// The changes since the denial: the revisions of the rule, and the override.
#[component]
fn Since(explained: ExplainedDenial) -> impl IntoView {
    let tenant = expect_context::<TenantId>();
    let exception = why::override_since(&explained);
    let page = format!("rules/{}", explained.denial.rule_id);
    let unchanged = (explained.present_revision.is_some() && explained.revisions.is_empty())
        .then_some("The rule has not changed since.");
    let link = explained.present_revision.is_some().then(|| {
        view! { <p><A href=move || tenant.page(&page)>"All revisions of the rule"</A></p> }
    });
    let revisions = explained.revisions.into_iter().map(|revision| view! { <Change revision /> });
    view! {
        <div class="card stack">
            <h3>"Changed since"</h3>
            {unchanged.map(|text| view! { <p>{text}</p> })}
            {revisions.collect::<Vec<_>>()}
            {exception.map(|text| view! { <p>{text}</p> })}
            {link}
        </div>
    }
}

#[component]
fn Change(revision: Revision) -> impl IntoView {
    let Revision { revision, at, actor, before, after } = revision;
    let rules = before.as_ref().and_then(|before| {
        Some(difference::differences(
            &json::read_value(before).ok()?,
            &json::read_value(&after).ok()?,
        ))
    });
    let label = format!("Changes in revision {revision}");
    let table = rules.map(|differences| view! { <DifferenceTable label differences /> });
    view! {
        <p>
            <span class="name">"Revision "{revision}</span>
            <span class="muted">" by "{actor.name.unwrap_or_else(|| "weir".to_owned())}", "<RelativeTime at /></span>
        </p>
        {table}
    }
}
