//! `POST /tenants`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use weir_domain::id::{AuditId, TenantId, UserId};
use weir_http::problem::Problem;
use weir_store::{Actor, MemberRole, NewAudit, Owner, Scope, TenantRow, Tx};
use weir_wire::tenants::{CreateTenant, Tenant};

use crate::actor::{Origin, Person};
use crate::answers::{answer, to_value};
use crate::error::ControlError;
use crate::input::Input;
use crate::state::{ControlState, Signup};
use crate::{names, tenants};

/// Create a tenant and become its owner.
///
/// Where sign-up is closed, only operators can.
#[utoipa::path(post, path = "/tenants", operation_id = "tenants_create", tag = "tenants",
    request_body = CreateTenant,
    responses(
        (status = 201, description = "Created", body = Tenant),
        (status = 403, description = "Only operators can create tenants on this installation"),
        (status = 409, description = "The person has reached the limit of tenants"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    person: Person,
    Input { body, once }: Input<CreateTenant>,
) -> Result<Response, ControlError> {
    if control.settings.signup == Signup::Closed && !person.operator {
        return Err(Problem::forbidden("only operators can create tenants here").into());
    }
    names::name("name", &body.name)?;
    let user_id = person.user_id;
    let now = control.clock.now();
    let mut tx = control.store.begin("tenants.create", Scope::User(user_id)).await?;
    let claiming = once.claim_in(&mut tx, Owner::User(user_id), now).await?;
    tenants::room_for_one_more(&control, &mut tx, user_id).await?;
    let tenant_id = control.id(TenantId::new);
    let creation = Creation { tenant_id, name: &body.name, actor: &person.actor() };
    let row = creation.write(&control, &mut tx, user_id, &person.origin).await?;
    let body = to_value(&tenants::tenant(row, Some(MemberRole::Owner)))?;
    claiming.finish(&mut tx, StatusCode::CREATED, &body);
    let version = tx.publish(tenant_id, None).await?;
    control.announce(version);
    Ok(answer(StatusCode::CREATED, &body))
}

/// A tenant to be created.
pub(crate) struct Creation<'a> {
    pub(crate) tenant_id: TenantId,
    pub(crate) name: &'a str,
    pub(crate) actor: &'a Actor,
}

impl Creation<'_> {
    /// Writes the tenant with its owner and the audit entry.
    pub(crate) async fn write(
        &self,
        control: &ControlState,
        tx: &mut Tx,
        owner: UserId,
        origin: &Origin,
    ) -> Result<TenantRow, ControlError> {
        let now = control.clock.now();
        tx.enter_tenant(self.tenant_id).await?;
        let row = tx.tenants().insert(self.tenant_id, self.name, now).await?;
        tx.members().insert(self.tenant_id, owner, MemberRole::Owner, now).await?;
        let entry = NewAudit {
            id: control.id(AuditId::new),
            tenant_id: Some(self.tenant_id),
            actor: self.actor.clone(),
            action: "tenant.create".to_owned(),
            object_kind: "tenant".to_owned(),
            object_id: self.tenant_id.to_string(),
            before: None,
            after: Some(json!({ "name": self.name })),
            ip: origin.ip(),
            request_id: origin.request_id.clone(),
        };
        tx.audit().append(&entry);
        Ok(row)
    }
}
