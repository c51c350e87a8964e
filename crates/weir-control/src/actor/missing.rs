//! Requests for objects that the caller's tenant does not have, or that are in other namespaces than those of the key, in the
//! audit log.
//!
//! Each leaves an entry `access.denied`, bounded like every denial. The entry is the same whether another tenant has the object
//! or nobody, so the log reveals nothing about other tenants.

use std::sync::{Arc, OnceLock};

use axum::extract::{Request, State};
use axum::http::{Extensions, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use crate::actor::caller::Caller;
use crate::state::ControlState;

/// The caller of a request that names an object, or whose key is restricted to namespaces, once its rights are known.
#[derive(Debug, Clone, Default)]
struct ObjectRequest(Arc<OnceLock<Caller>>);

/// Notes the caller of a request that can end because of its object.
pub(super) fn admit(extensions: &Extensions, caller: &Caller) {
    if let Some(request) = extensions.get::<ObjectRequest>() {
        request.0.get_or_init(|| caller.clone());
    }
}

/// Records the requests that end with 404 because the object does not exist in the caller's tenant, and those of restricted
/// keys that end with 403 because of a namespace.
pub(crate) async fn record(
    State(control): State<ControlState>,
    mut request: Request,
    next: Next,
) -> Response {
    let object = ObjectRequest::default();
    request.extensions_mut().insert(object.clone());
    let response = next.run(request).await;
    let Some(caller) = object.0.get() else { return response };
    let denied = match response.status() {
        StatusCode::NOT_FOUND => true,
        StatusCode::FORBIDDEN => caller.namespaces.are_restricted(),
        _ => false,
    };
    if denied {
        caller.denied(&control).await;
    }
    response
}
