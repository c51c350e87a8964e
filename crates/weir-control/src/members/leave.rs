//! `DELETE /tenants/{tenant}/members/me`

use axum::extract::State;
use axum::response::Response;
use weir_http::problem::Problem;
use weir_store::Actor;

use crate::actor::{By, Viewer};
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Once;
use crate::members;
use crate::state::ControlState;

/// Leave a tenant, in any role. Pending invitations that you created are revoked; your API keys keep working.
#[utoipa::path(delete, path = "/tenants/{tenant}/members/me", operation_id = "members_leave", tag = "members",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    responses(
        (status = 204, description = "Left"),
        (status = 409, description = "The tenant would have no owner"),
    ))]
pub(crate) async fn leave(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
) -> Result<Response, ControlError> {
    let Actor::Person { id, .. } = caller.actor else {
        return Err(Problem::forbidden("API keys cannot do this: sign in").into());
    };
    let mut change = control.change("members.leave", caller, Once::not_stored()).await?;
    let gone = members::touched(&mut change, &id.to_string()).await?;
    members::keep_an_owner(&mut change, &gone).await?;
    let object = Object::new("member", &id);
    let email = gone.email.clone();
    let before = to_value(&members::member(gone))?;
    // Entries can be appended only for members, so this precedes the removal.
    change.audit("member.leave", object, Some(before), None);
    members::remove::made_by(&mut change, &email, false).await?;
    change.tx.members().delete(change.caller.tenant_id, id).await?;
    change.done().await
}
