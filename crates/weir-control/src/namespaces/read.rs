//! `GET /tenants/{tenant}/namespaces/{namespace}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_http::params::Path;
use weir_wire::namespaces::NamespaceAnswer;

use crate::actor::{By, InNamespaces, Viewer};
use crate::answers::{answer, to_value};
use crate::error::ControlError;
use crate::namespaces::{answer_of, checked_name};
use crate::state::ControlState;

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
