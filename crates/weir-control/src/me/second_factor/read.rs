//! `GET /me/second-factor`

use axum::extract::State;
use weir_http::json::Json;
use weir_wire::second_factors::SecondFactor;

use crate::actor::Person;
use crate::error::ControlError;
use crate::state::ControlState;

/// Whether my account requires a code to sign in.
#[utoipa::path(get, path = "/me/second-factor", operation_id = "me_second_factor", tag = "me",
    responses((status = 200, description = "The second factor", body = SecondFactor)))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    person: Person,
) -> Result<Json<SecondFactor>, ControlError> {
    let mut tx = person.begin(&control, "me.second_factor").await?;
    let found = tx.second_factors().find(person.user_id).await?;
    let enabled_at = found.as_ref().and_then(|factor| factor.confirmed_at);
    let recovery_codes = found.filter(|factor| factor.confirmed_at.is_some());
    Ok(Json(SecondFactor {
        enabled: enabled_at.is_some(),
        enabled_at: enabled_at.map(Into::into),
        recovery_codes: recovery_codes.map_or(0, |factor| factor.recovery_codes),
    }))
}
