//! `POST /me/second-factor/confirm`

use axum::extract::State;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_wire::problem::ErrorCode;
use weir_wire::second_factors::{PresentCode, RecoveryCodes};

use crate::actor::Person;
use crate::error::ControlError;
use crate::login_throttle;
use crate::login_throttle::Attempt;
use crate::second_factor;
use crate::sessions;
use crate::state::ControlState;

/// Prove that my authenticator has the secret. From then on a code is required to sign in. All my other sessions end.
#[utoipa::path(post, path = "/me/second-factor/confirm", operation_id = "me_second_factor_confirm", tag = "me",
    request_body = PresentCode,
    responses(
        (status = 200, description = "The recovery codes, shown once", body = RecoveryCodes),
        (status = 409, description = "There is no secret to confirm"),
        (status = 429, description = "Too many wrong attempts"),
    ))]
pub(crate) async fn confirm(
    State(control): State<ControlState>,
    person: Person,
    Json(body): Json<PresentCode>,
) -> Result<Json<RecoveryCodes>, ControlError> {
    let throttle = &control.auth.login_throttle;
    let now = control.clock.now();
    let attempt = Attempt::second_factor(person.user_id);
    throttle.admit(&attempt, now).await.map_err(login_throttle::too_many_attempts)?;
    let mut tx = person.begin(&control, "me.second_factor.confirm").await?;
    // A sign-in that has not seen the factor ends before it is confirmed, and its session with the others.
    tx.users().lock(person.user_id).await?;
    let found = tx.second_factors().find(person.user_id).await?;
    let Some(factor) = found.filter(|factor| factor.confirmed_at.is_none()) else {
        throttle.refund(&attempt).await;
        let detail = "there is no secret to confirm: ask for one first";
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    };
    let step = second_factor::step_of(&control, person.user_id, &factor, &body.code, now)?;
    let Some((step, _)) = step else {
        let reason =
            "is not the present code: check the clock of the device, and type the next one";
        return Err(Problem::invalid_field("code", reason).into());
    };
    throttle.refund(&attempt).await;
    if !tx.second_factors().confirm(person.user_id, step, now).await? {
        return Err(
            Problem::new(ErrorCode::Conflict, "the secret has already been confirmed").into()
        );
    }
    let (digests, codes) = second_factor::new_recovery_codes(&control);
    tx.second_factors().replace_recovery_codes(person.user_id, &digests).await?;
    tx.sessions().revoke_all(person.user_id, Some(person.session_id), now).await?;
    let entry =
        sessions::own_audit(&control, person.actor(), &person.origin, "user.second_factor_enable");
    tx.audit().append(&entry);
    tx.commit().await?;
    Ok(Json(codes))
}
