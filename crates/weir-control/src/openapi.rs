//! The routes and their description, from one list.
//!
//! One function adds the common parts of the description: the problems that an operation can answer with follow from its
//! inputs, and every problem has the same body.

use axum::Router;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tower_http::csrf::{CsrfLayer, ProtectionError};
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::response::{Response as DocumentedResponse, ResponseBuilder};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use weir_http::json::Json;
use weir_http::params::refuse_control_characters;
use weir_http::problem::Problem;
use weir_wire::bounds::with_bounds;
use weir_wire::problem::ProblemBody;

use crate::actor::missing;
use crate::parameters::{self, Parameters};
use crate::state::ControlState;
use crate::{metrics, routes};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Weir control plane",
        description = "Tenants, keys, rules and overrides: what the gates enforce.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    servers((url = "/", description = "The control plane that serves this document")),
    components(schemas(ProblemBody)),
    modifiers(&Credentials),
    security(("bearer" = [])),
    tags(
        (name = "sessions", description = "Signing up, in and out"),
        (name = "me", description = "The person who is signed in"),
        (name = "tenants", description = "Customers of this installation"),
        (name = "members", description = "Members of a tenant, and invitations"),
        (name = "keys", description = "API keys"),
        (name = "rules", description = "Rules and their limits"),
        (name = "overrides", description = "Exceptions for one subject"),
        (name = "namespaces", description = "The settings of namespaces"),
        (name = "profiles", description = "How the requests that proxies ask about become checks"),
        (name = "plans", description = "Plans, and the customers that are on them"),
        (name = "testing", description = "Tests of rules, inspections and resets of counters"),
        (name = "subjects", description = "One subject across all rules: its counters, and temporary overrides"),
        (name = "stats", description = "Statistics of allowed and denied checks"),
        (name = "alerts", description = "Alerts, webhooks and their deliveries"),
        (name = "deferred jobs", description = "The queue of deferred jobs, and its dead letters"),
        (name = "replicas", description = "The gates, and the version that each serves"),
        (name = "audit", description = "The audit log"),
        (name = "operator", description = "The operator of the installation"),
        (name = "health", description = "Probes of the process"),
    ),
)]
struct Document;

struct Credentials;

impl Modify for Credentials {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let description = "An access token from login or refresh, or an API key of the tenant.";
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(description))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(scheme));
    }
}

/// The router of the control plane, without fallbacks ([`weir_http::plane::with_fallbacks`]).
pub fn router(state: ControlState) -> Router {
    let (router, document) = described().split_for_parts();
    let json = openapi();
    router
        .layer(middleware::from_fn_with_state(state.clone(), missing::record))
        .layer(middleware::from_fn_with_state(Parameters::of(&document), parameters::refuse_others))
        .layer(middleware::from_fn(refuse_control_characters))
        .layer(middleware::from_fn_with_state(state.clone(), metrics::count))
        .with_state(state)
        .layer(CsrfLayer::new().with_rejection_response(cross_site))
        .route("/openapi.json", get(|| async move { Json(json) }))
}

/// The OpenAPI document of the control plane.
pub fn openapi() -> serde_json::Value {
    let (_, mut document) = described().split_for_parts();
    for (path, item) in &mut document.paths.paths {
        let operations = [
            (false, &mut item.get),
            (true, &mut item.post),
            (true, &mut item.put),
            (true, &mut item.patch),
            (true, &mut item.delete),
        ];
        for (writes, operation) in operations {
            if let Some(operation) = operation {
                add_problems(path, operation, writes);
            }
        }
    }
    with_bounds(&document)
}

fn described() -> OpenApiRouter<ControlState> {
    OpenApiRouter::with_openapi(Document::openapi())
        .nest("/api/v1", routes::api())
        .merge(routes::operations())
}

/// The problem of a request that a page of another site made.
fn cross_site(_: ProtectionError) -> Response {
    Problem::forbidden("cross-site request blocked").into_response()
}

/// Adds the answers that follow from the kind of operation, and the body of every problem.
fn add_problems(path: &str, operation: &mut Operation, writes: bool) {
    let mut problems = vec![("500", "Internal error"), ("503", "Temporarily unavailable")];
    if operation.security.is_none() {
        problems.push(("400", "A credential in the address, or a body that is not JSON"));
        problems.push(("401", "No valid credentials"));
        problems.push(("403", "Not permitted"));
    }
    if writes {
        problems.push(("403", "The request was sent by a page of another site"));
    }
    if path.starts_with("/api/v1/tenants/{tenant}") {
        problems.push((
            "429",
            "More requests than the ceiling of the tenant permits; `Retry-After` states when to retry",
        ));
    }
    if path.contains('{') {
        problems.push(("404", "Not found, or it belongs to another tenant"));
        problems.push(("422", "A parameter contains a control character"));
    }
    let parameters = operation.parameters.as_deref().unwrap_or_default();
    let in_query = |parameter: &RefOr<Parameter>| matches!(parameter, RefOr::T(known) if known.parameter_in == ParameterIn::Query);
    if parameters.iter().any(in_query) {
        problems.push(("422", "A parameter is outside the bounds"));
    }
    if operation.request_body.is_some() {
        problems.push(("400", "The body is not JSON"));
        problems.push(("408", "Request timed out"));
        problems.push(("413", "The body is too large"));
        problems.push(("415", "The body must be application/json"));
        problems.push(("422", "A field is outside the bounds"));
    }
    for (status, description) in problems {
        let responses = &mut operation.responses.responses;
        responses
            .entry(status.to_owned())
            .or_insert_with(|| RefOr::T(ResponseBuilder::new().description(description).build()));
    }
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response
            && status.as_str() >= "400"
        {
            add_body(response);
        }
    }
}

fn add_body(response: &mut DocumentedResponse) {
    let schema = Ref::from_schema_name("ProblemBody");
    let content = ContentBuilder::new().schema(Some(schema)).build();
    response.content.insert("application/problem+json".to_owned(), RefOr::T(content));
}
