//! The customers' own view of their usage: the settings of the tenant, the tokens, and the page of a customer.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use serde_json::{Value, json};
use weir_http::bearer::credential;
use weir_http::json::Json;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_http::view_token::{UnverifiedToken, Viewer as TokenViewer};
use weir_store::Scope;
use weir_wire::customers::{
    CustomerPage, CustomerViewBody, StoredCustomerView, VIEW_TOKEN_S_MAX, ViewTokenAnswer,
    ViewTokenBody,
};

use super::checked;
use crate::actor::{Admin, By, ViewIssuer, Viewer};
use crate::answers::{answer, to_value};
use crate::change::Object;
use crate::error::ControlError;
use crate::input::{Input, Once};
use crate::plans::customer_attribute;
use crate::replicas::LIVE_WITHIN;
use crate::state::ControlState;

/// The customers' own view of their usage: its title and color, the origins of pages that read it, and the rules that it leaves out.
#[utoipa::path(get, path = "/tenants/{tenant}/customer-view", operation_id = "customer_view_read", tag = "plans",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    responses((status = 200, description = "The settings", body = CustomerViewBody)))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
) -> Result<Json<CustomerViewBody>, ControlError> {
    let mut tx = control.reading("customer_view.read", &caller).await?;
    let view = stored(tx.tenants().customer_view(caller.tenant_id).await?)?;
    Ok(Json(view.view))
}

/// Replace the settings of the customers' own view.
#[utoipa::path(put, path = "/tenants/{tenant}/customer-view", operation_id = "customer_view_update", tag = "plans",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = CustomerViewBody,
    responses((status = 200, description = "Replaced", body = CustomerViewBody)))]
pub(crate) async fn update(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Input { body, once }: Input<CustomerViewBody>,
) -> Result<Response, ControlError> {
    let wrong = body.problems();
    if !wrong.is_empty() {
        return Err(Problem::invalid(wrong).into());
    }
    let mut change = control.change("customer_view.update", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let before = stored(change.tx.tenants().customer_view(tenant_id).await?)?;
    let keys = control.auth.view_keys.public();
    let after = StoredCustomerView { view: body.clone(), keys };
    change.tx.tenants().set_customer_view(tenant_id, &to_value(&after)?).await?;
    let object = Object::new("tenant", &tenant_id);
    let (before, after) = (audited(&before.view)?, audited(&body)?);
    change.audit("tenant.customer_view", object, Some(before), Some(after));
    change.answer(StatusCode::OK, &body).await
}

/// Make a token with which one customer reads its own usage, at a gate (`GET /usage`) and on its page (`/u/#token`). The token is not
/// stored and cannot be revoked, so let it be valid for a short time only.
#[utoipa::path(post, path = "/tenants/{tenant}/customers/{customer}/view-token", operation_id = "customers_view_token", tag = "plans",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("customer" = String, Path, description = "The value of the customer attribute in checks"),
    ),
    request_body = ViewTokenBody,
    responses(
        (status = 200, description = "The token", body = ViewTokenAnswer),
        (status = 409, description = "The tenant has no `customer_attribute`"),
    ))]
pub(crate) async fn token(
    State(control): State<ControlState>,
    By { caller, .. }: By<ViewIssuer>,
    Path((_, customer)): Path<(String, String)>,
    Json(body): Json<ViewTokenBody>,
) -> Result<Response, ControlError> {
    checked(&customer)?;
    if !(1..=VIEW_TOKEN_S_MAX).contains(&body.ttl_s) {
        let reason = format!("must be from 1 to {VIEW_TOKEN_S_MAX}");
        return Err(Problem::invalid_field("ttl_s", reason).into());
    }
    let tenant = caller.tenant_id;
    let mut tx = control.reading("customers.view_token", &caller).await?;
    let view = stored(tx.tenants().customer_view(tenant).await?)?;
    let row = tx.tenants().find(tenant).await?.ok_or_else(Problem::not_found)?;
    drop(tx);
    let lifetime_ms = i64::try_from(body.ttl_s * 1_000).unwrap_or(0);
    let expires_at = control.clock.now().plus_ms(lifetime_ms);
    let token = control.auth.view_keys.sign(&TokenViewer { tenant, customer, expires_at });
    let made =
        ViewTokenAnswer { token, expires_at: expires_at.into(), rulebook_version: row.version };
    let keys = control.auth.view_keys.public();
    if row.customer_attribute.is_some() && view.keys == keys {
        return Ok(answer(StatusCode::OK, &to_value(&made)?));
    }
    let mut change = control.change("customers.view_keys", caller, Once::not_stored()).await?;
    customer_attribute(&mut change).await?;
    let view = to_value(&StoredCustomerView { keys, ..view })?;
    change.tx.tenants().set_customer_view(tenant, &view).await?;
    change.answer(StatusCode::OK, &made).await
}

/// The page of the customer that the token in `Authorization: Bearer view_…` names.
#[utoipa::path(get, path = "/view", operation_id = "customer_page", tag = "plans", security(()),
    responses(
        (status = 200, description = "The page", body = CustomerPage),
        (status = 401, description = "The token is not valid, or has expired"),
    ))]
pub(crate) async fn page(
    State(control): State<ControlState>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Json<CustomerPage>, ControlError> {
    let token = UnverifiedToken::parse(credential(&headers, &uri)?);
    let viewer =
        token.and_then(|token| control.auth.view_keys.verified(token, control.clock.now()));
    let viewer = viewer.ok_or_else(Problem::unauthenticated)?;
    let tenant_id = viewer.tenant;
    let mut tx = control.store.begin("customer_view.page", Scope::Tenant(tenant_id)).await?;
    let tenant = tx.tenants().find(tenant_id).await?;
    let tenant = tenant.filter(|tenant| !tenant.suspended && tenant.customer_attribute.is_some());
    let tenant = tenant.ok_or_else(Problem::unauthenticated)?;
    let view = stored(tx.tenants().customer_view(tenant_id).await?)?;
    let gates = tx.gates().list_live(LIVE_WITHIN).await?;
    let CustomerViewBody { title, color, logo, .. } = view.view;
    Ok(Json(CustomerPage {
        customer: viewer.customer,
        title: title.unwrap_or(tenant.name),
        color,
        logo,
        gates: gates.into_iter().map(|gate| gate.address).collect(),
    }))
}

pub(crate) fn stored(view: Option<Value>) -> Result<StoredCustomerView, Problem> {
    let view = view.map(serde_json::from_value).transpose().map_err(Problem::internal)?;
    Ok(view.unwrap_or_default())
}

/// The settings for the audit log: of the logo only its size.
fn audited(view: &CustomerViewBody) -> Result<Value, ControlError> {
    let mut settings = to_value(view)?;
    settings["logo"] = json!(view.logo.as_ref().map(|logo| format!("{} bytes", logo.len())));
    Ok(settings)
}
