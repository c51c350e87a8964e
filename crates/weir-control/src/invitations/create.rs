//! `POST /tenants/{tenant}/invitations`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::email::EmailAddress;
use weir_domain::id::{InvitationId, TenantId};
use weir_http::problem::Problem;
use weir_store::NewInvitation;
use weir_wire::members::{Invite, IssuedInvitation};
use weir_wire::problem::ErrorCode;

use crate::actor::{Admin, By};
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::login_throttle::Attempt;
use crate::members::roles;
use crate::state::ControlState;
use crate::{api_keys, invitations, names};

const GOOD_FOR_MS: i64 = 7 * 24 * 60 * 60 * 1000;
const OPEN_MAX: u64 = 1000;

/// Invite a person. Only this answer contains the token. A pending invitation for the same address ends.
///
/// If the installation sends e-mail, the link is also sent to the address: at most five messages per hour to an address, and
/// a hundred of a tenant.
#[utoipa::path(post, path = "/tenants/{tenant}/invitations", operation_id = "invitations_create", tag = "members",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = Invite,
    responses(
        (status = 201, description = "Created", body = IssuedInvitation),
        (status = 409, description = "Already a member, too many pending invitations, or already created with this idempotency key"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Input { body, once }: Input<Invite>,
) -> Result<Response, ControlError> {
    let email = names::email(&body.email)?;
    let role = roles::role(body.role);
    roles::only_owners_touch_owners(caller.role, &[role])?;
    let mails = can_mail(&control, caller.tenant_id, &email).await;
    let mut change = control.change("invitations.create", caller, once).await?;
    let tenant_id = change.caller.tenant_id;
    let now = change.now;
    if change.tx.members().has_email(tenant_id, email.as_str()).await? {
        return Err(Problem::new(ErrorCode::Conflict, "the person is already a member").into());
    }
    if change.tx.invitations().count_open(tenant_id, now).await? >= OPEN_MAX {
        let detail = format!("there are {OPEN_MAX} open invitations: revoke some first");
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    }
    let token = invitations::new_token(&control.random);
    let new = NewInvitation {
        id: control.id(InvitationId::new),
        tenant_id,
        email: email.into_string(),
        role,
        digest: invitations::digest(&token),
        invited_by: api_keys::maker(&change.caller.actor),
        now,
        expires_at: now.plus_ms(GOOD_FOR_MS),
    };
    let row = change.tx.invitations().replace(&new).await?;
    let object = Object::new("invitation", &row.id);
    let invitation = invitations::invitation(row);
    change.audit("invitation.create", object, None, Some(to_value(&invitation)?));
    let to_repeats =
        format!("{} was created by the first request, which returned its token", invitation.id);
    let message = match &control.mail {
        Some(mail) if mails => {
            let tenant = change.tx.tenants().find(tenant_id).await?;
            let tenant = tenant.ok_or_else(Problem::not_found)?;
            Some(mail.invitation(&invitation, &tenant.name, &token, now))
        }
        _ => None,
    };
    let shown = IssuedInvitation { mailed: message.is_some(), invitation, token };
    let answer = change.answer_once(StatusCode::CREATED, &shown, to_repeats).await?;
    if let (Some(mail), Some(message)) = (&control.mail, message) {
        mail.mailer.send(message);
    }
    Ok(answer)
}

/// Whether the invitation is sent by e-mail: the budgets of the address and of the tenant allow one more message. It is asked
/// before the transaction, which holds a lock.
async fn can_mail(control: &ControlState, tenant_id: TenantId, email: &EmailAddress) -> bool {
    if control.mail.is_none() {
        return false;
    }
    let attempt = Attempt::invitation_mail(tenant_id, email);
    control.auth.login_throttle.admit(&attempt, control.clock.now()).await.is_ok()
}
