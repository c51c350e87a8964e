//! Pages that a browser fetches when they are opened, so that the first one comes with little.
//!
//! Each group becomes a file of its own beside the program (feature `apart`, the whole build); what several groups need and
//! the program does not becomes a file that they share. Once the first page has what it needs and the browser rests, the
//! groups are fetched ahead, so that opening one waits for nothing; not for people who save data. A draft has everything in the program, and fetching does nothing.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::api::why_not_fetched;
use crate::browser;
use crate::components::feedback::{ProblemPanel, Skeleton};
use crate::components::load::load;

/// Fetches every group as soon as the browser has nothing else to do. One that does not come is fetched again when a page of
/// it is opened, and only then somebody needs to know.
pub fn fetch_ahead() {
    if !browser::saves_data() {
        request_idle_callback(|| spawn_local(every_group()));
    }
}

/// Makes a component of each page that fetches its group first.
macro_rules! later {
    ($($group:ident: $($module:ident::$page:ident as $view:ident),+;)+) => {$($(
        mod $view {
            use leptos::prelude::*;

            #[cfg(feature = "apart")]
            #[leptos::wasm_split::wasm_split(
                $group,
                wasm_split_path = leptos::wasm_split,
                preload(fetch),
                fallible
            )]
            pub fn $view() -> Result<AnyView, leptos::wasm_split::SplitLoaderError> {
                Ok(crate::pages::$module::$page().into_any())
            }

            #[cfg(not(feature = "apart"))]
            pub async fn $view() -> Result<AnyView, ()> {
                Ok(crate::pages::$module::$page().into_any())
            }

            #[cfg(not(feature = "apart"))]
            pub async fn fetch() -> Result<(), ()> {
                Ok(())
            }
        }

        #[component]
        pub fn $page() -> impl IntoView {
            fetched(
                || async { $view::fetch().await.is_ok() }.boxed_local(),
                || $view::$view().now_or_never().and_then(Result::ok),
            )
        }
    )+)+

        async fn every_group() {
            $($(let _ = $view::fetch().await.is_ok();)+)+
        }
    };
}

later! {
    figures: overview::Overview as overview_view, live::Live as live_view,
        replicas::Replicas as replicas_view, rule::RulePage as rule_view;
    editing: rule_editor::NewRule as new_rule_view, rule_editor::RuleEditor as rule_editor_view,
        tester::Tester as tester_view, what_if::WhatIf as what_if_view;
    managing: overrides::Overrides as overrides_view, keys::Keys as keys_view,
        alerts::Alerts as alerts_view, members::Members as members_view, audit::Audit as audit_view,
        settings::Settings as settings_view, operator::Operator as operator_view;
}

/// The page once its group is there; until then a skeleton, or why it does not come and what to do.
fn fetched(fetch: fn() -> LocalBoxFuture<'static, bool>, page: fn() -> Option<AnyView>) -> AnyView {
    let group = load(move || async move {
        if fetch().await { Ok(()) } else { Err(why_not_fetched().await) }
    });
    let shown = move || {
        if group.data().is_some() {
            return page();
        }
        let Some(problem) = group.problem() else {
            return Some(view! { <Skeleton /> }.into_any());
        };
        let outdated = problem.is_outdated();
        let retry =
            Callback::new(move |()| if outdated { browser::reload() } else { group.again() });
        let act = if outdated { "Reload the page" } else { "Try again" };
        Some(view! { <ProblemPanel problem retry act /> }.into_any())
    };
    shown.into_any()
}
