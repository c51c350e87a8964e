//! Invitations to a tenant. The token is shown to the inviter once, for a link, which is also sent by e-mail if Weir sends any.
//!
//! A token is valid for seven days, once, for one address and one tenant. Only its SHA-256 is stored.

use axum::extract::State;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use weir_domain::id::InvitationId;
use weir_http::json::Json;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_store::{InvitationRow, Scope, Tx};
use weir_wire::members::{Invitation, InvitationToken, Offer, PresentInvitation};
use weir_wire::page::Page;
use weir_wire::problem::ErrorCode;

use crate::actor::{Admin, By, Origin, Viewer};
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Once;
use crate::listing::{List, ListQuery};
use crate::login_throttle::{self, Attempt};
use crate::members::roles;
use crate::state::{ControlState, Random};
use crate::tenants;

pub(crate) mod accept;
pub(crate) mod create;
pub(crate) mod revoke_own;

/// The invitations that can still be accepted, newest first.
#[utoipa::path(get, path = "/tenants/{tenant}/invitations", operation_id = "invitations_list", tag = "members",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The invitations", body = Page<Invitation>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Invitation>>, ControlError> {
    let list = List::new(&["invitations", &caller.tenant_id.to_string()], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("invitations.list", &caller).await?;
    let now = control.clock.now();
    let listing = tx.invitations().list_open(caller.tenant_id, now, &page).await?;
    Ok(Json(list.answer(listing, |row| row.id.to_string(), invitation)))
}

/// Preview an invitation. The token is the credential. It is sent in the body, so that no log contains it.
#[utoipa::path(post, path = "/invitations/preview", operation_id = "invitations_preview", tag = "members", security(()),
    request_body = PresentInvitation,
    responses(
        (status = 200, description = "The invitation can be accepted", body = Offer),
        (status = 404, description = "The invitation is unknown or no longer valid"),
        (status = 429, description = "Too many unknown tokens from this network"),
    ))]
pub(crate) async fn preview(
    State(control): State<ControlState>,
    origin: Origin,
    Json(body): Json<PresentInvitation>,
) -> Result<Json<Offer>, ControlError> {
    let attempt = Attempt::token(origin.peer);
    let throttle = &control.auth.login_throttle;
    let now = control.clock.now();
    throttle.admit(&attempt, now).await.map_err(login_throttle::too_many_attempts)?;
    let mut tx = control.store.begin("invitations.preview", Scope::Service).await?;
    let row = presented(&control, &mut tx, &body.token).await?;
    throttle.refund(&attempt).await;
    let tenant = tx.tenants().find(row.tenant_id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(Offer {
        tenant_name: tenant.name,
        email: row.email,
        role: tenants::role(row.role),
        invited_by: row.invited_by,
        expires_at: row.expires_at.into(),
    }))
}

/// Revoke an invitation: its token is invalid from now on.
#[utoipa::path(delete, path = "/tenants/{tenant}/invitations/{invitation}", operation_id = "invitations_revoke", tag = "members",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("invitation" = String, Path, description = "`invitation_…`"),
    ),
    responses((status = 204, description = "Revoked")))]
pub(crate) async fn revoke(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Path((_, id)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let id: InvitationId = id.parse().map_err(|_| Problem::not_found())?;
    let mut change = control.change("invitations.revoke", caller, Once::not_stored()).await?;
    let row = change.tx.invitations().delete(change.caller.tenant_id, id).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    roles::only_owners_touch_owners(change.caller.role, &[row.role])?;
    let before = to_value(&invitation(row))?;
    change.audit("invitation.revoke", Object::new("invitation", &id), Some(before), None);
    change.done().await
}

const PREFIX: &str = "invite_";

/// An invitation in JSON, without its token.
pub(crate) fn invitation(row: InvitationRow) -> Invitation {
    Invitation {
        id: row.id.to_string(),
        email: row.email,
        role: tenants::role(row.role),
        invited_by: row.invited_by,
        created_at: row.created_at.into(),
        expires_at: row.expires_at.into(),
    }
}

fn new_token(random: &Random) -> InvitationToken {
    InvitationToken(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random.bytes::<32>())))
}

fn digest(token: &InvitationToken) -> [u8; 32] {
    Sha256::digest(token.0.as_bytes()).into()
}

/// The invitation of a token. From here on, the transaction can read the tenant's name.
pub(crate) async fn presented(
    control: &ControlState,
    tx: &mut Tx,
    token: &InvitationToken,
) -> Result<InvitationRow, ControlError> {
    let digest = digest(token);
    tx.enter_invitation(&digest).await?;
    let found = tx.invitations().presented(&digest, control.clock.now()).await?;
    Ok(found.ok_or_else(gone)?)
}

/// Refuses an invitation for another address. Both addresses are in normal form.
pub(crate) fn only_for_its_address(row: &InvitationRow, email: &str) -> Result<(), Problem> {
    if row.email == email {
        Ok(())
    } else {
        Err(Problem::forbidden("this invitation is for another e-mail address"))
    }
}

/// The problem for an invitation that does not exist.
pub(crate) fn gone() -> Problem {
    let detail = "this invitation has expired, was revoked or was already used";
    Problem::new(ErrorCode::NotFound, detail)
}
