//! The test: every rule of the namespace, and what it would say.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::tester::{TestAnswer, TestedRule};

use super::RequestForm;
use crate::api::{Api, Problem};
use crate::components::badge::{ModeBadge, PassBadge};
use crate::components::feedback::{ActProblem, Empty};
use crate::components::verdict::again;
use crate::model::number::grouped;
use crate::model::words;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Test(request: RequestForm) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let answer = RwSignal::new(None::<TestAnswer>);
    let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let test = move |_| {
        busy.set(true);
        problem.set(None);
        let body = request.body();
        spawn_local(async move {
            let tested = api.test(&tenant.now(), &body).await;
            busy.try_set(false);
            match tested {
                Ok(tested) => drop(answer.try_set(Some(tested))),
                Err(refused) => {
                    answer.try_set(None);
                    problem.try_set(Some(refused));
                }
            }
        });
    };
    view! {
        <section class="panel" aria-label="Test">
            <h2>"Test"</h2>
            <p class="note">"Every rule of the namespace, as it stands now. Nothing is counted."</p>
            <button type="button" class="button primary" disabled=busy on:click=test>"Run the test"</button>
            <ActProblem problem />
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
        (None, None) if rule.matches => "yes".to_owned(),
        (None, None) => "no".to_owned(),
    };
    let subject = rule.subject.as_ref().map(words::subject).unwrap_or_default();
    let states: Vec<_> = rule
        .limits
        .into_iter()
        .map(|limit| {
            let left = limit.remaining.map_or_else(|| "unknown".to_owned(), grouped);
            let again =
                (!limit.allowed).then(|| format!(", could pass {}", again(limit.retry_after_ms)));
            view! { <div>{left}" of "{grouped(limit.limit)}" left"{again}</div> }
        })
        .collect();
    let verdict = rule
        .matches
        .then(|| view! { <PassBadge passes=rule.would_pass yes="passes" no="denied" /> });
    view! {
        <tr>
            <td><span class="name">{rule.rule}</span>" "<ModeBadge mode=rule.mode /></td>
            <td>{matches}</td>
            <td>{subject}</td>
            <td>{verdict}{states}</td>
        </tr>
    }
}
