//! The rules among which a page lets choose: the first of them, those that it names, and others as somebody looks for them.

use futures_util::FutureExt as _;
use leptos::prelude::*;

use crate::api::{Api, Having, Problem};
use crate::components::rule_picker::{Rules, SomeRules};
use crate::pages::shell::TenantId;

/// The first that have something, and the one with the id, if that is not among them.
pub async fn some_rules(
    api: Api,
    tenant: &str,
    having: Having,
    named: Option<String>,
) -> Result<SomeRules, Problem> {
    let first = api.rules_with(tenant, having, "").await?;
    let missing = named.filter(|id| first.data.iter().all(|rule| rule.id != *id));
    let named = match missing {
        // An address may name anything.
        Some(id) => api.rules_of(tenant, &[id]).await.unwrap_or_default(),
        None => Vec::new(),
    };
    Ok(SomeRules { first, named })
}

/// The same with a way to find others.
pub fn rules(some: SomeRules, having: Having) -> Rules {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let find = move |text: String| {
        let tenant = tenant.now();
        async move { api.rules_with(&tenant, having, &text).await }.boxed_local()
    };
    Rules::new(some, Callback::new(find))
}

/// Fetches those of the ids that the page did not meet yet.
pub async fn meet<'a>(
    api: Api,
    tenant: &str,
    rules: Rules,
    ids: impl IntoIterator<Item = &'a String>,
) -> Result<(), Problem> {
    let unknown = rules.unknown(ids);
    rules.learn(api.rules_of(tenant, &unknown).await?);
    Ok(())
}
