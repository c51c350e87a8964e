//! What people who run the installation may do with all tenants. To others these operations do not exist.

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::ControlState;

pub(crate) mod list;
pub(crate) mod suspend;

pub(crate) fn routes() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new().routes(routes!(list::list)).routes(routes!(suspend::suspend))
}
