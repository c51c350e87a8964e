//! `POST /invitations/accept`

use axum::extract::State;
use weir_domain::id::{AuditId, UserId};
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{Actor, InvitationRow, NewAudit, TenantRow, Tx};
use weir_wire::members::PresentInvitation;
use weir_wire::tenants::Tenant;

use crate::actor::{Origin, Person};
use crate::answers::to_value;
use crate::error::ControlError;
use crate::state::ControlState;
use crate::{invitations, tenants};

/// Accept an invitation and join its tenant.
#[utoipa::path(post, path = "/invitations/accept", operation_id = "invitations_accept", tag = "members",
    request_body = PresentInvitation,
    responses(
        (status = 200, description = "Joined", body = Tenant),
        (status = 404, description = "The invitation is unknown or no longer valid"),
        (status = 403, description = "The invitation is for another address, or the tenant is suspended"),
        (status = 409, description = "Already a member, or a member of too many tenants"),
    ))]
pub(crate) async fn accept(
    State(control): State<ControlState>,
    person: Person,
    Json(body): Json<PresentInvitation>,
) -> Result<Json<Tenant>, ControlError> {
    let mut tx = person.begin(&control, "invitations.accept").await?;
    let row = invitations::presented(&control, &mut tx, &body.token).await?;
    invitations::only_for_its_address(&row, &person.email)?;
    let joining =
        Joining { user_id: person.user_id, actor: person.actor(), origin: &person.origin };
    let role = row.role;
    let tenant = joining.write(&control, &mut tx, row).await?;
    tx.commit().await?;
    Ok(Json(tenants::tenant(tenant, Some(role))))
}

/// A person who joins a tenant.
pub(crate) struct Joining<'a> {
    pub(crate) user_id: UserId,
    pub(crate) actor: Actor,
    pub(crate) origin: &'a Origin,
}

impl Joining<'_> {
    /// Spends the invitation and makes the person a member. If two requests present it at once, one of them fails.
    pub(crate) async fn write(
        self,
        control: &ControlState,
        tx: &mut Tx,
        invitation: InvitationRow,
    ) -> Result<TenantRow, ControlError> {
        let tenant_id = invitation.tenant_id;
        let now = control.clock.now();
        tx.enter_tenant(tenant_id).await?;
        let tenant = tx.tenants().find(tenant_id).await?.ok_or_else(invitations::gone)?;
        if tenant.suspended {
            return Err(Problem::forbidden("the tenant is suspended: it cannot be joined").into());
        }
        tenants::room_for_one_more(control, tx, self.user_id).await?;
        let spent = tx.invitations().delete(tenant_id, invitation.id).await?;
        let spent = spent.ok_or_else(invitations::gone)?;
        tx.members().insert(tenant_id, self.user_id, spent.role, now).await?;
        let entry = NewAudit {
            id: control.id(AuditId::new),
            tenant_id: Some(tenant_id),
            actor: self.actor,
            action: "member.join".to_owned(),
            object_kind: "member".to_owned(),
            object_id: self.user_id.to_string(),
            before: None,
            after: Some(to_value(&invitations::invitation(spent))?),
            ip: self.origin.ip(),
            request_id: self.origin.request_id.clone(),
        };
        tx.audit().append(&entry);
        Ok(tenant)
    }
}
