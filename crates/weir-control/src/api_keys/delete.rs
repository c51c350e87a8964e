//! `DELETE /tenants/{tenant}/keys/{key}`

use axum::extract::State;
use axum::response::Response;
use weir_domain::id::KeyId;
use weir_http::params::Path;
use weir_http::problem::Problem;

use crate::actor::{Admin, By};
use crate::answers::to_value;
use crate::api_keys;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Once;
use crate::state::ControlState;

/// Revoke an API key: gates refuse it within a second.
#[utoipa::path(delete, path = "/tenants/{tenant}/keys/{key}", operation_id = "keys_delete", tag = "keys",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("key" = String, Path, description = "`key_…`"),
    ),
    responses((status = 204, description = "Revoked")))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Path((_, key)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let key_id: KeyId = key.parse().map_err(|_| Problem::not_found())?;
    let mut change = control.change("keys.delete", caller, Once::not_stored()).await?;
    let tenant_id = change.caller.tenant_id;
    let now = change.now;
    let row = change.tx.keys().revoke(tenant_id, key_id, now).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    let before = to_value(&api_keys::key(row))?;
    change.audit("key.delete", Object::new("key", &key_id), Some(before), None);
    change.done().await
}
