//! `GET /tenants/{tenant}/recorded`

use axum::extract::State;
use weir_domain::sample;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::simulate::{Recorded, RecordedNamespace};

use crate::actor::{By, InNamespaces, Viewer};
use crate::error::ControlError;
use crate::state::ControlState;

/// The checks that gates recorded for what-if runs.
#[utoipa::path(get, path = "/tenants/{tenant}/recorded", operation_id = "recorded_read", tag = "testing",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    responses((status = 200, description = "The recorded checks", body = Recorded)))]
pub(crate) async fn status(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
) -> Result<Json<Recorded>, ControlError> {
    let mut tx = control.reading("samples.extents", &caller).await?;
    let tenant = tx.tenants().find(caller.tenant_id).await?.ok_or_else(Problem::not_found)?;
    let mut extents = tx.samples().extents(caller.tenant_id).await?;
    extents.retain(|extent| caller.namespaces.contain(&extent.namespace));
    let namespace = |extent: weir_store::SampleExtent| RecordedNamespace {
        namespace: extent.namespace,
        from: extent.since.into(),
        to: extent.until.into(),
        seen: extent.seen,
        recorded: extent.recorded,
        rate: sample::share(extent.threshold),
    };
    Ok(Json(Recorded {
        recording: tenant.record_checks,
        retention_s: u32::from(control.settings.retention.samples_hours) * 3_600,
        data: extents.into_iter().map(namespace).collect(),
    }))
}
