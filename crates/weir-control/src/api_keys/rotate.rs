//! `POST /tenants/{tenant}/keys/{key}/rotate`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::api_key::ApiKeySecret;
use weir_domain::id::KeyId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::KeyRotation;
use weir_wire::api_keys::{IssuedKey, RotateKey};

use crate::actor::{Admin, By};
use crate::answers::to_value;
use crate::api_keys;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;

const OVERLAP_S_MAX: u32 = 30 * 24 * 60 * 60;

/// Give an API key a new secret. The previous one also works until the overlap ends.
#[utoipa::path(post, path = "/tenants/{tenant}/keys/{key}/rotate", operation_id = "keys_rotate", tag = "keys",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("key" = String, Path, description = "`key_…`"),
    ),
    request_body = RotateKey,
    responses(
        (status = 200, description = "Rotated", body = IssuedKey),
        (status = 409, description = "Already rotated with this idempotency key; the secret cannot be shown again"),
    ))]
pub(crate) async fn rotate(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Path((_, key)): Path<(String, String)>,
    Input { body, once }: Input<RotateKey>,
) -> Result<Response, ControlError> {
    let key_id: KeyId = key.parse().map_err(|_| Problem::not_found())?;
    if body.overlap_s > OVERLAP_S_MAX {
        return Err(Problem::invalid_field("overlap_s", "must be at most 2592000 (30 days)").into());
    }
    let mut change = control.change("keys.rotate", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let before = change.tx.keys().find(tenant_id, key_id).await?.ok_or_else(Problem::not_found)?;
    let before = to_value(&api_keys::key(before))?;
    let secret = ApiKeySecret::generate(&control.random.bytes());
    let rotation = KeyRotation {
        id: key_id,
        tenant_id,
        digest: secret.digest().0,
        hint: secret.hint(),
        previous_expires_at: change.now.plus_ms(i64::from(body.overlap_s) * 1000),
    };
    let row = change.tx.keys().rotate(&rotation).await?.ok_or_else(Problem::not_found)?;
    let after = to_value(&api_keys::key(row.clone()))?;
    change.audit("key.rotate", Object::new("key", &key_id), Some(before), Some(after));
    let to_repeats =
        format!("{key_id} was rotated by the first request; its secret was shown then");
    let shown = api_keys::issued(row, secret.expose());
    change.answer_once(StatusCode::OK, &shown, to_repeats).await
}
