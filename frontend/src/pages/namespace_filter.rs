//! The namespace that a page is filtered by, to choose among those of the tenant.

use std::collections::BTreeSet;

use futures_util::FutureExt as _;
use leptos::prelude::*;

use crate::api::Api;
use crate::browser;
use crate::components::field::Binding;
use crate::components::namespace::{NamespacePicker, SharedNamespace};
use crate::components::remote_data::fetch_data;
use crate::pages::shell::TenantId;

/// The time for which the requests of the page come first, in milliseconds.
const LATER_MS: i32 = 100;

#[component]
pub fn NamespaceFilter(namespace: Binding<String>) -> impl IntoView {
    view! { <NamespacePicker namespace known=known_namespaces() /> }
}

/// The first namespaces of the tenant; those of the page before until they have loaded.
pub fn known_namespaces() -> Signal<BTreeSet<String>> {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let known = expect_context::<SharedNamespace>().known;
    let namespaces = fetch_data(move || {
        let tenant = tenant.get();
        async move {
            browser::wait_ms(LATER_MS).await;
            api.namespaces(&tenant).await
        }
        .boxed_local()
    });
    Effect::new(move |_| {
        let Some(page) = namespaces.data() else { return };
        known.set(page.data.into_iter().map(|namespace| namespace.name).collect());
    });
    known.into()
}
