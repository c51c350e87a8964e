//! The test: every rule of the namespace, and its result.

use std::collections::BTreeMap;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::components::A;
use leptos_router::hooks::{use_navigate, use_query_map};
use weir_wire::check::LimitAnswer;
use weir_wire::rules::RuleBody;
use weir_wire::tenants::Role;
use weir_wire::tester::{TestAnswer, TestedRule};
use weir_wire::words::Action;

use super::request::RequestForm;
use crate::access::Access;
use crate::api::Api;
use crate::components::badge::{ModeBadge, PassBadge};
use crate::components::feedback::{Empty, SubmitProblem, Warning};
use crate::components::require_role::RequireRole;
use crate::components::submit::SubmitAction;
use crate::components::verdict::retry_text;
use crate::model::headroom::by_region;
use crate::model::labels;
use crate::model::number::{grouped, parse};
use crate::model::request_link::{attributes, request_link, sample_request};
use crate::model::subject;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Test(request: RequestForm, fields: fn(RequestForm) -> AnyView) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let access = expect_context::<Access>();
    let answer = RwSignal::new(None::<TestAnswer>);
    let action = SubmitAction::new();
    let source = RwSignal::new(None::<String>);
    let (navigate, query) = (use_navigate(), use_query_map());
    let test = Callback::new(move |()| {
        let body = untrack(|| request.body());
        let link = request_link(Some(&body.namespace), &body.attributes, body.cost);
        let navigate = navigate.clone();
        let call = api.test(&tenant.now(), &body);
        answer.set(None);
        action.run(call, move |dry_run| {
            answer.try_set(Some(dry_run));
            // The URL contains the tested request, so that it can be shared.
            let options =
                NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() };
            navigate(&format!("/t/{}/{link}", tenant.now()), options);
        });
    });
    Effect::new(move |_| {
        let parameter = |name: &str| query.with(|query| query.get(name));
        let (namespace, denied_by) = (parameter("namespace"), parameter("rule"));
        let given = attributes(&parameter("attributes").unwrap_or_default());
        let cost = parameter("cost").and_then(|cost| parse(&cost)).unwrap_or(1);
        let take = move |given| {
            let is_new = request.take(namespace, given, cost);
            if is_new && untrack(|| access.missing_role(Role::Editor)).is_none() {
                test.run(());
            }
        };
        let Some(rule_id) = denied_by else { return take(given) };
        spawn_local(async move {
            let rule = api.rule(&tenant.now(), &rule_id).await.ok().map(|rule| rule.rule);
            let (given, note) = rebuilt(given, rule.as_ref());
            // The page can have been left meanwhile.
            if source.try_set(note).is_none() {
                take(given);
            }
        });
    });
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        test.run(());
    };
    view! {
        <section class="panel" aria-label="Simulation">
            <form class="stack" aria-label="Request" on:submit=submit>
                {move || source.get().map(|note| view! { <Warning><p>{note}</p></Warning> })}
                {fields(request)}
                <div class="actions">
                    <RequireRole role=Role::Editor>
                        <button type="submit" class="button primary" disabled=action.busy>"Run test"</button>
                    </RequireRole>
                    <span class="note">"Nothing is counted."</span>
                </div>
            </form>
            <SubmitProblem problem=action.problem />
            {move || answer.get().map(|answer| view! { <Rules answer /> })}
        </section>
    }
}

/// The request of a denial: the attributes of its subject, and those that the conditions of its rule name; with a note,
/// if the request is not the original one for sure.
fn rebuilt(
    given: BTreeMap<String, String>,
    rule: Option<&RuleBody>,
) -> (BTreeMap<String, String>, Option<String>) {
    let Some(rule) = rule else {
        let note = "Rebuilt from a denial. Its rule was deleted, so attributes can be missing.";
        return (given, Some(note.to_owned()));
    };
    let mut request = sample_request(rule);
    let known = given.len();
    request.extend(given);
    if request.len() == known {
        return (request, None);
    }
    let unknown = request.values().any(String::is_empty);
    let note = format!(
        "Rebuilt from a denial, which records only the attributes that {} counts by. The others are from the conditions of \
         that rule, so the original request can have had other values.{}",
        rule.name,
        if unknown { " Fill in the empty values, then run the test." } else { "" }
    );
    (request, Some(note))
}

#[component]
fn Rules(answer: TestAnswer) -> impl IntoView {
    if answer.rules.is_empty() {
        return view! {
            <Empty title="No rules in this namespace">
                <p>"Every check is allowed. Check the spelling of the namespace."</p>
            </Empty>
        }
        .into_any();
    }
    let rows: Vec<_> = answer.rules.into_iter().map(row).collect();
    view! {
        <p class="sentence" role="status">
            <PassBadge passes=answer.allowed yes="Would be allowed" no="Would be denied" />
            {(!answer.allowed).then(|| format!(" by {}", answer.denied_by.join(", ")))}
        </p>
        <div class="table-wrap" tabindex="0" role="region" aria-label="Tested rules">
            <table>
                <thead><tr><th>"Rule"</th><th>"Matches"</th><th>"Subject"</th><th>"Status"</th></tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn row(rule: TestedRule) -> impl IntoView {
    let matches = match (&rule.failed_condition, &rule.missing_attribute) {
        (Some(failed), _) => {
            let actual = failed
                .actual
                .as_ref()
                .map_or_else(|| "missing".to_owned(), |actual| format!("it is {actual}"));
            format!("No: {} ({actual})", labels::condition(&failed.condition))
        }
        (None, Some(attribute)) => format!("No: {attribute} is missing, and the rule counts by it"),
        (None, None) if rule.matches => "Yes:".to_owned(),
        (None, None) => "No".to_owned(),
    };
    let counts = rule.action == Action::Limit;
    let subject = rule.subject.as_ref().filter(|_| counts).map(subject::label).unwrap_or_default();
    let state = |limit: &LimitAnswer| {
        let left = limit.remaining.map_or_else(|| "unknown".to_owned(), grouped);
        let retry = (!limit.allowed).then(|| format!(". {}", retry_text(limit.retry_after_ms)));
        view! { <div>{left}" of "{grouped(limit.limit)}" left"{retry}</div> }
    };
    let states: Vec<_> = rule.limits.iter().map(state).collect();
    let regions = by_region(&rule.regions).map(|text| view! { <div class="note">{text}</div> });
    let verdict = rule.matches.then(|| {
        let what = match rule.action {
            Action::Limit if rule.limits.is_empty() => " off",
            Action::Limit => "",
            Action::Allow => " always allowed",
            Action::Deny => " always denied",
        };
        view! { <PassBadge passes=rule.would_pass yes="allowed" no="denied" />{what} }
    });
    let overridden = rule.override_id.is_some().then(|| {
        view! { <div class="note">"by an override"</div> }
    });
    let page = format!("rules/{}", rule.rule_id);
    let tenant = expect_context::<TenantId>();
    view! {
        <tr>
            <td><A href=move || tenant.page(&page) attr:class="name">{rule.rule}</A>" "<ModeBadge mode=rule.mode /></td>
            <td>{matches}" "{verdict}</td>
            <td>{subject}</td>
            <td>{states}{regions}{overridden}</td>
        </tr>
    }
}
