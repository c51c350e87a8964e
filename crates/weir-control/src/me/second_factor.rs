//! The second factor of the signed-in person.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::problem::ErrorCode;
use weir_wire::second_factors::{
    BeginSecondFactor, NewSecondFactor, RemoveSecondFactor, SecondFactor,
};

use crate::actor::Person;
use crate::error::ControlError;
use crate::me::password::verify_current;
use crate::me::second_factor::recovery_codes::confirmed;
use crate::state::ControlState;
use crate::{second_factor, sessions};

pub(crate) mod confirm;
pub(crate) mod recovery_codes;

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

/// Get a secret for my authenticator. No code is required until one confirms it. A secret that was not confirmed is replaced.
#[utoipa::path(post, path = "/me/second-factor", operation_id = "me_second_factor_begin", tag = "me",
    request_body = BeginSecondFactor,
    responses(
        (status = 201, description = "The secret, shown once", body = NewSecondFactor),
        (status = 409, description = "The account has a second factor"),
        (status = 429, description = "Too many wrong attempts"),
    ))]
pub(crate) async fn begin(
    State(control): State<ControlState>,
    person: Person,
    Json(body): Json<BeginSecondFactor>,
) -> Result<Response, ControlError> {
    verify_current(&control, &person, body.current_password).await?;
    let (sealed, shown) = second_factor::new_secret(&control, person.user_id, &person.email);
    let mut tx = person.begin(&control, "me.second_factor.begin").await?;
    if !tx.second_factors().begin(person.user_id, &sealed, control.clock.now()).await? {
        let detail = "the account has a second factor: remove it first";
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    }
    let entry =
        sessions::own_audit(&control, person.actor(), &person.origin, "user.second_factor_begin");
    tx.audit().append(&entry);
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(shown)).into_response())
}

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
