//! `GET /tenants/{tenant}/rules`

use axum::extract::State;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use weir_domain::id::RuleId;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{RuleActivity, RuleAfter, RuleFilter, RuleHas, RuleRow};
use weir_wire::page::Page;
use weir_wire::rules::{RULE_IDS_MAX, RuleAnswer};

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::names;
use crate::rules::rule_answer;
use crate::state::ControlState;

/// The filter and page of rules.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RulesQuery {
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Only rules of this namespace.
    namespace: Option<String>,
    /// Only rules with this text in `namespace/name`, in any case; at most 256 characters.
    search: Option<String>,
    /// Only rules with these ids, separated by commas; at most 100.
    ids: Option<String>,
    /// Only rules that count by an attribute (`count_by`), or that have a limit which is a quota (`quota`).
    #[param(inline)]
    has: Option<RulesHave>,
}

/// A property of rules to filter by.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RulesHave {
    /// Attributes they count by.
    CountBy,
    /// A limit that is a quota.
    Quota,
}

/// The tenant's rules, by namespace and name.
#[utoipa::path(get, path = "/tenants/{tenant}/rules", operation_id = "rules_list", tag = "rules",
    params(("tenant" = String, Path, description = "`tenant_…`"), RulesQuery),
    responses((status = 200, description = "The rules", body = Page<RuleAnswer>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<RulesQuery>,
) -> Result<Json<Page<RuleAnswer>>, ControlError> {
    let has = query.has.map(|property| match property {
        RulesHave::CountBy => RuleHas::CountBy,
        RulesHave::Quota => RuleHas::Quota,
    });
    let namespace = names::namespace_filter(query.namespace)?;
    let of_ids = query.ids.clone().unwrap_or_else(|| "*".to_owned());
    let ids = query.ids.as_deref().map(rule_ids).transpose()?;
    let filter = RuleFilter {
        namespaces: caller.namespaces.filter(namespace)?,
        search: names::text_filter("search", query.search)?,
        ids,
        has,
    };
    let of = [
        "rules",
        &caller.tenant_id.to_string(),
        &format!("{:?}", filter.namespaces),
        filter.search.as_deref().unwrap_or_default(),
        &of_ids,
        &format!("{has:?}"),
    ];
    let list = List::new(&of, ListQuery { limit: query.limit, cursor: query.cursor })?;
    let page = list.page(|(namespace, name)| Some(RuleAfter { namespace, name }))?;
    let mut tx = control.reading("rules.list", &caller).await?;
    let listing = tx.rules().list(caller.tenant_id, &filter, &page).await?;
    let listed: Vec<_> = listing.items.iter().map(|row| row.id).collect();
    let activity = tx.rules().activity(caller.tenant_id, &listed).await?;
    let key = |row: &RuleRow| (row.namespace.clone(), row.name.clone());
    let page = list.answer(listing, key, |row| with_activity(&row, activity.get(&row.id)));
    let data = page.data.into_iter().collect::<Result<_, _>>()?;
    Ok(Json(Page { data, next_cursor: page.next_cursor }))
}

/// A rule with the facts that only lists have.
fn with_activity(row: &RuleRow, activity: Option<&RuleActivity>) -> Result<RuleAnswer, Problem> {
    let mut answer = rule_answer(row)?;
    answer.overrides = activity.map(|activity| activity.overrides);
    answer.changed_by = activity.and_then(|activity| activity.changed_by.clone());
    Ok(answer)
}

/// Parses ids such as `rule_…,rule_…`.
fn rule_ids(text: &str) -> Result<Vec<RuleId>, Problem> {
    let wrong = || {
        Problem::invalid_field(
            "ids",
            format!("must be 1 to {RULE_IDS_MAX} ids of rules, apart by commas"),
        )
    };
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let parts: Vec<_> = text.split(',').collect();
    if parts.len() > RULE_IDS_MAX {
        return Err(wrong());
    }
    parts.into_iter().map(|part| part.parse().map_err(|_| wrong())).collect()
}
