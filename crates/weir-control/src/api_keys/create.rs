//! `POST /tenants/{tenant}/keys`

use std::collections::BTreeSet;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::api_key::ApiKeySecret;
use weir_domain::ceilings::Ceiling;
use weir_domain::id::KeyId;
use weir_domain::names::namespace;
use weir_http::problem::Problem;
use weir_store::NewKey;
use weir_wire::api_keys::{CreateKey, IssuedKey, KEY_NAMESPACES_MAX, KeyScope};

use crate::actor::{Admin, By};
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;
use crate::{api_keys, ceilings, names};

/// The number of scopes.
const SCOPES_MAX: usize = 6;

/// Create an API key. Only this answer contains its secret.
#[utoipa::path(post, path = "/tenants/{tenant}/keys", operation_id = "keys_create", tag = "keys",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = CreateKey,
    responses(
        (status = 201, description = "Created", body = IssuedKey),
        (status = 409, description = "The tenant has reached its ceiling of keys, or the key was already created with this idempotency key: the secret cannot be shown again"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Input { body, once }: Input<CreateKey>,
) -> Result<Response, ControlError> {
    names::name("name", &body.name)?;
    if !(1..=SCOPES_MAX).contains(&body.scopes.len()) {
        let reason = format!("must name from 1 to {SCOPES_MAX} scopes");
        return Err(Problem::invalid_field("scopes", reason).into());
    }
    let namespaces = namespaces(&body)?;
    let expires_at = body.expires_at.map(|at| at.0);
    if expires_at.is_some_and(|at| at <= control.clock.now()) {
        return Err(Problem::invalid_field("expires_at", "must be in the future").into());
    }
    let mut change = control.change("keys.create", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let ceiling = change.ceilings.get(Ceiling::ApiKeys);
    let usable = change.tx.keys().count_usable(tenant_id, change.now).await?;
    if usable >= ceiling {
        return Err(ceilings::reached(Ceiling::ApiKeys, ceiling, usable).into());
    }
    let secret = ApiKeySecret::generate(&control.random.bytes());
    let new = NewKey {
        id: control.id(KeyId::new),
        tenant_id,
        name: body.name,
        scopes: api_keys::words(&body.scopes),
        namespaces,
        hint: secret.hint(),
        digest: secret.digest().0,
        expires_at,
        created_by: api_keys::maker(&change.caller.actor),
        now: change.now,
    };
    let row = change.tx.keys().insert(&new).await?;
    let object = Object::new("key", &row.id);
    let after = to_value(&api_keys::key(row.clone()))?;
    change.audit("key.create", object, None, Some(after));
    let to_repeats =
        format!("{} was created by the first request, which returned its secret", row.id);
    let shown = api_keys::issued(row, secret.expose());
    change.answer_once(StatusCode::CREATED, &shown, to_repeats).await
}

/// The namespaces to which the key is restricted, each once.
fn namespaces(body: &CreateKey) -> Result<Option<Vec<String>>, Problem> {
    let Some(names) = &body.namespaces else { return Ok(None) };
    if !(1..=KEY_NAMESPACES_MAX).contains(&names.len()) {
        let reason = format!(
            "must hold from 1 to {KEY_NAMESPACES_MAX} namespaces; without it, the key is not restricted"
        );
        return Err(Problem::invalid_field("namespaces", reason));
    }
    for (at, name) in names.iter().enumerate() {
        let invalid = |reason| Problem::invalid_field(format!("namespaces[{at}]"), reason);
        namespace(name).map_err(invalid)?;
    }
    if !body.scopes.iter().all(|scope| matches!(scope, KeyScope::Read | KeyScope::Write)) {
        let reason = "can restrict only keys whose scopes are `read` and `write`";
        return Err(Problem::invalid_field("namespaces", reason));
    }
    let unique: BTreeSet<&String> = names.iter().collect();
    Ok(Some(unique.into_iter().cloned().collect()))
}
