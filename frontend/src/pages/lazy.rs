//! Pages whose code is loaded on demand, so that the first page needs little of it.
//!
//! Each group becomes a separate file (feature `apart`, the full build); code that several groups share is joined into
//! a few other files. When the first page has rendered and the browser is idle, all groups are prefetched, unless the
//! data saver is on. In a draft build everything is in one program and loading does nothing.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::api::load_failure;
use crate::browser;
use crate::components::feedback::{LoadingSkeleton, ProblemPanel};
use crate::components::page::PageHeader;
use crate::components::remote_data::fetch_data;

/// Prefetches every group when the browser is idle. A failure is ignored here: the group is fetched again when one of
/// its pages opens.
pub fn fetch_ahead() {
    if !browser::data_saver_on() {
        request_idle_callback(|| spawn_local(fetch_all_groups()));
    }
}

/// Defines a component for each page that first loads its group.
macro_rules! lazy {
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
            lazy_page(
                || async { $view::fetch().await.is_ok() }.boxed_local(),
                || $view::$view().now_or_never().and_then(Result::ok),
            )
        }
    )+)+

        async fn fetch_all_groups() {
            $($(let _ = $view::fetch().await.is_ok();)+)+
        }
    };
}

lazy! {
    listing: rules::Rules as rules_view, deferred::DeferredJobs as deferred_view,
        usage::Usage as usage_view, why::Why as why_view;
    figures: overview::Overview as overview_view, live::Live as live_view,
        rule::RulePage as rule_view, subjects::Subjects as subjects_view;
    editing: rule_editor::NewRule as new_rule_view, rule_editor::RuleEditor as rule_editor_view,
        what_if::WhatIf as what_if_view;
    granting: overrides::Overrides as overrides_view, keys::Keys as keys_view,
        members::Members as members_view, tester::Tester as tester_view;
    planning: plans::Plans as plans_view, customers::Customers as customers_view,
        customer::CustomerPage as customer_view;
    connecting: proxies::Proxies as proxies_view, alerts::Alerts as alerts_view;
    administering: audit::Audit as audit_view, settings::Settings as settings_view,
        operator::Operator as operator_view, operator::OperatorGates as operator_gates_view,
        operator::OperatorRegions as operator_regions_view,
        gates::Gates as gates_view;
    linked: confirm::Confirm as confirm_view, forgot::Forgot as forgot_view, reset::Reset as reset_view;
}

/// The page once its group has loaded; until then a skeleton, or the problem with a retry button.
fn lazy_page(
    fetch: fn() -> LocalBoxFuture<'static, bool>,
    page: fn() -> Option<AnyView>,
) -> AnyView {
    let group = fetch_data(move || {
        async move { if fetch().await { Ok(()) } else { Err(load_failure().await) } }.boxed_local()
    });
    let shown = move || {
        if group.data().is_some() {
            return page();
        }
        let Some(problem) = group.problem() else {
            return Some(view! { <LoadingSkeleton /> }.into_any());
        };
        let outdated = problem.is_outdated();
        let retry =
            Callback::new(move |()| if outdated { browser::reload() } else { group.refetch() });
        let action = if outdated { "Reload" } else { "Try again" };
        let view = view! {
            <PageHeader title="Page not loaded" />
            <ProblemPanel problem retry action />
        };
        Some(view.into_any())
    };
    shown.into_any()
}
