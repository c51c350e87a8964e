//! The routes of the data plane and its OpenAPI document, from one list.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::CorsLayer;
use utoipa::OpenApi as _;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use weir_http::json::Json;
use weir_http::plane;
use weir_wire::bounds::with_bounds;

use crate::state::GateState;
use crate::{check, health};

#[derive(utoipa::OpenApi)]
#[openapi(info(
    title = "Weir gate",
    description = "The data plane: decides checks. Times are milliseconds.",
    license(name = "Apache-2.0", identifier = "Apache-2.0")
))]
struct Document;

/// The router of a gate. Pages of `origins` (the dashboard's) can call it from a browser.
pub fn router(state: GateState, origins: &[HeaderValue]) -> Router {
    let (router, document) = routes().split_for_parts();
    let document = with_bounds(&document);
    let described = move || async move { Json(document) };
    let router = router.route("/openapi.json", axum::routing::get(described)).with_state(state);
    let router = plane::with_fallbacks(router);
    // Outermost, so that a preflight is not refused as an unknown method.
    if origins.is_empty() { router } else { router.layer(cors(origins)) }
}

/// The OpenAPI document of the data plane.
pub fn openapi() -> serde_json::Value {
    with_bounds(&routes().into_openapi())
}

fn routes() -> OpenApiRouter<GateState> {
    let mut document = Document::openapi();
    let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("api_key", SecurityScheme::Http(scheme));
    OpenApiRouter::with_openapi(document)
        .routes(routes!(check::check))
        .routes(routes!(check::batch))
        .routes(routes!(check::refund))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
}

/// Clients send keys in a header, and browsers never add them by themselves, so cross-origin requests need no credentials
/// mode.
fn cors(origins: &[HeaderValue]) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(origins.to_vec())
        .allow_methods([Method::POST, Method::GET])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            HeaderName::from_static("x-api-key"),
        ])
        .expose_headers(
            [
                "x-request-id",
                "retry-after",
                "ratelimit",
                "ratelimit-policy",
                "x-ratelimit-limit",
                "x-ratelimit-remaining",
                "x-ratelimit-reset",
                "x-ratelimit-retry-after",
            ]
            .map(HeaderName::from_static),
        )
}
