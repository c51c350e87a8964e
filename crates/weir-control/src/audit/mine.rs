//! `GET /me/audit`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_store::AuditLog;
use weir_wire::audit::AuditEntry;
use weir_wire::page::Page;

use crate::actor::Person;
use crate::audit::AuditQuery;
use crate::error::ControlError;
use crate::state::ControlState;

/// My own log, newest first: log-ins, refused ones too, changes of my account, and denials outside of my tenants.
#[utoipa::path(get, path = "/me/audit", operation_id = "me_audit", tag = "audit",
    params(AuditQuery),
    responses((status = 200, description = "The entries", body = Page<AuditEntry>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    person: Person,
    Query(query): Query<AuditQuery>,
) -> Result<Json<Page<AuditEntry>>, ControlError> {
    let mut tx = person.begin(&control, "audit.mine").await?;
    Ok(Json(query.answer(&mut tx, AuditLog::Person(person.user_id)).await?))
}
