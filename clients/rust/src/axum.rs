//! Helpers for axum, which read what it knows about a request.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, MatchedPath};
use http::Request;

use crate::UNMATCHED;
use crate::address::{AddressOptions, client_address};
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
