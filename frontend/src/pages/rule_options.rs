//! Loading the rules that a rule picker offers: the first page, the rules that the page refers to, and search results.

use leptos::prelude::*;

use crate::api::{Api, Problem, RuleSelection};
use crate::components::rule_picker::{RuleOptions, Rules};
use crate::pages::shell::TenantId;

/// The first page of the selected rules, and the rule with the id `named` if it is not on that page.
pub async fn load_rule_options(
    api: Api,
    tenant: &str,
    having: &RuleSelection,
    named: Option<String>,
) -> Result<RuleOptions, Problem> {
    let first = api.search_rules(tenant, having, "").await?;
    let missing = named.filter(|id| first.data.iter().all(|rule| rule.id != *id));
    let named = match missing {
        // A URL can contain any id.
        Some(id) => api.rules_by_ids(tenant, &[id]).await.unwrap_or_default(),
        None => Vec::new(),
    };
    Ok(RuleOptions { first, named })
}

/// The loaded rules with their search function.
pub fn known_rules(options: RuleOptions, having: RuleSelection) -> Rules {
    let (api, tenant) = (expect_context::<Api>(), expect_context::<TenantId>());
    let find = move |text: String| {
        let tenant = tenant.now();
        let having = having.clone();
        api.search_rules(&tenant, &having, &text)
    };
    Rules::new(options, Callback::new(find))
}

/// Loads the rules among `ids` that have not been loaded yet.
pub async fn load_missing_rules<'a>(
    api: Api,
    tenant: &str,
    rules: Rules,
    ids: impl IntoIterator<Item = &'a String>,
) -> Result<(), Problem> {
    let missing = rules.missing(ids);
    rules.add(api.rules_by_ids(tenant, &missing).await?);
    Ok(())
}
