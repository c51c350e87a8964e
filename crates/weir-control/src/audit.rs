//! `GET /tenants/{tenant}/audit`

use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_store::{Actor, AuditRow};
use weir_wire::audit::{ActorKind, AuditActor, AuditEntry};
use weir_wire::page::Page;

use crate::actor::{Admin, By};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;

pub(crate) fn routes() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Who did what, newest first.
#[utoipa::path(get, path = "/tenants/{tenant}/audit", operation_id = "audit_list", tag = "audit",
    params(("tenant" = String, Path, description = "`tenant_…`"), ListQuery),
    responses((status = 200, description = "The entries", body = Page<AuditEntry>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<AuditEntry>>, ControlError> {
    let list = List::new(&["audit", &caller.tenant_id.to_string()], query)?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("audit.list", &caller).await?;
    let listing = tx.audit().list(caller.tenant_id, &page).await?;
    Ok(Json(list.answer(listing, |row| row.id.to_string(), entry)))
}

/// Who did something, in JSON.
pub(crate) fn actor(actor: Actor) -> AuditActor {
    match actor {
        Actor::Person { id, email } => {
            AuditActor { kind: ActorKind::Person, id: Some(id.to_string()), name: Some(email) }
        }
        Actor::Key { id, name } => {
            AuditActor { kind: ActorKind::Key, id: Some(id.to_string()), name: Some(name) }
        }
        Actor::System => AuditActor { kind: ActorKind::System, id: None, name: None },
    }
}

fn entry(row: AuditRow) -> AuditEntry {
    AuditEntry {
        id: row.id.to_string(),
        at: row.at.into(),
        actor: actor(row.actor),
        action: row.action,
        object_kind: row.object_kind,
        object_id: row.object_id,
        before: row.before,
        after: row.after,
        ip: row.ip,
        request_id: row.request_id,
    }
}
