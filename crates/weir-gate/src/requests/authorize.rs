//! `/authorize/{profile}`: a proxy asks whether it can forward a request.
//!
//! The proxy passes the answer on to its client, so 429 (or the profile's status) always means a denial by a rule, and every
//! failure of Weir or of its configuration is 503 with `X-Weir-Error`. The query, the body and all credentials except
//! Weir's own key are the client's, and are ignored.

mod answer;
pub(crate) mod denial;
mod key;

use std::slice;
use std::sync::Arc;

use axum::extract::{Request as HttpRequest, State};
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use weir_domain::profile::{MissingHeader, Profile, ProxyHeaders, ProxyRequest};
use weir_domain::request::Request;
use weir_http::problem::Problem;
use weir_http::request_id::RequestId;
use weir_wire::check::CheckAnswer;
use weir_wire::problem::ProblemBody;

use crate::decide::{KeyReused, TooManyLimits, decide};
use crate::metrics::refused_callers::Interface;
use crate::requests::authorize_error::AuthorizeError;
use crate::requests::caller::Caller;
use crate::requests::run_to_completion::RunToCompletion;
use crate::state::GateState;

/// The path before the name of the profile.
pub const PREFIX: &str = "/authorize/";

/// Decide a request that a proxy describes. Any method; anything can follow the name in the path.
#[utoipa::path(
    get, path = "/authorize/{profile_name}", tag = "proxies", operation_id = "authorize",
    params(("profile_name" = String, Path, description = "The name of a profile of the tenant")),
    security(("weir_key" = []), ("basic" = [])),
    responses(
        (status = 200, description = "Allowed, for a profile that reads `ext_authz`"),
        (status = 204, description = "Allowed, for every other profile"),
        (status = 403, description = "Denied, if the profile's `deny_status` is 403", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "Denied", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Weir could not decide; `X-Weir-Error` names the reason", body = ProblemBody, content_type = "application/problem+json",
            headers(("X-Weir-Error" = String, description = "`unauthenticated`, `forbidden`, `unknown_profile`, `missing_header`, `too_many_limits` or `unavailable`"))),
    )
)]
pub(crate) async fn authorize(State(state): State<GateState>, asked: HttpRequest) -> Response {
    let (asked, _) = asked.into_parts();
    let id = asked.extensions.get::<RequestId>().copied();
    match decided(&state, &asked).await {
        Ok((profile, answer)) => {
            state.meters.authorized(answer.allowed);
            answer::of(&profile, &answer, id.as_ref())
        }
        Err(error) => {
            state.meters.authorize_error(error.word);
            error.into_response()
        }
    }
}

async fn decided(
    state: &GateState,
    asked: &Parts,
) -> Result<(Arc<Profile>, CheckAnswer), AuthorizeError> {
    let caller = caller(state, asked).inspect_err(|problem| {
        state.meters.refused_caller(Interface::Authorize, problem.code());
    })?;
    let target = asked.uri.path_and_query().map_or("", PathAndQuery::as_str);
    let target = target.strip_prefix(PREFIX).unwrap_or_default();
    let (name, path) = target.split_at(target.find(['/', '?']).unwrap_or(target.len()));
    let profile = caller.book.profile(caller.tenant, name).map(Arc::clone);
    let profile = profile.ok_or_else(|| AuthorizeError::unknown_profile(name))?;
    let described = ProxyRequest {
        method: asked.method.as_str(),
        target: if path.starts_with('/') { path } else { "/" },
        host: host(asked),
        headers: &Headers(&asked.headers),
    };
    let request = profile
        .request(&described)
        .map_err(|MissingHeader(header)| AuthorizeError::missing_header(header, profile.reads()))?;
    let state = state.clone();
    // To the end even if the proxy leaves, so that a charged check is counted.
    let answer =
        RunToCompletion::new(async move { decide_one(&state, &caller, request).await }).await;
    Ok((profile, answer.map_err(|TooManyLimits(_)| AuthorizeError::too_many_limits())?))
}

/// The proxy that presents a key.
fn caller(state: &GateState, asked: &Parts) -> Result<Caller, Problem> {
    let headers = &asked.headers;
    let book = Caller::rulebook(state)?;
    let secret = key::presented(headers).ok_or_else(Problem::unauthenticated)?;
    let caller = Caller::of_secret(state, book, &secret)?;
    let caller = Caller { request_id: asked.extensions.get().copied(), ..caller };
    Ok(caller.traced(state, headers, || "authorize".to_owned()))
}

/// Decides a request. If its idempotency key was used for another one, it is a request of its own: a client that can choose
/// the key must not cause an error.
async fn decide_one(
    state: &GateState,
    caller: &Caller,
    request: Request,
) -> Result<CheckAnswer, TooManyLimits> {
    let first = decide(state, caller, slice::from_ref(&request)).await?.pop();
    if let Some(Ok(answer)) = first {
        return Ok(answer);
    }
    let again = decide(state, caller, &[request.without_idempotency_key()]).await?.pop();
    match again.expect("one request has one result") {
        Ok(answer) => Ok(answer),
        Err(KeyReused) => unreachable!("a request without a key reuses none"),
    }
}

/// The host of a request to the gate. HTTP/2 has it in the target.
fn host(asked: &Parts) -> &[u8] {
    let header = asked.headers.get(header::HOST).map(HeaderValue::as_bytes);
    let target = || asked.uri.authority().map(|authority| authority.as_str().as_bytes());
    header.or_else(target).unwrap_or_default()
}

struct Headers<'a>(&'a HeaderMap);

impl ProxyHeaders for Headers<'_> {
    fn values<'a>(&'a self, name: &str) -> impl DoubleEndedIterator<Item = &'a [u8]> {
        self.0.get_all(name).iter().map(HeaderValue::as_bytes)
    }
}
