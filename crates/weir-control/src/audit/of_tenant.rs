//! `GET /tenants/{tenant}/audit`

use axum::extract::State;
use axum::response::Response;
use weir_http::params::Query;
use weir_store::{AuditLog, MemberRole};
use weir_wire::audit::AuditEntry;
use weir_wire::page::Page;

use crate::actor::{Auditor, By};
use crate::audit::AuditQuery;
use crate::error::ControlError;
use crate::state::ControlState;

/// A tenant's audit log, newest first. Also for keys with the scope `audit`.
///
/// Owners also see refused log-ins of the tenant's members (`user.login_refused`), which are in the members' own logs.
#[utoipa::path(get, path = "/tenants/{tenant}/audit", operation_id = "audit_list", tag = "audit",
    params(("tenant" = String, Path, description = "`tenant_…`"), AuditQuery),
    responses((status = 200, description = "The entries", content((Page<AuditEntry> = "application/json"), (String = "application/x-ndjson")))))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Auditor>,
    Query(query): Query<AuditQuery>,
) -> Result<Response, ControlError> {
    let log_ins = caller.role == MemberRole::Owner;
    let mut tx = control.reading("audit.list", &caller).await?;
    let log = AuditLog::Tenant { id: caller.tenant_id, log_ins };
    query.answer(&mut tx, log).await
}
