//! `GET /operator/accounts`

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_store::AccountRow;
use weir_wire::accounts::Account;
use weir_wire::page::Page;

use crate::actor::Operator;
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::names;
use crate::state::ControlState;

/// The parameters of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AccountsQuery {
    /// A part of the e-mail address or the name, in any case.
    #[param(max_length = 256)]
    search: Option<String>,
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// The accounts of the installation, in the order of their creation; for operators.
#[utoipa::path(get, path = "/operator/accounts", operation_id = "operator_accounts", tag = "operator",
    params(AccountsQuery),
    responses(
        (status = 200, description = "The accounts", body = Page<Account>),
        (status = 404, description = "The caller is not an operator"),
    ))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    Operator(person): Operator,
    Query(AccountsQuery { search, limit, cursor }): Query<AccountsQuery>,
) -> Result<Json<Page<Account>>, ControlError> {
    let search = names::text_filter("search", search)?;
    let of = ["operator.accounts", search.as_deref().unwrap_or_default()];
    let list = List::new(&of, ListQuery { limit, cursor })?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = person.begin(&control, "operator.accounts").await?;
    let listing = tx.accounts().list(search.as_deref(), &page).await?;
    Ok(Json(list.answer(listing, |row| row.id.to_string(), account)))
}

fn account(row: AccountRow) -> Account {
    Account {
        id: row.id.to_string(),
        email: row.email,
        name: row.name,
        operator: row.operator,
        disabled: row.disabled,
        second_factor: row.second_factor,
        tenants: row.tenants,
        created_at: row.created_at.into(),
        last_seen_at: row.last_seen_at.map(Into::into),
    }
}
