//! The namespaces of the tenant, and the attributes by whose values their counters are spread.

use leptos::prelude::*;
use weir_domain::spread::SpreadBy;
use weir_wire::namespaces::{NamespaceAnswer, NamespaceBody};
use weir_wire::page::Page;
use weir_wire::tenants::Role;

use crate::api::Api;
use crate::components::dialog::Dialog;
use crate::components::field::TextField;
use crate::components::input::Input;
use crate::components::remote_data::{RemoteData, fetch_data, show};
use crate::components::require_role::RequireRole;
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::table::{ObjectTable, RowButton};
use crate::components::toast::Toasts;
use crate::pages::shell::TenantId;

#[component]
pub(super) fn Namespaces() -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let namespaces = fetch_data(move || api.namespaces(&tenant.get()));
    let edited = RwSignal::new(None::<NamespaceAnswer>);
    let body = move |page: Page<NamespaceAnswer>| {
        if page.data.is_empty() {
            return view! { <p>"No rules yet."</p> }.into_any();
        }
        let truncated = page.next_cursor.is_some();
        let rows = page.data.into_iter().map(|row| view! { <Row row edited /> }.into_any());
        let rows: Vec<_> = rows.collect();
        view! {
            <ObjectTable label="All namespaces" columns=&["Namespace", "Rules", "Spread by"]>{rows}</ObjectTable>
            {truncated.then(|| view! { <p class="note">"These are the first 200 namespaces; the API has the others."</p> })}
        }
        .into_any()
    };
    view! {
        <section class="panel" aria-label="Namespaces">
            <RequireRole role=Role::Editor><h3>"Namespaces"</h3></RequireRole>
            <p class="note">
                "One primary of a Redis cluster has all counters of a namespace. If that is too much for it, spread the counters by \
                 attributes that all rules of the namespace count by."
            </p>
            {show(namespaces, body)}
            {move || edited.get().map(|row| view! { <SpreadForm row edited namespaces /> })}
        </section>
    }
}

#[component]
fn Row(row: NamespaceAnswer, edited: RwSignal<Option<NamespaceAnswer>>) -> impl IntoView {
    let label = format!("Spread {}", row.name);
    let spread_by =
        if row.spread_by.is_empty() { "—".to_owned() } else { row.spread_by.join(", ") };
    let (name, rules) = (row.name.clone(), row.rules);
    let edit = Callback::new(move |()| edited.set(Some(row.clone())));
    view! {
        <tr>
            <td class="name">{name}</td>
            <td>{rules}</td>
            <td>{spread_by}</td>
            <td class="number">
                <RequireRole role=Role::Editor reason_shown=true>
                    <RowButton text="Spread…" label=label.clone() on_press=edit />
                </RequireRole>
            </td>
        </tr>
    }
}

/// The form is the confirmation: it states that the counters begin anew.
#[component]
fn SpreadForm(
    row: NamespaceAnswer,
    edited: RwSignal<Option<NamespaceAnswer>>,
    namespaces: RemoteData<Page<NamespaceAnswer>>,
) -> impl IntoView {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let toasts = expect_context::<Toasts>();
    let action = SubmitAction::with_fields(&["spread_by"]);
    let typed = Input::new(action, "spread_by", &row.spread_by.join(", "), valid);
    let open = RwSignal::new(true);
    Effect::new(move |_| {
        if !open.get() {
            edited.try_set(None);
        }
    });
    let before = StoredValue::new(row);
    let save = Callback::new(move |()| {
        let body = NamespaceBody { spread_by: attributes(&typed.text()) };
        let call = api.set_namespace(&tenant.now(), &before.get_value(), &body);
        action.run(call, move |saved: NamespaceAnswer| {
            toasts.show(format!("The counters of {} begin anew", saved.name));
            open.try_set(false);
            namespaces.refetch();
        });
    });
    let is_unchanged = move || {
        typed.value.with(|typed| before.with_value(|row| attributes(typed) == row.spread_by))
    };
    let incomplete = Signal::derive(move || is_unchanged() || typed.is_invalid());
    let cancel = Callback::new(move |()| open.set(false));
    let title = before.with_value(|row| format!("Spread the counters of {}?", row.name));
    view! {
        <Dialog title open>
            <SubmitForm action submit="Begin the counters anew" on_submit=save incomplete cancel class="">
                <TextField
                    label="Spread by"
                    value=typed.value
                    problem=typed.problem
                    hint="Attributes, separated by commas. Empty: one primary has all counters."
                />
                <p>
                    "All counters of the namespace begin anew, except those of leased rules that do not count by these attributes. For a \
                     few seconds, until all gates know, a subject can be admitted by its old and its new counters."
                </p>
            </SubmitForm>
        </Dialog>
    }
}

/// The attributes in a text, sorted as the API returns them.
fn attributes(typed: &str) -> Vec<String> {
    let names = typed.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut names: Vec<_> = names.map(str::to_owned).collect();
    names.sort_unstable();
    names
}

fn valid(typed: &str) -> Result<(), String> {
    let wrong = |wrong: Vec<weir_domain::names::InvalidField>| {
        wrong.into_iter().next().map(|wrong| wrong.reason).unwrap_or_default()
    };
    SpreadBy::parse(attributes(typed)).map(drop).map_err(wrong)
}
