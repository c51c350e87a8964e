//! The test: every rule of the namespace, and what it would say.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::components::A;
use leptos_router::hooks::{use_navigate, use_query_map};
use weir_wire::check::LimitAnswer;
use weir_wire::tenants::Role;
use weir_wire::tester::{TestAnswer, TestedRule};
use weir_wire::words::Action;

use super::request::RequestForm;
use crate::access::Access;
use crate::api::Api;
use crate::components::act::Act;
use crate::components::badge::{ModeBadge, PassBadge};
use crate::components::feedback::{ActProblem, Empty};
use crate::components::needs::Needs;
use crate::components::verdict::again;
use crate::model::number::grouped;
use crate::model::request_link::{attributes, request_link};
use crate::model::words;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Test(request: RequestForm, fields: fn(RequestForm) -> AnyView) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let access = expect_context::<Access>();
    let answer = RwSignal::new(None::<TestAnswer>);
    let act = Act::new();
    let (navigate, query) = (use_navigate(), use_query_map());
    let test = Callback::new(move |()| {
        let body = untrack(|| request.body());
        let link = request_link(Some(&body.namespace), &body.attributes);
        let navigate = navigate.clone();
        let asked = async move { api.test(&tenant.now(), &body).await };
        answer.set(None);
        act.run(asked, move |tested| {
            answer.try_set(Some(tested));
            // The address says what was tested, for others to see the same.
            let options =
                NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() };
            navigate(&format!("/t/{}/{link}", tenant.now()), options);
        });
    });
    Effect::new(move |_| {
        let (namespace, given) =
            query.with(|query| (query.get("namespace"), query.get("attributes")));
        let asked = request.take(namespace, attributes(&given.unwrap_or_default()));
        if asked && untrack(|| access.lacks(Role::Editor)).is_none() {
            test.run(());
        }
    });
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        test.run(());
    };
    view! {
        <section class="panel" aria-label="Test">
            <form class="stack" aria-label="Request" on:submit=submit>
                {fields(request)}
                <div class="actions">
                    <Needs role=Role::Editor>
                        <button type="submit" class="button primary" disabled=act.busy>"Run the test"</button>
                    </Needs>
                    <span class="note">"Nothing is counted."</span>
                </div>
            </form>
            <ActProblem problem=act.problem />
            {move || answer.get().map(|answer| view! { <Rules answer /> })}
        </section>
    }
}

#[component]
fn Rules(answer: TestAnswer) -> impl IntoView {
    if answer.rules.is_empty() {
        return view! {
            <Empty title="This namespace has no rules.">
                <p>"Every check passes. Is the namespace spelled as in the rule?"</p>
            </Empty>
        }
        .into_any();
    }
    let rows: Vec<_> = answer.rules.into_iter().map(line).collect();
    view! {
        <p class="sentence" role="status">
            <PassBadge passes=answer.allowed yes="Would pass" no="Would be denied" />
            {(!answer.allowed).then(|| format!(" by {}", answer.denied_by.join(", ")))}
        </p>
        <div class="table-wrap" tabindex="0" role="region" aria-label="Tested rules">
            <table>
                <thead><tr><th>"Rule"</th><th>"Matches"</th><th>"Subject"</th><th>"State"</th></tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn line(rule: TestedRule) -> impl IntoView {
    let matches = match (&rule.failed_condition, &rule.missing_attribute) {
        (Some(failed), _) => {
            let actual = failed
                .actual
                .as_ref()
                .map_or_else(|| "it is missing".to_owned(), |it| format!("it is {it}"));
            format!("no: {} ({actual})", words::condition(&failed.condition))
        }
        (None, Some(attribute)) => format!("no: it counts by {attribute}, which is missing"),
        (None, None) if rule.matches => "yes:".to_owned(),
        (None, None) => "no".to_owned(),
    };
    let counts = rule.action == Action::Limit;
    let subject = rule.subject.as_ref().filter(|_| counts).map(words::subject).unwrap_or_default();
    let state = |limit: &LimitAnswer| {
        let left = limit.remaining.map_or_else(|| "unknown".to_owned(), grouped);
        let again = (!limit.allowed).then(|| format!(", could {}", again(limit.retry_after_ms)));
        view! { <div>{left}" of "{grouped(limit.limit)}" left"{again}</div> }
    };
    let states: Vec<_> = rule.limits.iter().map(state).collect();
    let verdict = rule.matches.then(|| {
        let what = match rule.action {
            Action::Limit if rule.limits.is_empty() => " off: it is not asked",
            Action::Limit => "",
            Action::Allow => " always passes, no limit is asked",
            Action::Deny => " always refused",
        };
        view! { <PassBadge passes=rule.would_pass yes="passes" no="denied" />{what} }
    });
    let overridden = rule.override_id.is_some().then(|| {
        view! { <div class="note">"by an override for this subject"</div> }
    });
    let page = format!("rules/{}", rule.rule_id);
    let tenant = expect_context::<TenantId>();
    view! {
        <tr>
            <td><A href=move || tenant.page(&page) attr:class="name">{rule.rule}</A>" "<ModeBadge mode=rule.mode /></td>
            <td>{matches}" "{verdict}</td>
            <td>{subject}</td>
            <td>{states}{overridden}</td>
        </tr>
    }
}
