//! Answers from files that are embedded in the binary.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};
use weir_http::problem::Problem;
use weir_wire::problem::ErrorCode;

/// The files of the dashboard, and of the customers' own view.
#[derive(RustEmbed)]
#[folder = "../../frontend/dist"]
#[cfg_attr(not(feature = "embed"), allow_missing = true)]
pub struct Files;

/// The file at `path`, compressed if a compressed copy exists and the client accepts it.
pub fn file<Files: RustEmbed>(path: &str, headers: &HeaderMap, caching: &str) -> Option<Response> {
    if path.is_empty() || path.rsplit('.').next() == Some("br") {
        return None;
    }
    let plain = Files::get(path)?;
    let mut kind = plain.metadata.mimetype().to_owned();
    if kind.starts_with("text/") {
        kind.push_str("; charset=utf-8");
    }
    let smaller = if accepts_brotli(headers) { Files::get(&format!("{path}.br")) } else { None };
    let encoding = smaller.is_some().then_some("br");
    let EmbeddedFile { data, .. } = smaller.unwrap_or(plain);
    let mut response = data.into_owned().into_response();
    let headers = response.headers_mut();
    let mut set = |name, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(header::CONTENT_TYPE, &kind);
    set(header::CACHE_CONTROL, caching);
    set(header::VARY, "accept-encoding");
    if let Some(encoding) = encoding {
        set(header::CONTENT_ENCODING, encoding);
    }
    Some(response)
}

/// The page at `path` with its policy, or the page `404.html`. The next release changes pages under the same names, so clients ask
/// each time. `what` names all pages, for a server without them.
pub fn page<Pages: RustEmbed>(
    request: &Request,
    path: &str,
    policy: HeaderValue,
    what: &str,
) -> Response {
    const CACHING: &str = "no-cache";
    if let Some(refusal) = refuse_writes(request.method()) {
        return refusal;
    }
    let mut response = file::<Pages>(path, request.headers(), CACHING).unwrap_or_else(|| {
        file::<Pages>("404.html", request.headers(), CACHING)
            .map_or_else(|| not_built(what), |page| (StatusCode::NOT_FOUND, page).into_response())
    });
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

/// The answer to a request that would change a file; `None` for one that reads it.
pub fn refuse_writes(method: &Method) -> Option<Response> {
    if matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let detail = "the header `Allow` names the methods of this path";
    let problem = Problem::new(ErrorCode::MethodNotAllowed, detail);
    Some(([(header::ALLOW, "GET,HEAD")], problem).into_response())
}

/// The answer where a page would be, if the binary was built without its folder.
pub fn not_built(what: &str) -> Response {
    let detail = format!("this server was built without {what}: cargo xtask release builds it in");
    Problem::new(ErrorCode::NotFound, detail).into_response()
}

fn accepts_brotli(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|codings| codings.to_str().ok());
    accepted.is_some_and(|codings| {
        codings
            .split(',')
            .any(|coding| coding.split(';').next().is_some_and(|name| name.trim() == "br"))
    })
}
