//! Addresses and what stands there.

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::components::{ParentRoute, Route, Router, Routes};
use leptos_router::hooks::{use_location, use_navigate};
use leptos_router::{NavigateOptions, path};

use crate::api::Api;
use crate::browser;
use crate::components::feedback::ProblemPanel;
use crate::components::rule_form::Carried;
use crate::pages::{
    Accept, Alerts, Audit, Confirm, Home, Keys, Live, Members, NewRule, NotFound, Operator,
    Overrides, Overview, Replicas, RuleEditor, RulePage, Rules, Settings, Shell, SignIn, SignUp,
    Start, Tenants, Tester, WhatIf,
};
use crate::session::{Session, SessionState, Why};

/// The whole dashboard.
#[component]
pub fn App() -> impl IntoView {
    let session = Session::new();
    let api = Api::new(session);
    provide_context(session);
    provide_context(api);
    provide_context(Carried::new());
    view! {
        <Router>
            <Guard />
            <Routes fallback=|| view! { <NotFound /> }>
                <Route path=path!("/") view=Home />
                <Route path=path!("/sign-in") view=SignIn />
                <Route path=path!("/sign-up") view=SignUp />
                <Route path=path!("/accept") view=Accept />
                <Route path=path!("/confirm") view=Confirm />
                <Route path=path!("/tenants") view=Tenants />
                <Route path=path!("/operator") view=Operator />
                <ParentRoute path=path!("/t/:tenant") view=Shell>
                    <Route path=path!("") view=Rules />
                    <Route path=path!("start") view=Start />
                    <Route path=path!("overview") view=Overview />
                    <Route path=path!("live") view=Live />
                    <Route path=path!("rules") view=Rules />
                    <Route path=path!("rules/new") view=NewRule />
                    <Route path=path!("rules/:rule") view=RulePage />
                    <Route path=path!("rules/:rule/edit") view=RuleEditor />
                    <Route path=path!("overrides") view=Overrides />
                    <Route path=path!("test") view=Tester />
                    <Route path=path!("what-if") view=WhatIf />
                    <Route path=path!("alerts") view=Alerts />
                    <Route path=path!("keys") view=Keys />
                    <Route path=path!("members") view=Members />
                    <Route path=path!("audit") view=Audit />
                    <Route path=path!("replicas") view=Replicas />
                    <Route path=path!("settings") view=Settings />
                    <Route path=path!("*any") view=NotFound />
                </ParentRoute>
            </Routes>
        </Router>
    }
}

/// Tries the refresh cookie, and leads whoever is not signed in to the sign-in page and from there back to where they were.
#[component]
fn Guard() -> impl IntoView {
    let (session, api) = (expect_context::<Session>(), expect_context::<Api>());
    let location = use_location();
    let navigate = use_navigate();
    let failed = RwSignal::new(None);
    let begin = move || {
        failed.set(None);
        spawn_local(async move {
            if let Err(problem) = api.refresh().await
                && session.is_unknown()
            {
                failed.set(Some(problem));
            }
        });
    };
    if session.is_unknown() {
        begin();
    }
    Effect::new(move |_| {
        let (path, search) = (location.pathname.get(), location.search.get());
        let open = matches!(path.as_str(), "/sign-in" | "/sign-up" | "/accept" | "/confirm");
        if let SessionState::SignedOut(why) = session.state()
            && !open
        {
            let target = if path == "/" || why == Why::Left {
                "/sign-in".to_owned()
            } else {
                let here = if search.is_empty() { path } else { format!("{path}?{search}") };
                format!("/sign-in?next={}", browser::encoded(&here))
            };
            navigate(&target, NavigateOptions { replace: true, ..NavigateOptions::default() });
        }
    });
    move || {
        let retry = Callback::new(move |()| begin());
        failed.get().map(
            |problem| view! { <main class="narrow instead"><ProblemPanel problem retry /></main> },
        )
    }
}
