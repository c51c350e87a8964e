//! Helpers for axum, which read what it knows about a request.

use std::convert::Infallible;
use std::net::SocketAddr;

use axum::extract::{ConnectInfo, FromRequestParts, MatchedPath, OptionalFromRequestParts};
use http::request::Parts;
use http::{Request, StatusCode};

use crate::UNMATCHED;
use crate::address::{AddressOptions, client_address};
use crate::answer::Answer;
use crate::options::WrongOption;

/// The address of the client. `X-Forwarded-For` is read only with `trusted_hops`. Without them the server must be made by
/// `into_make_service_with_connect_info::<SocketAddr>()`.
pub fn ip<B>(request: &Request<B>, options: AddressOptions) -> Result<String, WrongOption> {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    client_address(peer.map(|ConnectInfo(address)| address.ip()), request.headers(), options)
}

/// The pattern of the route, such as `/users/{id}`; [`UNMATCHED`] if there is none. Known in layers of routes and routers.
pub fn route<B>(request: &Request<B>) -> String {
    request.extensions().get::<MatchedPath>().map_or(UNMATCHED, MatchedPath::as_str).to_owned()
}

/// The answer to the check of the innermost [`crate::WeirLayer`]. Without one, the response is 500; take `Option<Answer>` where requests
/// can pass without a check.
impl<S: Send + Sync> FromRequestParts<S> for Answer {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let missing = "the request has no answer: no layer of Weir checked it";
        parts.extensions.get().cloned().ok_or((StatusCode::INTERNAL_SERVER_ERROR, missing))
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for Answer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(parts.extensions.get().cloned())
    }
}
