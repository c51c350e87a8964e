//! The routes of the dashboard.

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::components::{ParentRoute, Route, Router, Routes};
use leptos_router::hooks::{use_location, use_navigate};
use leptos_router::{NavigateOptions, path};

use crate::api::{Api, Connection, Problem};
use crate::browser;
use crate::components::connection_banner::ConnectionBanner;
use crate::components::feedback::ProblemPanel;
use crate::components::rule_form::DraftTransfer;
use crate::components::saved_views::SharedViews;
use crate::components::theme::Appearance;
use crate::components::time::Clock;
use crate::components::time_range::SharedTime;
use crate::components::toast::{ToastStack, Toasts};
use crate::components::url_state::AskedQueries;
use crate::pages::{
    Accept, Alerts, Audit, Confirm, CustomerPage, Customers, DeferredJobs, Forgot, Gates, Home,
    Keys, Live, Members, NewRule, NotFound, NotFoundInside, Operator, OperatorGates,
    OperatorRegions, Overrides, Overview, Plans, Proxies, Reset, RuleEditor, RulePage, Rules,
    Settings, Shell, SignIn, SignUp, Start, Subjects, Tenants, Tester, UndoneChanges, Usage,
    WhatIf, Why,
};
use crate::session::{Session, SessionState, SignOutReason};

/// The pages for people who are not signed in.
const PUBLIC: [&str; 6] = ["/sign-in", "/sign-up", "/accept", "/confirm", "/forgot", "/reset"];

/// The root component.
#[component]
pub fn App() -> impl IntoView {
    let session = Session::new();
    let (connection, toasts) = (Connection::new(), Toasts::new());
    let api = Api::new(session, connection);
    provide_context(connection);
    provide_context(toasts);
    provide_context(Appearance::density());
    provide_context(Clock::start());
    provide_context(session);
    provide_context(api);
    provide_context(DraftTransfer::new());
    provide_context(SharedTime::new());
    provide_context(SharedViews::new());
    provide_context(AskedQueries::new());
    provide_context(UndoneChanges::new());
    view! {
        <Router>
            <ConnectionBanner />
            <RequireSession />
            <Routes fallback=|| view! { <NotFound /> }>
                <Route path=path!("/") view=Home />
                <Route path=path!("/sign-in") view=SignIn />
                <Route path=path!("/sign-up") view=SignUp />
                <Route path=path!("/accept") view=Accept />
                <Route path=path!("/confirm") view=Confirm />
                <Route path=path!("/forgot") view=Forgot />
                <Route path=path!("/reset") view=Reset />
                <Route path=path!("/tenants") view=Tenants />
                <Route path=path!("/operator") view=Operator />
                <Route path=path!("/operator/gates") view=OperatorGates />
                <Route path=path!("/operator/regions") view=OperatorRegions />
                <ParentRoute path=path!("/t/:tenant") view=Shell>
                    <Route path=path!("") view=Rules />
                    <Route path=path!("start") view=Start />
                    <Route path=path!("overview") view=Overview />
                    <Route path=path!("live") view=Live />
                    <Route path=path!("subjects") view=Subjects />
                    <Route path=path!("rules") view=Rules />
                    <Route path=path!("rules/new") view=NewRule />
                    <Route path=path!("rules/:rule") view=RulePage />
                    <Route path=path!("rules/:rule/edit") view=RuleEditor />
                    <Route path=path!("overrides") view=Overrides />
                    <Route path=path!("plans") view=Plans />
                    <Route path=path!("customers") view=Customers />
                    <Route path=path!("customers/:customer") view=CustomerPage />
                    <Route path=path!("test") view=Tester />
                    <Route path=path!("what-if") view=WhatIf />
                    <Route path=path!("why/:request") view=Why />
                    <Route path=path!("proxies") view=Proxies />
                    <Route path=path!("usage") view=Usage />
                    <Route path=path!("alerts") view=Alerts />
                    <Route path=path!("deferred") view=DeferredJobs />
                    <Route path=path!("keys") view=Keys />
                    <Route path=path!("members") view=Members />
                    <Route path=path!("audit") view=Audit />
                    <Route path=path!("gates") view=Gates />
                    <Route path=path!("settings") view=Settings />
                    <Route path=path!("*any") view=NotFoundInside />
                </ParentRoute>
            </Routes>
        </Router>
        <ToastStack toasts />
    }
}

/// Restores the session from the refresh cookie. Redirects people who are not signed in to the sign-in page, with a
/// link back.
#[component]
fn RequireSession() -> impl IntoView {
    let (session, api) = (expect_context::<Session>(), expect_context::<Api>());
    let location = use_location();
    let navigate = use_navigate();
    let failed = RwSignal::new(None);
    let restore = move || {
        failed.set(None);
        spawn_local(async move {
            if let Err(problem) = api.refresh().await
                && session.is_unknown()
            {
                failed.set(Some(problem));
            }
        });
    };
    let connection = expect_context::<Connection>();
    Effect::new(move |_| {
        connection.retries();
        if session.is_unknown() {
            restore();
        }
    });
    Effect::new(move |_| {
        let (path, search) = (location.pathname.get(), location.search.get());
        let is_public = PUBLIC.contains(&path.as_str());
        if let SessionState::SignedOut(why) = session.state()
            && !is_public
        {
            let target = if path == "/" || why == SignOutReason::SignedOut {
                "/sign-in".to_owned()
            } else {
                let here = if search.is_empty() { path } else { format!("{path}?{search}") };
                format!("/sign-in?next={}", browser::encode_component(&here))
            };
            navigate(&target, NavigateOptions { replace: true, ..NavigateOptions::default() });
        }
    });
    move || {
        let retry = Callback::new(move |()| restore());
        failed.get().filter(|problem: &Problem| !problem.is_unreachable()).map(
            |problem| view! { <main class="narrow standalone"><ProblemPanel problem retry /></main> },
        )
    }
}
