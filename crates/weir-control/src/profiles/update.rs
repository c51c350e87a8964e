//! `PUT /tenants/{tenant}/profiles/{profile}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::ceilings::Ceiling;
use weir_domain::id::ProfileId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::ProfileRow;
use weir_wire::profiles::{ProfileAnswer, ProfileBody};

use crate::actor::{By, Editor, InNamespaces};
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Input;
use crate::profiles::{admit, profile_answer, write};
use crate::state::ControlState;

/// Replace a profile, based on the revision named in `If-Match`. Proxies that use its former name get 503.
#[utoipa::path(put, path = "/tenants/{tenant}/profiles/{profile}", operation_id = "profiles_update", tag = "profiles",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("profile" = String, Path, description = "`profile_…`"),
        ("If-Match" = String, Header, description = "The `ETag` last read"),
    ),
    request_body = ProfileBody,
    responses(
        (status = 200, description = "Replaced", body = ProfileAnswer,
            headers(("ETag" = String, description = "The revision, for `If-Match`"))),
        (status = 409, description = "The name is in use"),
        (status = 412, description = "Someone else changed this while you were editing"),
        (status = 428, description = "`If-Match` is missing"),
    ))]
pub(crate) async fn update(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Path((_, id)): Path<(String, String)>,
    if_match: IfMatch,
    Input { body, once }: Input<ProfileBody>,
) -> Result<Response, ControlError> {
    let id: ProfileId = id.parse().map_err(|_| Problem::not_found())?;
    body.clone().parse().map_err(Problem::invalid)?;
    caller.namespaces.admit(&body.namespace)?;
    let mut change = control.change("profiles.update", caller, once).await?;
    let before = find(&mut change, id).await?;
    let expected = if_match.required()?;
    let row = update_stored(&mut change, before, &body, expected, None).await?;
    change.answer(StatusCode::OK, &profile_answer(&row)?).await
}

/// Replaces `before`, if it still has the expected revision, and records it in the audit log. From then on, the profile
/// belongs to the set of rules as code that is given, or stays where it is.
pub(crate) async fn update_stored(
    change: &mut Change,
    before: ProfileRow,
    body: &ProfileBody,
    expected_revision: u64,
    managed_by: Option<&str>,
) -> Result<ProfileRow, ControlError> {
    let row = replace(change, &before, body, expected_revision, managed_by).await?;
    let object = Object::new("profile", &before.id);
    change.audit("profile.update", object, Some(before.spec), Some(row.spec.clone()));
    Ok(row)
}

/// The profile to change.
pub(super) async fn find(change: &mut Change, id: ProfileId) -> Result<ProfileRow, ControlError> {
    let found = change.tx.profiles().find(change.caller.tenant_id, id).await?;
    let found = found.ok_or_else(Problem::not_found)?;
    admit(&change.caller, &found)?;
    Ok(found)
}

/// Replaces `before` with a checked profile, if it still has the expected revision.
pub(super) async fn replace(
    change: &mut Change,
    before: &ProfileRow,
    body: &ProfileBody,
    expected_revision: u64,
    managed_by: Option<&str>,
) -> Result<ProfileRow, ControlError> {
    let write = write(change.caller.tenant_id, before.id, body, managed_by, change.now)?;
    let actor = &change.caller.actor;
    let row = change.tx.profiles().update(&write, expected_revision, actor).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    let most = change.ceilings.get(Ceiling::RevisionsPerRule);
    if row.revision > most {
        change.tx.profiles().keep_revisions(row.id, most).await?;
    }
    Ok(row)
}
