//! Trying a request against the rules, and letting a subject start again.

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::ControlState;

pub(crate) mod inspect;
pub(crate) mod matched_rule;
pub(crate) mod reset;
pub(crate) mod test;

pub(crate) fn routes() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(test::test))
        .routes(routes!(inspect::inspect))
        .routes(routes!(reset::reset))
}
