//! Tables of objects: their frame, and the cells and buttons that their rows share.

use leptos::prelude::*;
use weir_wire::time::DateTime;

use crate::api::Answer;
use crate::components::dialog::{ConfirmByName, Dialog};
use crate::components::feedback::SubmitProblem;
use crate::components::field::Choice;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::time::RelativeTime;
use crate::model::expiry;

/// The frame of a table. On phones each row becomes a card with the names of the columns, at most six.
#[component]
pub fn TableFrame(
    label: &'static str,
    /// Their names, without the column of buttons.
    columns: &'static [&'static str],
    children: Children,
) -> impl IntoView {
    // A quoted text for the style sheet.
    let name = |at: usize| format!("{:?}", columns.get(at).copied().unwrap_or_default());
    view! {
        <div
            class="table-wrap object-table"
            tabindex="0"
            role="region"
            aria-label=label
            style=("--column-1", name(0))
            style=("--column-2", name(1))
            style=("--column-3", name(2))
            style=("--column-4", name(3))
            style=("--column-5", name(4))
            style=("--column-6", name(5))
        >
            {children()}
        </div>
    }
}

/// A table of objects. Its last column has the buttons of the rows.
#[component]
pub fn ObjectTable(
    label: &'static str,
    columns: &'static [&'static str],
    children: Children,
) -> impl IntoView {
    let heads: Vec<_> =
        columns.iter().map(|column| view! { <th scope="col">{*column}</th> }).collect();
    view! {
        <TableFrame label columns>
            <table>
                <thead><tr>{heads}<th scope="col"><span class="hidden">"Actions"</span></th></tr></thead>
                <tbody>{children()}</tbody>
            </table>
        </TableFrame>
    }
}

/// The cell of an object's name.
#[component]
pub fn NameCell(#[prop(into)] name: String, enabled: bool) -> impl IntoView {
    view! { <td class="name">{named(name, enabled)}</td> }
}

/// The name of an object, with a badge if the object is off.
pub fn named(name: String, enabled: bool) -> AnyView {
    let off = (!enabled).then(|| view! { <div><span class="badge badge-off">"Off"</span></div> });
    view! { <div>{name}{off}</div> }.into_any()
}

/// The time of an event that possibly never happened.
pub fn time_or_never(at: Option<DateTime>) -> AnyView {
    at.map_or_else(|| "Never".into_any(), |at| view! { <RelativeTime at /> }.into_any())
}

/// The time of creation and its author.
#[component]
pub fn Created(at: DateTime, by: String) -> impl IntoView {
    let text = format!("by {by}");
    view! { <RelativeTime at /><div class="muted one-line" title=by>{text}</div> }
}

/// A button of a row. Screen readers read `label` instead of the text, because it names the object.
#[component]
pub fn RowButton(
    #[prop(into)] text: String,
    #[prop(into)] label: String,
    #[prop(optional, into)] disabled: Signal<bool>,
    #[prop(into)] on_press: Callback<()>,
) -> impl IntoView {
    view! {
        <button type="button" class="button plain-button" aria-label=label disabled=disabled on:click=move |_| on_press.run(())>{text}</button>
    }
}

/// A button of a row that asks for the object's name before it acts.
#[component]
pub fn ConfirmedButton(
    text: &'static str,
    name: String,
    title: &'static str,
    #[prop(into)] consequence: String,
    /// The label of the button that confirms.
    confirm: &'static str,
    action: SubmitAction,
    /// Whether the row shows the problem of the action; otherwise the page does.
    #[prop(default = true)]
    problem_shown: bool,
    on_confirm: Callback<()>,
) -> impl IntoView {
    let open = RwSignal::new(false);
    view! {
        <RowButton text label=format!("{text} {name}") disabled=action.busy on_press=move |()| open.set(true) />
        {problem_shown.then(|| view! { <SubmitProblem problem=action.problem /> })}
        <ConfirmByName title consequence name action=confirm open on_confirm />
    }
}

/// A button of a row that asks for the object's name, and then sends a request.
#[component]
pub fn ConfirmedCall(
    text: &'static str,
    name: String,
    title: &'static str,
    #[prop(into)] consequence: String,
    /// The label of the button that confirms.
    confirm: &'static str,
    /// Makes the request.
    #[prop(into)]
    call: Callback<(), Answer<()>>,
    /// Called once the request has succeeded.
    #[prop(into)]
    done: Callback<()>,
) -> impl IntoView {
    let action = SubmitAction::new();
    let on_confirm = Callback::new(move |()| action.run(call.run(()), move |()| done.run(())));
    view! { <ConfirmedButton text name title consequence confirm action on_confirm /> }
}

/// A button that replaces a secret. Its label names the object. `on_rotate` receives the time for which the old secret
/// stays valid, in seconds.
#[component]
pub fn RotateButton(
    label: String,
    /// The label of the button that rotates.
    submit: &'static str,
    note: &'static str,
    /// The purpose of the overlap.
    hint: &'static str,
    open: RwSignal<bool>,
    action: SubmitAction,
    on_rotate: Callback<u32>,
) -> impl IntoView {
    let overlap_s = RwSignal::new(86_400_u32);
    let rotate = Callback::new(move |()| on_rotate.run(overlap_s.get_untracked()));
    let title = format!("{label}?");
    view! {
        <RowButton text="Rotate" label on_press=move |()| open.set(true) />
        <Dialog title open>
            <SubmitForm action submit on_submit=rotate class="stack" cancel=Callback::new(move |()| open.set(false))>
                <p>{note}</p>
                <Choice
                    label="Old secret"
                    value=overlap_s.into()
                    options=expiry::overlaps()
                    problem=action.server_problem("overlap_s")
                    hint
                />
            </SubmitForm>
        </Dialog>
    }
}
