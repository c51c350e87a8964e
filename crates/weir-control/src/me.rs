//! The signed-in person.

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::ControlState;

pub(crate) mod password;
pub(crate) mod read;
pub(crate) mod rename;
pub(crate) mod sessions;

pub(crate) fn routes() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(read::read, rename::rename))
        .routes(routes!(password::change))
        .routes(routes!(sessions::list::list, sessions::end_all::end_all))
        .routes(routes!(sessions::end::end))
}
