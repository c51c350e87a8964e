//! One's own sessions: where one is signed in, and signing out there.

use leptos::prelude::*;
use weir_wire::sessions::Session;

use crate::api::Api;
use crate::components::act::Act;
use crate::components::feedback::ActProblem;
use crate::components::load::{Load, load, loaded};
use crate::components::time::When;

/// The list.
#[component]
pub(super) fn OwnSessions() -> impl IntoView {
    let api = expect_context::<Api>();
    let sessions = load(move || api.sessions());
    let act = Act::new();
    let everywhere = move |_| act.run(async move { api.sign_out_everywhere().await }, |()| ());
    view! {
        <section class="panel" aria-label="Sessions">
            <h2>"Sessions"</h2>
            <p class="note">"Where you are signed in. A session ends after seven days without use."</p>
            <ActProblem problem=act.problem />
            {loaded(sessions, move |data| view! { <List data sessions act /> })}
            <button type="button" class="button" disabled=act.busy on:click=everywhere>"Sign out everywhere"</button>
        </section>
    }
}

#[component]
fn List(data: Vec<Session>, sessions: Load<Vec<Session>>, act: Act) -> impl IntoView {
    let lines: Vec<_> =
        data.into_iter().map(|session| view! { <Line session sessions act /> }).collect();
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Your sessions">
            <table>
                <thead><tr>
                    <th>"Browser or program"</th><th>"Network"</th><th>"Began"</th><th>"Last used"</th>
                    <th><span class="hidden">"Actions"</span></th>
                </tr></thead>
                <tbody>{lines}</tbody>
            </table>
        </div>
    }
}

#[component]
fn Line(session: Session, sessions: Load<Vec<Session>>, act: Act) -> impl IntoView {
    let api = expect_context::<Api>();
    let Session { id, current, user_agent, network, created_at, refreshed_at, .. } = session;
    let agent = if user_agent.is_empty() { "unknown".to_owned() } else { user_agent };
    let network = network.unwrap_or_else(|| "unknown".to_owned());
    let label = format!("Sign out {agent} from {network}");
    let end = move |_| {
        let id = id.clone();
        act.run(async move { api.end_session(&id).await }, move |()| sessions.again());
    };
    let action = if current {
        view! { <span class="badge badge-enforce">"This session"</span> }.into_any()
    } else {
        view! {
            <button type="button" class="button quiet-button" aria-label=label disabled=act.busy on:click=end>"Sign out"</button>
        }
        .into_any()
    };
    view! {
        <tr>
            <td class="name">{agent}</td>
            <td>{network}</td>
            <td><When at=created_at /></td>
            <td><When at=refreshed_at /></td>
            <td class="number">{action}</td>
        </tr>
    }
}
