//! The origin of a request, for the audit log.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use weir_http::client_address::ClientAddress;
use weir_http::problem::Problem;
use weir_http::request_id::RequestId;

/// The address and the id of a request.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) peer: Option<IpAddr>,
    pub(crate) request_id: String,
}

impl Origin {
    pub(super) fn of(parts: &Parts) -> Self {
        let client = parts.extensions.get::<ClientAddress>();
        let request_id = parts.extensions.get::<RequestId>();
        Self {
            peer: client.map(|ClientAddress(address)| *address),
            request_id: request_id.map(ToString::to_string).unwrap_or_default(),
        }
    }

    pub(crate) fn ip(&self) -> Option<String> {
        self.peer.map(|ip| ip.to_string())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Origin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self::of(parts))
    }
}
