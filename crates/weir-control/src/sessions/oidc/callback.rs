//! `GET /auth/oidc/callback`

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use weir_http::params::Query;
use weir_http::problem::Problem;

use super::account::{SignIn, SignInOutcome};
use super::cookie::Begun;
use super::{Failure, cookie, failed, signed_in};
use crate::actor::Origin;
use crate::error::ControlError;
use crate::login_throttle;
use crate::login_throttle::{Attempt, device};
use crate::state::ControlState;

/// The parameters with which the provider sends a browser back. Providers add others.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CallbackQuery {
    /// The code, to be exchanged for the person.
    #[param(max_length = 4096)]
    code: Option<String>,
    /// The state of the sign-in.
    #[param(max_length = 256)]
    state: Option<String>,
    /// The issuer (RFC 9207), if the provider states it.
    #[param(max_length = 2000)]
    iss: Option<String>,
    /// The reason why the provider refused.
    #[param(max_length = 256)]
    error: Option<String>,
}

/// Finish a sign-in with the OpenID Connect provider.
///
/// For browsers: the answer is a redirect to the sign-in page, with the cookie of the session or with a `problem`: `unavailable`,
/// `provider`, `expired`, `unverified`, `no_account`, `linked`, `disabled` or `second_factor`.
#[utoipa::path(get, path = "/auth/oidc/callback", operation_id = "oidc_callback", tag = "sessions", security(()),
    params(CallbackQuery),
    responses(
        (status = 303, description = "To the sign-in page, which continues or shows the `problem`"),
        (status = 404, description = "No provider is configured"),
        (status = 429, description = "Too many sign-ins from this network"),
    ))]
pub(crate) async fn callback(
    State(control): State<ControlState>,
    origin: Origin,
    headers: HeaderMap,
    Query(query): Query<CallbackQuery>,
) -> Result<Response, ControlError> {
    let Some(provider) = &control.provider else { return Err(Problem::not_found().into()) };
    let throttle = &control.auth.login_throttle;
    let now = control.clock.now();
    let attempt = Attempt::at_provider(origin.peer);
    throttle.admit(&attempt, now).await.map_err(login_throttle::too_many_attempts)?;
    let begun = Begun::of(&headers, now, &control.auth.macs);
    let state = query.state.as_deref().unwrap_or_default();
    let Some(begun) = begun.filter(|begun| begun.has_state(state)) else {
        return Ok(failed(Failure::Expired, ""));
    };
    let foreign = query.iss.is_some_and(|issuer| issuer != provider.oidc.issuer());
    let Some(code) = query.code.filter(|_| query.error.is_none() && !foreign) else {
        return Ok(failed(Failure::Provider, &begun.next));
    };
    // Some providers accept a code again, and so would this cookie.
    let once = Attempt::callback(state, cookie::LIVES_S);
    if throttle.admit(&once, now).await.is_err() {
        return Ok(failed(Failure::Expired, &begun.next));
    }
    let identity = match provider.oidc.identity(code, &begun.transaction).await {
        Ok(identity) => identity,
        Err(error) => {
            tracing::warn!(%error, "could not complete a sign-in with the provider");
            return Ok(failed((&error).into(), &begun.next));
        }
    };
    let sign_in =
        SignIn { issuer: provider.oidc.issuer(), identity, origin: &origin, headers: &headers };
    match sign_in.finish(&control).await? {
        SignInOutcome::Refused(failure) => Ok(failed(failure, &begun.next)),
        SignInOutcome::Session { token, email } => {
            let device = device::cookie(&email, &control.auth.macs, &control.random);
            let session = token.cookie(control.settings.session_idle_ms);
            Ok(signed_in(&begun.next, [cookie::none(), session, device]))
        }
    }
}
