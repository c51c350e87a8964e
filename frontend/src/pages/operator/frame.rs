//! The frame around the pages of operators.

use leptos::prelude::*;

use crate::components::feedback::LoadingSkeleton;
use crate::components::logo::Logo;
use crate::components::page::PageHeader;
use crate::pages::not_found::NotFound;
use crate::pages::shell::Account;
use crate::session::{Session, SessionState};

/// The pages that operators go to from here.
const PAGES: [(&str, &str); 4] = [
    ("/operator", "Operator"),
    ("/operator/gates", "Gates"),
    ("/operator/regions", "Regions"),
    ("/tenants", "Tenants"),
];

/// A page for operators, rendered once the person is signed in.
#[component]
pub(super) fn OperatorFrame(
    title: &'static str,
    lead: &'static str,
    children: ChildrenFn,
) -> impl IntoView {
    let session = expect_context::<Session>();
    let operator = Memo::new(move |_| match session.state() {
        SessionState::SignedIn(signed_in) => Some(signed_in.user.operator),
        SessionState::Unknown | SessionState::SignedOut(_) => None,
    });
    let others: Vec<_> = PAGES.into_iter().filter(|(_, name)| *name != title).collect();
    let page = move || match operator.get() {
        None => view! { <main class="narrow"><LoadingSkeleton /></main> }.into_any(),
        // To others the page does not exist, as its API does not.
        Some(false) => view! { <NotFound /> }.into_any(),
        Some(true) => {
            let link = |(href, name)| view! { <a class="button" href=href>{name}</a> };
            let links: Vec<_> = others.iter().copied().map(link).collect();
            view! {
                <main class="narrow wide">
                    <p class="brand"><Logo /></p>
                    <PageHeader title=title lead=lead>{links}</PageHeader>
                    {children()}
                    <Account />
                </main>
            }
            .into_any()
        }
    };
    view! { {page} }
}
