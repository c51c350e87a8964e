//! `GET /metrics`, and the middleware that counts every answer.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::state::ControlState;

/// Counts every answer.
pub(crate) async fn count(
    State(control): State<ControlState>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let response = next.run(request).await;
    control.meters().answered(response.status(), began.elapsed());
    response
}

/// Metrics in Prometheus' text format.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "health", security(()),
    responses((status = 200, description = "Prometheus text", body = String, content_type = "text/plain")))]
pub(crate) async fn metrics_text(State(control): State<ControlState>) -> Response {
    let mails = control.mail.as_ref().map(|mail| mail.mailer.counts()).unwrap_or_default();
    let watchers = control.local.live.watchers();
    let failures = control.signal.failures();
    let text = control.meters().render(watchers, failures, mails);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}
