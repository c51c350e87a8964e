//! `POST /tenants/{tenant}/alerts/{alert}/mute`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::alert::MUTE_S_MAX;
use weir_domain::id::AlertId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_wire::alerts::{Alert, MuteBody};

use crate::actor::{By, Editor};
use crate::alerts;
use crate::answers::to_value;
use crate::change::Object;
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;

/// Mute an alert for a while, or end that. What it finds meanwhile is announced afterwards, if it still holds then. The end of
/// what it announced before is announced at once.
#[utoipa::path(post, path = "/tenants/{tenant}/alerts/{alert}/mute", operation_id = "alerts_mute", tag = "alerts",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("alert" = String, Path, description = "`alert_…`"),
    ),
    request_body = MuteBody,
    responses((status = 200, description = "Muted, or no longer muted", body = Alert)))]
pub(crate) async fn mute(
    State(control): State<ControlState>,
    By { caller, .. }: By<Editor>,
    Path((_, alert)): Path<(String, String)>,
    Input { body, once }: Input<MuteBody>,
) -> Result<Response, ControlError> {
    let id: AlertId = alert.parse().map_err(|_| Problem::not_found())?;
    if body.for_s > MUTE_S_MAX {
        let reason = format!("must be at most {MUTE_S_MAX} (7 days)");
        return Err(Problem::invalid_field("for_s", reason).into());
    }
    let mut change = control.change("alerts.mute", caller, once).await?;
    let (tenant_id, now) = (change.caller.tenant_id, change.now);
    let before = change.tx.alerts().find(tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    let until = (body.for_s > 0).then(|| now.plus_ms(i64::from(body.for_s) * 1000));
    let row = change.tx.alerts().mute(tenant_id, id, until, now).await?;
    let after = alerts::alert(row.ok_or_else(Problem::not_found)?);
    let before = to_value(&alerts::alert(before))?;
    change.audit("alert.mute", Object::new("alert", &id), Some(before), Some(to_value(&after)?));
    change.answer(StatusCode::OK, &after).await
}
