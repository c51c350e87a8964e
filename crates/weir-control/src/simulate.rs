//! What-if runs: past checks decided by a rule as it is and as it could be.

use axum::Extension;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt as _};
use utoipa_axum::routes;
use weir_http::json::BodyLimit;
use weir_wire::simulate::TRACE_BYTES_MAX;

use crate::state::ControlState;

mod certainty;
mod outcome;
mod recorded;
mod replay;
pub(crate) mod room;
mod run;
mod status;
mod trace;
mod traffic;

/// A trace in JSON is longer than itself.
const BODY_BYTES_MAX: usize = TRACE_BYTES_MAX * 6 / 5;

pub(crate) fn routes() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(run::simulate).layer(Extension(BodyLimit(BODY_BYTES_MAX))))
        .routes(routes!(status::status))
}
