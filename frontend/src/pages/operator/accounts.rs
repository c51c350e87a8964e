//! The accounts of the installation, and links with which their people set a new password.

use leptos::prelude::*;
use weir_wire::accounts::Account;
use weir_wire::page::Page;

use crate::api::Api;
use crate::browser;
use crate::components::copy::CodeBlock;
use crate::components::data_table::{Column, own_view};
use crate::components::dialog::Dialog;
use crate::components::feedback::Empty;
use crate::components::field::TextField;
use crate::components::paged::{Paged, PagedTable};
use crate::components::remote_data::{fetch_data, show_table};
use crate::components::submit::{SubmitAction, SubmitForm};
use crate::components::table::RowButton;

/// The link of a person, and the person's address.
type Issued = RwSignal<Option<(String, String)>>;

#[component]
pub(super) fn Accounts() -> impl IntoView {
    let api = expect_context::<Api>();
    let (typed, search) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let accounts = fetch_data(move || api.accounts(&search.get(), None));
    let action = SubmitAction::new();
    let find = Callback::new(move |()| search.set(typed.get_untracked().trim().to_owned()));
    let issued: Issued = RwSignal::new(None);
    view! {
        <section class="panel" aria-label="Accounts">
            <h2>"Accounts"</h2>
            <SubmitForm action submit="Search" on_submit=find class="row">
                <TextField label="E-mail or name" kind="search" value=typed />
            </SubmitForm>
            {show_table(accounts, move |page| view! { <List page search issued /> })}
            <IssuedLink issued />
        </section>
    }
}

/// The accounts loaded so far, and a button that loads more.
#[component]
fn List(page: Page<Account>, search: RwSignal<String>, issued: Issued) -> impl IntoView {
    let api = expect_context::<Api>();
    let next = move |cursor| api.accounts(&search.get(), cursor);
    let accounts = Paged::new(Signal::stored(page), next);
    view! {
        <PagedTable
            paged=accounts
            label="Accounts of the installation"
            nouns=("account", "accounts")
            columns=columns(accounts.more.action, issued)
            id=|account| account.id.clone()
            view=own_view()
            empty=|| view! { <Empty title="No account contains this text">""</Empty> }
        />
    }
}

fn columns(action: SubmitAction, issued: Issued) -> Vec<Column<Account>> {
    let named = |account: &Account| format!("{} {}", account.email, account.name);
    vec![
        Column::new("account", "Account", named).by_text(named).cell(|account| {
            view! {
                <div class="name"><bdi>{account.email.clone()}</bdi></div>
                <div class="muted">{standing(account)}</div>
            }
            .into_any()
        }),
        Column::number("tenants", "Tenants", |account: &Account| account.tenants),
        Column::last_time("seen", "Last seen", |account: &Account| account.last_seen_at),
        Column::actions(move |account: &Account| {
            // The command line alone issues links for operators.
            if account.operator || account.disabled {
                return ().into_any();
            }
            let email = account.email.clone();
            view! { <ResetLink email action issued /> }.into_any()
        })
        .class("number row-actions"),
    ]
}

/// The marks that distinguish the account from an ordinary one.
fn standing(account: &Account) -> String {
    let marks = [
        (account.operator, "Operator"),
        (account.disabled, "Disabled"),
        (account.second_factor, "Two-factor authentication"),
    ];
    let marks: Vec<_> = marks.iter().filter(|(holds, _)| *holds).map(|(_, mark)| *mark).collect();
    marks.join(", ")
}

#[component]
fn ResetLink(email: String, action: SubmitAction, issued: Issued) -> impl IntoView {
    let api = expect_context::<Api>();
    let label = format!("Reset link for {email}");
    let issue = move |()| {
        let email = email.clone();
        action.run(api.issue_reset(&email), move |made| {
            let link = format!("{}/reset#{}", browser::origin(), made.token.0);
            issued.set(Some((email, link)));
        });
    };
    view! { <RowButton text="Reset link" label disabled=action.busy on_press=issue /> }
}

/// The link, shown once.
#[component]
fn IssuedLink(issued: Issued) -> impl IntoView {
    let open = RwSignal::new(false);
    Effect::new(move |_| open.set(issued.with(Option::is_some)));
    let body = move || {
        issued.get().map(|(email, link)| {
            view! {
                <p>{format!("Send this link to {email}. It lets its holder set a new password for the account. It works once, within one hour.")}</p>
                <CodeBlock code=link label="Copy link" />
            }
        })
    };
    view! {
        <Dialog title="Reset link" open>
            <div class="stack">
                {body}
                <div class="actions">
                    <button type="button" class="button primary" on:click=move |_| open.set(false)>"Done"</button>
                </div>
            </div>
        </Dialog>
    }
}
