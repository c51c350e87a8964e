//! The body that a client gets from a proxy that denies its request.

use weir_http::request_id::RequestId;
use weir_wire::check::CheckAnswer;
use weir_wire::problem::{ErrorCode, ProblemBody};

/// The type of the body.
pub(crate) const CONTENT_TYPE: &str = "application/problem+json";

/// The body of a denial with this status.
pub(crate) fn body(status: u16, answer: &CheckAnswer, id: Option<&RequestId>) -> ProblemBody {
    let code = ErrorCode::TooManyRequests;
    let detail = match answer.retry_after_ms {
        Some(ms) => format!("retry in {} s", ms.div_ceil(1000).max(1)),
        None => "this request is never permitted".to_owned(),
    };
    ProblemBody {
        kind: code.urn(),
        title: code.title().to_owned(),
        status,
        detail,
        code,
        request_id: id.map_or("", RequestId::as_str).to_owned(),
        fields: Vec::new(),
    }
}
