//! `GET /tenants/{tenant}/audit`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_store::{AuditLog, MemberRole};
use weir_wire::audit::AuditEntry;
use weir_wire::page::Page;

use crate::actor::{Admin, By};
use crate::audit::AuditQuery;
use crate::error::ControlError;
use crate::state::ControlState;

/// A tenant's audit log, newest first.
///
/// Owners also see refused log-ins of the tenant's members (`user.login_refused`), which are in the members' own logs.
#[utoipa::path(get, path = "/tenants/{tenant}/audit", operation_id = "audit_list", tag = "audit",
    params(("tenant" = String, Path, description = "`tenant_…`"), AuditQuery),
    responses((status = 200, description = "The entries", body = Page<AuditEntry>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Query(query): Query<AuditQuery>,
) -> Result<Json<Page<AuditEntry>>, ControlError> {
    let log_ins = caller.role == MemberRole::Owner;
    let mut tx = control.reading("audit.list", &caller).await?;
    let log = AuditLog::Tenant { id: caller.tenant_id, log_ins };
    Ok(Json(query.answer(&mut tx, log).await?))
}
