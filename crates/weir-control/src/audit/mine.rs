//! `GET /me/audit`

use axum::extract::State;
use axum::response::Response;
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
    responses((status = 200, description = "The entries", content((Page<AuditEntry> = "application/json"), (String = "application/x-ndjson")))))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    person: Person,
    Query(query): Query<AuditQuery>,
) -> Result<Response, ControlError> {
    let mut tx = person.begin(&control, "audit.mine").await?;
    query.answer(&mut tx, AuditLog::Person(person.user_id)).await
}
