//! `POST /tenants/{tenant}/profiles/{profile}/revert`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::ProfileId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_wire::audit::RevertBody;
use weir_wire::profiles::{ProfileAnswer, ProfileBody};

use crate::actor::{By, Editor, InNamespaces};
use crate::change::Object;
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Input;
use crate::profiles::profile_answer;
use crate::profiles::update::{find, replace};
use crate::state::ControlState;

/// Restore an older revision, as a new revision. Proxies that use its present name get 503 if the older revision has another name.
#[utoipa::path(post, path = "/tenants/{tenant}/profiles/{profile}/revert", operation_id = "profiles_revert", tag = "profiles",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("profile" = String, Path, description = "`profile_…`"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` last read; without it the present revision is reverted"),
    ),
    request_body = RevertBody,
    responses(
        (status = 200, description = "Reverted", body = ProfileAnswer,
            headers(("ETag" = String, description = "The revision, for `If-Match`"))),
        (status = 409, description = "The name is in use"),
        (status = 412, description = "Someone else changed this while you were editing"),
    ))]
pub(crate) async fn revert(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Path((_, profile)): Path<(String, String)>,
    if_match: IfMatch,
    Input { body, once }: Input<RevertBody>,
) -> Result<Response, ControlError> {
    let id: ProfileId = profile.parse().map_err(|_| Problem::not_found())?;
    let expected = if_match.optional()?;
    let mut change = control.change("profiles.revert", caller, once).await?;
    let before = find(&mut change, id).await?;
    let tenant_id = change.caller.tenant_id;
    let wanted = change.tx.profiles().revision(tenant_id, id, body.revision).await?;
    let wanted = wanted
        .ok_or_else(|| Problem::invalid_field("revision", "names no revision of this profile"))?;
    let old: ProfileBody = serde_json::from_value(wanted.after).map_err(Problem::internal)?;
    old.clone().parse().map_err(Problem::invalid)?;
    change.caller.namespaces.admit(&old.namespace)?;
    let expected = expected.unwrap_or(before.revision);
    let row = replace(&mut change, &before, &old, expected, None).await?;
    let object = Object::new("profile", &id);
    change.audit("profile.revert", object, Some(before.spec), Some(row.spec.clone()));
    change.answer(StatusCode::OK, &profile_answer(&row)?).await
}
