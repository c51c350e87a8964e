//! Answers as a table (RFC 4180).

use axum::body::Body;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

/// The format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TableFormat {
    /// Page by page.
    Json,
    /// Comma-separated values.
    Csv,
}

/// Whether the caller wants a table. `format` precedes the header `Accept`.
pub(crate) fn is_wanted(headers: &HeaderMap, format: Option<TableFormat>) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let accepts = accept.is_some_and(|accept| accept.trim().starts_with("text/csv"));
    format.map_or(accepts, |format| format == TableFormat::Csv)
}

/// The answer with a table, which browsers save as `name`.
pub(crate) fn download(name: &str, text: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    (headers, Body::from(text)).into_response()
}

/// A text as a cell. Spreadsheets read a text that begins with one of these signs as a formula, so it gets an apostrophe in
/// front.
pub(crate) fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = text.replace('"', "\"\"");
    if formula { format!("\"'{text}\"") } else { format!("\"{text}\"") }
}
