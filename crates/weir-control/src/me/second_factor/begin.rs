//! `POST /me/second-factor`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::problem::ErrorCode;
use weir_wire::second_factors::{BeginSecondFactor, NewSecondFactor};

use crate::actor::Person;
use crate::error::ControlError;
use crate::me::password::verify_current;
use crate::second_factor;
use crate::sessions;
use crate::state::ControlState;

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
