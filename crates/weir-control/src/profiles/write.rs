//! Writes of profiles: `POST /tenants/{tenant}/profiles`, `PUT` and `DELETE` of one, and its `/revert`

use axum::extract::State;
use axum::response::Response;
use weir_http::params::Path;
use weir_store::ProfileSpec;
use weir_wire::audit::RevertBody;
use weir_wire::profiles::{ProfileAnswer, ProfileBody};

use crate::actor::{By, Editor, InNamespaces};
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Input;
use crate::specs;
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
    input: Input<ProfileBody>,
) -> Result<Response, ControlError> {
    specs::create::<ProfileSpec>(&control, "profiles.create", caller, input).await
}

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
    Path((_, profile)): Path<(String, String)>,
    if_match: IfMatch,
    input: Input<ProfileBody>,
) -> Result<Response, ControlError> {
    specs::update::<ProfileSpec>(&control, "profiles.update", caller, &profile, if_match, input)
        .await
}

/// Delete a profile. Proxies that use its name get 503.
#[utoipa::path(delete, path = "/tenants/{tenant}/profiles/{profile}", operation_id = "profiles_delete", tag = "profiles",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("profile" = String, Path, description = "`profile_…`"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` last read; without it any revision is deleted"),
    ),
    responses(
        (status = 204, description = "Deleted"),
        (status = 412, description = "Someone else changed this while you were editing"),
    ))]
pub(crate) async fn delete(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Path((_, profile)): Path<(String, String)>,
    if_match: IfMatch,
) -> Result<Response, ControlError> {
    specs::delete::<ProfileSpec>(&control, "profiles.delete", caller, &profile, if_match).await
}

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
    input: Input<RevertBody>,
) -> Result<Response, ControlError> {
    specs::revert::<ProfileSpec>(&control, "profiles.revert", caller, &profile, if_match, input)
        .await
}
