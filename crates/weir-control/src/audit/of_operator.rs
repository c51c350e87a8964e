//! `GET /operator/audit` and `GET /operator/tenants/{tenant}/audit`

use axum::extract::State;
use axum::response::Response;
use weir_domain::id::TenantId;
use weir_http::params::{Path, Query};
use weir_http::problem::Problem;
use weir_store::AuditLog;
use weir_wire::audit::AuditEntry;
use weir_wire::page::Page;

use crate::actor::{Operator, Person};
use crate::audit::AuditQuery;
use crate::error::ControlError;
use crate::state::ControlState;

/// Everything recorded outside of tenants, newest first; for operators.
///
/// Log-ins and account changes of all people, also on the command line, denials about tenants that the caller is not a
/// member of, and refused log-ins with unknown addresses.
#[utoipa::path(get, path = "/operator/audit", operation_id = "operator_audit", tag = "operator",
    params(AuditQuery),
    responses(
        (status = 200, description = "The entries", body = Page<AuditEntry>),
        (status = 404, description = "The caller is not an operator"),
    ))]
pub(crate) async fn installation(
    State(control): State<ControlState>,
    Operator(person): Operator,
    Query(query): Query<AuditQuery>,
) -> Result<Response, ControlError> {
    read(&control, &person, query, AuditLog::Installation).await
}

/// The audit log of any tenant, newest first; for operators. The log of a deleted tenant remains until the retention ends.
#[utoipa::path(get, path = "/operator/tenants/{tenant}/audit", operation_id = "operator_tenants_audit", tag = "operator",
    params(("tenant" = String, Path, description = "`tenant_…`"), AuditQuery),
    responses(
        (status = 200, description = "The entries; none if there was no such tenant", content((Page<AuditEntry> = "application/json"), (String = "application/x-ndjson"))),
        (status = 404, description = "The caller is not an operator"),
    ))]
pub(crate) async fn tenant(
    State(control): State<ControlState>,
    Operator(person): Operator,
    Path(tenant): Path<String>,
    Query(query): Query<AuditQuery>,
) -> Result<Response, ControlError> {
    let id: TenantId = tenant.parse().map_err(|_| Problem::not_found())?;
    read(&control, &person, query, AuditLog::Tenant { id, log_ins: false }).await
}

async fn read(
    control: &ControlState,
    operator: &Person,
    query: AuditQuery,
    log: AuditLog,
) -> Result<Response, ControlError> {
    let mut tx = operator.begin(control, "operator.audit").await?;
    query.answer(&mut tx, log).await
}
