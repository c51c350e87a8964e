//! Failures of calls.

use std::fmt;

use serde::Deserialize;

/// Why a call got no valid answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// No complete answer arrived in time.
    Timeout,
    /// The connection was refused, reset, or closed before the answer was complete.
    Connection,
    /// 401, 403, 404, 5xx, or a redirect, which is never followed.
    Status,
    /// It is not the answer of a gate.
    Answer,
    /// `max_waiting` checks wait already.
    Overload,
    /// The gate refused the request itself (400, 413, 415, 422). The program must send another one.
    Refused,
}

/// A call of a gate that produced no decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Why.
    pub kind: Kind,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// `code` of the gate's problem document.
    pub code: Option<String>,
    /// `request_id` of the gate's problem document.
    pub request_id: Option<String>,
    /// Each field that the gate refused.
    pub fields: Vec<FieldProblem>,
    message: String,
}

/// A field of a request, and why the gate refused it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FieldProblem {
    /// The name of the field.
    pub field: String,
    /// Why the gate refused it.
    pub reason: String,
}

/// The parts of a problem document that errors show.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Document {
    detail: Option<String>,
    code: Option<String>,
    request_id: Option<String>,
    fields: Vec<FieldProblem>,
}

const REFUSED: [u16; 4] = [400, 413, 415, 422];

impl Error {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            code: None,
            request_id: None,
            fields: Vec::new(),
            message: message.into(),
        }
    }

    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// The error of a problem document, or of any other text with this status: something between the client and the gate can have
    /// answered.
    pub(crate) fn problem(status: u16, content: &[u8]) -> Self {
        let kind = if REFUSED.contains(&status) { Kind::Refused } else { Kind::Status };
        let document: Document = serde_json::from_slice(content).unwrap_or_default();
        let reasons = document.fields.iter().map(|one| format!("{}: {}", one.field, one.reason));
        let parts = [format!("the gate answered {status}")]
            .into_iter()
            .chain(document.detail)
            .chain(reasons)
            .chain(document.request_id.as_ref().map(|id| format!("request {id}")));
        Self {
            kind,
            message: parts.collect::<Vec<_>>().join("; "),
            status: Some(status),
            code: document.code,
            request_id: document.request_id,
            fields: document.fields,
        }
    }

    pub(crate) fn late() -> Self {
        Self::new(Kind::Timeout, "the gate did not answer in time")
    }

    pub(crate) fn does_not_fit(status: u16) -> Self {
        Self::new(Kind::Answer, format!("the gate's answer does not fit its status {status}"))
            .with_status(status)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
