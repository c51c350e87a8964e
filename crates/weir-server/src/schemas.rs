//! The JSON Schema of files with rules, at `/schemas/weir-v1.json`, where editors find it.

use axum::Router;
use axum::http::header;
use axum::routing::get;

pub fn router() -> Router {
    let schema = weir_manifest::schema::schema().to_string();
    let answer = || async { ([(header::CONTENT_TYPE, "application/schema+json")], schema) };
    Router::new().route("/schemas/weir-v1.json", get(answer))
}
