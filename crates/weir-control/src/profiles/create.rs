//! `POST /tenants/{tenant}/profiles`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::ProfileId;
use weir_domain::profile::PROFILES_PER_TENANT_MAX;
use weir_http::problem::Problem;
use weir_store::ProfileRow;
use weir_wire::problem::ErrorCode;
use weir_wire::profiles::{ProfileAnswer, ProfileBody};

use crate::actor::{By, Editor, InNamespaces};
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::Input;
use crate::profiles::{profile_answer, write};
use crate::state::ControlState;

/// Create a profile. Proxies can use it from the `rulebook_version` in the answer.
#[utoipa::path(post, path = "/tenants/{tenant}/profiles", operation_id = "profiles_create", tag = "profiles",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = ProfileBody,
    responses(
        (status = 201, description = "Created", body = ProfileAnswer),
        (status = 409, description = "The name is in use, or the tenant has reached its limit of profiles"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Input { body, once }: Input<ProfileBody>,
) -> Result<Response, ControlError> {
    body.clone().parse().map_err(Problem::invalid)?;
    caller.namespaces.admit(&body.namespace)?;
    let mut change = control.change("profiles.create", caller, once).await?;
    let row = insert(&control, &mut change, &body, None).await?;
    change.answer(StatusCode::CREATED, &profile_answer(&row)?).await
}

/// Inserts a checked profile, which belongs to a set of rules as code if one is given, and records it in the audit log.
pub(crate) async fn insert(
    control: &ControlState,
    change: &mut Change,
    body: &ProfileBody,
    managed_by: Option<&str>,
) -> Result<ProfileRow, ControlError> {
    refuse_above_bound(change).await?;
    let id = control.id(ProfileId::new);
    let write = write(change.caller.tenant_id, id, body, managed_by, change.now)?;
    let row = change.tx.profiles().insert(&write, &change.caller.actor).await?;
    let object = Object::new("profile", &row.id);
    change.audit("profile.create", object, None, Some(row.spec.clone()));
    Ok(row)
}

async fn refuse_above_bound(change: &mut Change) -> Result<(), ControlError> {
    let count = change.tx.profiles().count(change.caller.tenant_id).await?;
    if count < PROFILES_PER_TENANT_MAX {
        return Ok(());
    }
    let detail = format!("the tenant has {count} profiles; {PROFILES_PER_TENANT_MAX} is the most");
    Err(Problem::new(ErrorCode::Conflict, detail).into())
}
