//! `GET, PUT /operator/regions`

use axum::extract::State;
use serde_json::json;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::regions::RegionsBody;

use crate::actor::Operator;
use crate::error::ControlError;
use crate::operator::Entry;
use crate::state::ControlState;

/// The regions of the installation; for operators.
#[utoipa::path(get, path = "/operator/regions", operation_id = "operator_regions_read", tag = "operator",
    responses(
        (status = 200, description = "The regions", body = RegionsBody),
        (status = 404, description = "The caller is not an operator"),
    ))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    _: Operator,
) -> Result<Json<RegionsBody>, ControlError> {
    // Not the read of a change, which locks the row.
    Ok(Json(stored(&control.store.regions().await?)?))
}

/// Replace the regions of the installation; for operators.
///
/// Another home begins with unused counters: each limit with `reach: "world"` admits at most its units once more.
#[utoipa::path(put, path = "/operator/regions", operation_id = "operator_regions_set", tag = "operator",
    request_body = RegionsBody,
    responses(
        (status = 200, description = "The new regions", body = RegionsBody),
        (status = 404, description = "The caller is not an operator"),
        (status = 422, description = "A region is outside the bounds"),
    ))]
pub(crate) async fn set(
    State(control): State<ControlState>,
    Operator(person): Operator,
    Json(body): Json<RegionsBody>,
) -> Result<Json<RegionsBody>, ControlError> {
    body.parse().map_err(Problem::invalid)?;
    let mut tx = person.begin(&control, "operator.regions_set").await?;
    let before = stored(&tx.installation().regions().await?)?;
    let after = json!(body);
    if !tx.installation().set_regions(&after).await? {
        return Err(Problem::not_found().into());
    }
    let entry = Entry {
        tenant_id: None,
        action: "installation.regions",
        object_kind: "installation",
        object_id: "installation".to_owned(),
        before: json!(before),
        after,
    };
    entry.append(&control, &mut tx, &person);
    let version = tx.publish_installation().await?;
    control.announce(version);
    Ok(Json(body))
}

fn stored(text: &str) -> Result<RegionsBody, ControlError> {
    serde_json::from_str(text).map_err(|error| Problem::internal(error).into())
}
