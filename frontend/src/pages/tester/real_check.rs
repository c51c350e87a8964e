//! A real check: sent to a gate with a key, and counted if it is admitted.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_wire::check::{CheckAnswer, Degraded};

use super::request::RequestForm;
use crate::api::{Api, Problem, gate_address};
use crate::components::badge::PassBadge;
use crate::components::control_flow::Show;
use crate::components::copy::{CodeBlock, CopyButton};
use crate::components::feedback::{SubmitProblem, Warning};
use crate::components::field::{Choice, TextField};
use crate::components::remote_data::{fetch_data, show};
use crate::components::verdict::{LimitTable, retry_text};
use crate::model::duration::about;
use crate::model::number::grouped;
use crate::model::snippet::curl;
use crate::pages::shell::TenantId;
use crate::session::Session;

#[component]
pub(super) fn RealCheck(request: RequestForm) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let replicas = fetch_data(move || api.replicas(&tenant.get()));
    view! {
        <section class="panel" aria-label="Real check">
            <h2>"Real check"</h2>
            <p class="note">"Sent to a gate and counted against the limits."</p>
            {show(replicas, move |replicas| {
                let listed = !replicas.data.is_empty();
                let addresses = replicas.data.into_iter().filter_map(|gate| gate.address);
                let gates: Vec<_> = addresses.map(|address| gate_address(&address)).collect();
                if listed && gates.is_empty() {
                    return view! { <p>"You need the editor role to send checks from here."</p> }.into_any();
                }
                view! { <AskGate request gates /> }.into_any()
            })}
        </section>
    }
}

#[component]
fn AskGate(request: RequestForm, gates: Vec<String>) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let session = expect_context::<Session>();
    let Some(first) = gates.first().cloned() else {
        return view! { <p>"No gates are running, so checks cannot be sent."</p> }.into_any();
    };
    let gate = RwSignal::new(first);
    let key = RwSignal::new(session.secret(&tenant.now()).unwrap_or_default());
    let answers = RwSignal::new(Vec::<CheckAnswer>::new());
    let (busy, problem) = (RwSignal::new(false), RwSignal::new(None::<Problem>));
    let send = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        busy.set(true);
        problem.set(None);
        let (gate, key, body) = (gate.get_untracked(), key.get_untracked(), request.body());
        spawn_local(async move {
            let answer = api.check(&gate, &key, &body).await;
            busy.try_set(false);
            match answer {
                Ok(answer) => drop(answers.try_update(|answers| answers.insert(0, answer))),
                Err(rejected) => drop(problem.try_set(Some(rejected))),
            }
        });
    };
    let command = Signal::derive(move || curl(&gate.get(), None, &request.body()));
    let with_key = Signal::derive(move || curl(&gate.get(), Some(&key.get()), &request.body()));
    let options = gates.into_iter().map(|gate| (gate.clone(), gate)).collect();
    view! {
        <form class="stack" on:submit=send>
            <div class="row">
                <Choice label="Gate" value=gate.into() options />
                <TextField
                    label="API key"
                    kind="password"
                    value=key
                    hint="Needs the check scope. The key is sent only to the gate."
                />
            </div>
            <button type="submit" class="button primary" disabled=move || busy.get() || key.with(String::is_empty)>
                "Send check"
            </button>
        </form>
        <SubmitProblem problem />
        <Answers answers />
        <h3>"cURL"</h3>
        <CodeBlock code=command label="Copy command" />
        <Show when=move || key.with(|key| !key.is_empty())>
            <CopyButton text=with_key label="Copy command with the key" />
        </Show>
    }
    .into_any()
}

/// The newest answer in full, and the results of the previous ones.
#[component]
fn Answers(answers: RwSignal<Vec<CheckAnswer>>) -> impl IntoView {
    let newest = move || {
        answers.with(|answers| answers.first().cloned()).map(|answer| view! { <Answer answer /> })
    };
    let history = move || {
        let marks: Vec<_> = answers.with(|answers| {
            let before = answers.iter().skip(1).take(30);
            before
                .map(|answer| view! { <PassBadge passes=answer.allowed yes="allowed" no="denied" />" " })
                .collect()
        });
        (!marks.is_empty())
            .then(|| view! { <p class="history"><span class="muted">"Before: "</span>{marks}</p> })
    };
    view! { <div class="stack" aria-live="polite">{newest}</div>{history} }
}

#[component]
fn Answer(answer: CheckAnswer) -> impl IntoView {
    let detail = match (answer.allowed, answer.remaining, answer.limit) {
        (false, ..) => {
            format!(" by {}. {}.", answer.denied_by.join(", "), retry_text(answer.retry_after_ms))
        }
        (true, Some(remaining), Some(limit)) => {
            format!(" {} of {} left", grouped(remaining), grouped(limit))
        }
        (true, ..) => " No enforced limit matched.".to_owned(),
    };
    let delay = (answer.delay_ms > 0)
        .then(|| format!(" Wait {} before you proceed.", about(answer.delay_ms)));
    let degraded = answer.degraded.map(|how| {
        let how = match how {
            Degraded::Allow => "allowed by the rules' failure mode",
            Degraded::Deny => "denied by a rule's failure mode",
            Degraded::Local => "decided by the gate alone",
        };
        view! { <Warning>"Redis is unavailable: "{how}"."</Warning> }
    });
    let limits = (!answer.limits.is_empty()).then(|| view! { <LimitTable limits=answer.limits /> });
    view! {
        <p class="sentence">
            <PassBadge passes=answer.allowed yes="Allowed" no="Denied" />
            {detail}{delay}
        </p>
        {degraded}
        {limits}
        <p class="muted">"Decided by rulebook version "{answer.rulebook_version}"."</p>
    }
}
