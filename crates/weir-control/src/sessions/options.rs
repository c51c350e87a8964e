//! `GET /auth/options`

use axum::extract::State;
use weir_http::json::Json;
use weir_wire::sessions::SignInOptions;

use crate::state::{ControlState, Signup};

/// Options of the sign-in and sign-up pages.
#[utoipa::path(get, path = "/auth/options", operation_id = "auth_options", tag = "sessions", security(()),
    responses((status = 200, description = "The available options", body = SignInOptions)))]
pub(crate) async fn options(State(control): State<ControlState>) -> Json<SignInOptions> {
    Json(SignInOptions {
        signup_open: control.settings.signup != Signup::Closed,
        signup_confirmed: control.settings.signup == Signup::Confirmed,
        password_reset: control.mail.is_some(),
        openid_connect: control.provider.as_ref().map(|provider| provider.name.clone()),
    })
}
