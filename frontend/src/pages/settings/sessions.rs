//! The signed-in person's sessions.

use leptos::prelude::*;
use weir_wire::sessions::Session;

use crate::api::Api;
use crate::components::feedback::SubmitProblem;
use crate::components::remote_data::{RemoteData, fetch_data, show};
use crate::components::submit::SubmitAction;
use crate::components::table::{ObjectTable, RowButton};
use crate::components::time::RelativeTime;
use crate::model::user_agent;

#[component]
pub(super) fn OwnSessions() -> impl IntoView {
    let api = expect_context::<Api>();
    let sessions = fetch_data(move || api.sessions());
    let action = SubmitAction::new();
    let sign_out_everywhere = move |_| action.run(api.sign_out_everywhere(), |()| ());
    view! {
        <section class="panel" aria-label="Sessions">
            <h3>"Sessions"</h3>
            <p class="note">"Devices and programs signed in to your account. Sessions expire after seven days without use."</p>
            <SubmitProblem problem=action.problem />
            {show(sessions, move |data| view! { <List data sessions action /> })}
            <button type="button" class="button" disabled=action.busy on:click=sign_out_everywhere>"Sign out everywhere"</button>
        </section>
    }
}

#[component]
fn List(
    data: Vec<Session>,
    sessions: RemoteData<Vec<Session>>,
    action: SubmitAction,
) -> impl IntoView {
    let rows: Vec<_> =
        data.into_iter().map(|session| view! { <SessionRow session sessions action /> }).collect();
    view! {
        <ObjectTable label="Your sessions" columns=&["Device or program", "Network", "Signed in", "Last used"]>{rows}</ObjectTable>
    }
}

#[component]
fn SessionRow(
    session: Session,
    sessions: RemoteData<Vec<Session>>,
    action: SubmitAction,
) -> impl IntoView {
    let api = expect_context::<Api>();
    let Session { id, current, user_agent, network, created_at, refreshed_at, .. } = session;
    let agent = user_agent::label(&user_agent);
    let network = network.unwrap_or_else(|| "unknown".to_owned());
    let label = format!("Sign out {agent} from {network}");
    let end = move |()| {
        action.run(api.end_session(&id), move |()| sessions.refetch());
    };
    let action = if current {
        view! { <span class="badge badge-enforce">"This session"</span> }.into_any()
    } else {
        view! { <RowButton text="Sign out" label disabled=action.busy on_press=end /> }.into_any()
    };
    view! {
        <tr>
            <td class="name" title=user_agent>{agent}</td>
            <td>{network}</td>
            <td><RelativeTime at=created_at /></td>
            <td><RelativeTime at=refreshed_at /></td>
            <td class="number">{action}</td>
        </tr>
    }
}
