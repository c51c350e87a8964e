//! `GET /auth/oidc`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_http::params::Query;
use weir_http::problem::Problem;

use super::cookie::Begun;
use super::{failed, redirect};
use crate::actor::Origin;
use crate::error::ControlError;
use crate::login_throttle;
use crate::login_throttle::Attempt;
use crate::state::ControlState;

/// The parameters of a sign-in.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StartQuery {
    /// The path of the page to continue to. A path of more than 500 bytes is ignored.
    #[param(max_length = 500)]
    next: Option<String>,
}

/// Begin a sign-in with the OpenID Connect provider.
///
/// For browsers: the answer is a redirect to the provider, or to the sign-in page if the provider cannot be reached.
#[utoipa::path(get, path = "/auth/oidc", operation_id = "oidc_start", tag = "sessions", security(()),
    params(StartQuery),
    responses(
        (status = 303, description = "To the provider, or to the sign-in page with a `problem`"),
        (status = 404, description = "No provider is configured"),
        (status = 429, description = "Too many sign-ins from this network"),
    ))]
pub(crate) async fn start(
    State(control): State<ControlState>,
    origin: Origin,
    Query(StartQuery { next }): Query<StartQuery>,
) -> Result<Response, ControlError> {
    let Some(provider) = &control.provider else { return Err(Problem::not_found().into()) };
    let throttle = &control.auth.login_throttle;
    let now = control.clock.now();
    let attempt = Attempt::at_provider(origin.peer);
    throttle.admit(&attempt, now).await.map_err(login_throttle::too_many_attempts)?;
    let begun = Begun::new(next, &control.random);
    match provider.oidc.authorization_url(&begun.transaction).await {
        Ok(url) => Ok(redirect(&url, [begun.cookie(now, &control.auth.macs)])),
        Err(error) => {
            tracing::warn!(%error, "could not redirect a sign-in to the provider");
            Ok(failed((&error).into(), &begun.next))
        }
    }
}
