//! Refuses query parameters that an operation does not have, so that a field of the body that was written into the address,
//! such as `dry_run`, is not ignored.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, PathItem, RefOr};
use weir_http::params;

/// Providers can add parameters of their own.
const CALLBACK: &str = "/api/v1/auth/oidc/callback";

/// The query parameters of each operation of the document.
#[derive(Debug, Clone)]
pub(crate) struct Parameters(Arc<[Route]>);

/// A path of the document.
#[derive(Debug)]
struct Route {
    path: String,
    operations: Vec<(Method, Vec<String>)>,
}

impl Parameters {
    pub(crate) fn of(document: &OpenApi) -> Self {
        let paths = document.paths.paths.iter();
        let api = paths.filter(|(path, _)| path.starts_with("/api/") && *path != CALLBACK);
        Self(api.map(|(path, item)| Route::new(path, item)).collect())
    }

    /// The names of the parameters of an operation. `None` if the document has no such operation.
    fn names(&self, method: &Method, uri: &Uri) -> Option<&[String]> {
        let fitting = self.0.iter().filter(|route| route.fits(uri.path()));
        let route = fitting.min_by_key(|route| route.path.matches('{').count())?;
        let operation = route.operations.iter().find(|(own, _)| own == method);
        operation.map(|(_, names)| names.as_slice())
    }
}

/// Middleware: a parameter that the document does not name is 422.
pub(crate) async fn refuse_others(
    State(parameters): State<Parameters>,
    request: Request,
    next: Next,
) -> Response {
    let uri = request.uri();
    if uri.query().is_some()
        && let Some(names) = parameters.names(request.method(), uri)
        && let Err(problem) = params::refuse_others(uri, names)
    {
        return problem.into_response();
    }
    next.run(request).await
}

impl Route {
    fn new(path: &str, item: &PathItem) -> Self {
        let operations = [
            (Method::GET, &item.get),
            (Method::POST, &item.post),
            (Method::PUT, &item.put),
            (Method::PATCH, &item.patch),
            (Method::DELETE, &item.delete),
        ];
        let named = |(method, operation): (Method, &Option<Operation>)| {
            Some((method, names(operation.as_ref()?)))
        };
        let operations = operations.into_iter().filter_map(named).collect();
        Self { path: path.to_owned(), operations }
    }

    /// Whether a path is one of this route: equal but for the placeholders.
    fn fits(&self, path: &str) -> bool {
        let mut own = self.path.split('/');
        let mut given = path.split('/');
        loop {
            match (own.next(), given.next()) {
                (None, None) => return true,
                (Some(own), Some(given)) if own == given || own.starts_with('{') => {}
                _ => return false,
            }
        }
    }
}

fn names(operation: &Operation) -> Vec<String> {
    let written_here = |parameter: &RefOr<Parameter>| match parameter {
        RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query => {
            Some(parameter.name.clone())
        }
        RefOr::T(_) | RefOr::Ref(_) => None,
    };
    operation.parameters.iter().flatten().filter_map(written_here).collect()
}
