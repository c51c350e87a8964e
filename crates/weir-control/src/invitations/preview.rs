//! `POST /invitations/preview`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::Scope;
use weir_wire::members::{Offer, PresentInvitation};

use crate::actor::Origin;
use crate::error::ControlError;
use crate::login_throttle::Attempt;
use crate::state::ControlState;
use crate::{invitations, login_throttle, tenants};

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
    let row = invitations::presented(&control, &mut tx, &body.token).await?;
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
