//! `DELETE /me/second-factor`

use axum::extract::State;
use axum::http::StatusCode;
use weir_http::json::Json;
use weir_wire::second_factors::RemoveSecondFactor;

use super::recovery_codes::confirmed;
use crate::actor::Person;
use crate::error::ControlError;
use crate::me::password::verify_current;
use crate::second_factor;
use crate::sessions;
use crate::state::ControlState;

/// Remove my second factor: from then on my password alone is required.
#[utoipa::path(delete, path = "/me/second-factor", operation_id = "me_second_factor_remove", tag = "me",
    request_body = RemoveSecondFactor,
    responses(
        (status = 204, description = "Removed"),
        (status = 409, description = "The account has no second factor"),
        (status = 429, description = "Too many wrong attempts"),
    ))]
pub(crate) async fn remove(
    State(control): State<ControlState>,
    person: Person,
    Json(body): Json<RemoveSecondFactor>,
) -> Result<StatusCode, ControlError> {
    verify_current(&control, &person, body.current_password).await?;
    let mut tx = person.begin(&control, "me.second_factor.remove").await?;
    let factor = confirmed(&mut tx, &person).await?;
    second_factor::spend(&control, &mut tx, person.user_id, &factor, &body.code).await?;
    tx.second_factors().delete(person.user_id).await?;
    let entry =
        sessions::own_audit(&control, person.actor(), &person.origin, "user.second_factor_remove");
    tx.audit().append(&entry);
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
