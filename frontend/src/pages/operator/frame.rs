//! The frame around the pages of operators.

use leptos::prelude::*;

use crate::components::feedback::LoadingSkeleton;
use crate::components::logo::Logo;
use crate::components::page::PageHeader;
use crate::pages::not_found::NotFound;
use crate::pages::shell::Account;
use crate::session::{Session, SessionState};

/// A page for operators, rendered once the person is signed in.
#[component]
pub(super) fn OperatorFrame(
    title: &'static str,
    lead: &'static str,
    /// The address and the name of the other page for operators.
    other: (&'static str, &'static str),
    children: ChildrenFn,
) -> impl IntoView {
    let session = expect_context::<Session>();
    let operator = Memo::new(move |_| match session.state() {
        SessionState::SignedIn(signed_in) => Some(signed_in.user.operator),
        SessionState::Unknown | SessionState::SignedOut(_) => None,
    });
    let page = move || match operator.get() {
        None => view! { <main class="narrow"><LoadingSkeleton /></main> }.into_any(),
        // To others the page does not exist, as its API does not.
        Some(false) => view! { <NotFound /> }.into_any(),
        Some(true) => view! {
            <main class="narrow wide">
                <p class="brand"><Logo /></p>
                <PageHeader title=title lead=lead>
                    <a class="button" href=other.0>{other.1}</a>
                    <a class="button" href="/tenants">"Tenants"</a>
                </PageHeader>
                {children()}
                <Account />
            </main>
        }
        .into_any(),
    };
    view! { {page} }
}
