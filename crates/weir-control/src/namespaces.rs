//! Namespaces and their settings.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::names;
use weir_domain::rule::Rule;
use weir_domain::spread::SpreadBy;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_store::NamespaceRow;
use weir_wire::namespaces::NamespaceAnswer;
use weir_wire::page::Page;

use crate::actor::{By, InNamespaces, Viewer};
use crate::answers::{answer, to_value};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;

pub(crate) mod update;

/// The tenant's namespaces that have rules or settings, by name.
#[utoipa::path(get, path = "/tenants/{tenant}/namespaces", operation_id = "namespaces_list", tag = "namespaces",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The namespaces", body = Page<NamespaceAnswer>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<NamespaceAnswer>>, ControlError> {
    let tenant_id = caller.tenant_id;
    let only = caller.namespaces.only();
    let list = List::new(&["namespaces", &tenant_id.to_string(), &format!("{only:?}")], query)?;
    let page = list.page(Some::<String>)?;
    let mut tx = control.reading("namespaces.list", &caller).await?;
    let listing = tx.namespaces().list(tenant_id, only, &page).await?;
    Ok(Json(list.answer(listing, |row| row.name.clone(), answer_of)))
}

/// One namespace; the revision of its settings is also the `ETag`. A namespace without stored settings has the defaults.
#[utoipa::path(get, path = "/tenants/{tenant}/namespaces/{namespace}", operation_id = "namespaces_read", tag = "namespaces",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("namespace" = String, Path, description = "The name"),
    ),
    responses((status = 200, description = "The namespace", body = NamespaceAnswer,
        headers(("ETag" = String, description = "The revision, for `If-Match`")))))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Path((_, name)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    checked_name(&name)?;
    caller.namespaces.admit(&name)?;
    let mut tx = control.reading("namespaces.read", &caller).await?;
    let row = tx.namespaces().find(caller.tenant_id, &name).await?;
    Ok(answer(StatusCode::OK, &to_value(&answer_of(row))?))
}

/// Refuses a rule whose counters the namespace cannot place: it neither counts by the attributes of `spread_by` nor leases.
pub(crate) fn admit_rule(spread_by: &[String], rule: &Rule) -> Result<(), Problem> {
    SpreadBy::parse(spread_by.to_vec())
        .unwrap_or_default()
        .admit(rule.namespace(), rule)
        .map_err(|wrong| Problem::invalid_field(wrong.field, wrong.reason))
}

/// A namespace in JSON.
fn answer_of(row: NamespaceRow) -> NamespaceAnswer {
    let NamespaceRow { name, rules, spread_by, revision, rulebook_version } = row;
    NamespaceAnswer { name, rules, spread_by, revision, rulebook_version }
}

/// Checks the name in a path.
fn checked_name(name: &str) -> Result<(), Problem> {
    names::namespace(name).map_err(|_| Problem::not_found())
}
