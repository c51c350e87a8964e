//! `POST /me/second-factor/recovery-codes`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::{SecondFactorRow, Tx};
use weir_wire::problem::ErrorCode;
use weir_wire::second_factors::{PresentCode, RecoveryCodes};

use crate::actor::Person;
use crate::error::ControlError;
use crate::second_factor;
use crate::sessions;
use crate::state::ControlState;

/// Get new recovery codes. The earlier ones can no longer be used.
#[utoipa::path(post, path = "/me/second-factor/recovery-codes", operation_id = "me_recovery_codes", tag = "me",
    request_body = PresentCode,
    responses(
        (status = 200, description = "The recovery codes, shown once", body = RecoveryCodes),
        (status = 409, description = "The account has no second factor"),
        (status = 429, description = "Too many wrong attempts"),
    ))]
pub(crate) async fn replace(
    State(control): State<ControlState>,
    person: Person,
    Json(body): Json<PresentCode>,
) -> Result<Json<RecoveryCodes>, ControlError> {
    let mut tx = person.begin(&control, "me.recovery_codes").await?;
    let factor = confirmed(&mut tx, &person).await?;
    second_factor::spend(&control, &mut tx, person.user_id, &factor, &body.code).await?;
    let (digests, codes) = second_factor::new_recovery_codes(&control);
    tx.second_factors().replace_recovery_codes(person.user_id, &digests).await?;
    let entry =
        sessions::own_audit(&control, person.actor(), &person.origin, "user.recovery_codes");
    tx.audit().append(&entry);
    tx.commit().await?;
    Ok(Json(codes))
}

/// The second factor of a person, if it is confirmed.
pub(super) async fn confirmed(
    tx: &mut Tx,
    person: &Person,
) -> Result<SecondFactorRow, ControlError> {
    let found = tx.second_factors().find(person.user_id).await?;
    let missing = || Problem::new(ErrorCode::Conflict, "the account has no second factor");
    Ok(found.filter(|factor| factor.confirmed_at.is_some()).ok_or_else(missing)?)
}
