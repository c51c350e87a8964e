//! Checks sent from the browser, as a service sends them: the answers turn from 200 to 429.

use leptos::prelude::*;
use leptos_router::components::A;
use weir_wire::check::CheckBody;
use weir_wire::rules::RuleBody;
use weir_wire::words::Mode;

use super::state::Started;
use crate::api::{Api, GateResponse, Problem, gate_address};
use crate::browser;
use crate::components::control_flow::Show;
use crate::components::feedback::SubmitProblem;
use crate::components::icon::Icon;
use crate::components::submit::SubmitAction;
use crate::model::attempt::{Outcome, summary};
use crate::pages::shell::TenantId;

/// The checks and their answers. A rule in shadow mode is tried at once.
#[component]
pub(super) fn TryIt(
    started: Started,
    started_state: RwSignal<Option<Started>>,
    responses: RwSignal<Vec<GateResponse>>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let action = SubmitAction::new();
    let (shadow, count) =
        (started.rule.rule.mode == Mode::Shadow, started.template.checks_until_denied());
    let started = StoredValue::new(started);
    let send = move || {
        responses.set(Vec::new());
        let started = started.get_value();
        action.run(
            async move { send_all(api, &tenant.now(), &started, count, responses).await },
            |()| (),
        );
    };
    let enforce = move |_| {
        let mut next = started.get_value();
        let work = async move {
            let body = RuleBody { mode: Mode::Enforce, ..next.rule.rule.clone() };
            next.rule = api.replace_rule(&tenant.now(), &next.rule, &body).await?;
            Ok(next)
        };
        // Another subject, whose counter is empty.
        action.run(work, move |mut next| {
            for (name, value) in &mut next.check.attributes {
                if next.rule.rule.count_by.contains(&name.as_str().into()) {
                    value.push_str("-b");
                }
            }
            next.sends = true;
            started_state.try_set(Some(next));
        });
    };
    if started.with_value(|started| started.sends) {
        send();
    }
    let primary = move || if shadow { "button" } else { "button primary" };
    view! {
        <section class="panel try-it" aria-label="Try it">
            <h2>"2. Try it"</h2>
            <div class="try-columns">
                <div class="stack">
                    <p class="note">{format!("Sends {count} checks from this browser to a gate, with your key.")}</p>
                    {move || dots(&responses.get())}
                    <p class="sentence" role="status">{move || responses.with(|all| summary(&outcomes(all)))}</p>
                    <SubmitProblem problem=action.problem />
                    <div class="actions">
                        {shadow.then(|| view! {
                            <button type="button" class="button primary" disabled=action.busy on:click=enforce>"Enforce and send again"</button>
                        })}
                        <button type="button" class=primary disabled=action.busy on:click=move |_| send()>
                            <Icon name="send" />{format!("Send {count} checks")}
                        </button>
                    </div>
                    <Show when=move || !shadow && responses.with(|all| all.iter().any(|response| !response.answer.allowed))>
                        <p class="actions">
                            <A href=move || tenant.page("overview")>"See it in the overview"</A>
                            <A href=move || tenant.page("members?new=1")>"Invite a teammate"</A>
                            <A href=move || tenant.page("alerts")>"Add an alert"</A>
                        </p>
                    </Show>
                </div>
                <div class="response" role="group" aria-label="Last response">{move || responses.with(|all| all.last().map(response))}</div>
            </div>
        </section>
    }
}

/// Sends the checks one after the other, once a gate serves the rule and the key.
async fn send_all(
    api: Api,
    tenant: &str,
    started: &Started,
    count: usize,
    responses: RwSignal<Vec<GateResponse>>,
) -> Result<(), Problem> {
    let gate = ready_gate(api, tenant).await?;
    let check: &CheckBody = &started.check;
    for _ in 0..count {
        let response = api.check_as_service(&gate, &started.secret, check).await?;
        if responses.try_update(|all| all.push(response)).is_none() {
            return Ok(()); // the page was left
        }
    }
    Ok(())
}

/// The address of a gate that serves the present rules and keys.
async fn ready_gate(api: Api, tenant: &str) -> Result<String, Problem> {
    for _ in 0..ATTEMPTS {
        let replicas = api.replicas(tenant).await?;
        let current = |version: u64| version >= replicas.tenant_version;
        let gate = replicas.data.iter().find(|gate| current(gate.rulebook_version));
        if let Some(address) = gate.and_then(|gate| gate.address.as_deref()) {
            return Ok(gate_address(address));
        }
        browser::wait_ms(PAUSE_MS).await;
    }
    Err(Problem {
        code: None,
        title: "No gate is ready".to_owned(),
        detail: "No gate serves the new rule yet. Start a gate, and send the checks again."
            .to_owned(),
        request_id: None,
        fields: Vec::new(),
    })
}

fn outcomes(responses: &[GateResponse]) -> Vec<Outcome> {
    responses.iter().map(|response| Outcome::of(&response.answer)).collect()
}

fn dots(responses: &[GateResponse]) -> impl IntoView + use<> {
    let dots: Vec<_> = outcomes(responses)
        .into_iter()
        .map(|outcome| view! { <span class=format!("dot dot-{}", outcome.as_str())></span> })
        .collect();
    view! { <div class="dots" aria-hidden="true">{dots}</div> }
}

fn response(response: &GateResponse) -> impl IntoView + use<> {
    let denied = response.status != 200;
    let line = if denied { "HTTP 429 Too Many Requests" } else { "HTTP 200 OK" };
    let retry = response.retry_after.clone().map(|seconds| format!("Retry-After: {seconds}"));
    let answer = &response.answer;
    let fields = serde_json::json!({
        "allowed": answer.allowed,
        "limit": answer.limit,
        "remaining": answer.remaining,
        "denied_by": answer.denied_by,
    });
    let body = serde_json::to_string_pretty(&fields).unwrap_or_default();
    view! {
        <pre tabindex="0"><span class="status-line" class:denied=denied>{line}</span>"\n"{retry.map(|retry| format!("{retry}\n"))}"\n"{body}</pre>
    }
}

/// The number of times that the gates are asked for their version, and the pause between.
const ATTEMPTS: usize = 50;
const PAUSE_MS: i32 = 200;
