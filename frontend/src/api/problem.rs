//! What came instead of an answer.

use weir_wire::problem::{ErrorCode, FieldProblem, ProblemBody};

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which kind; none when no server answered in our form.
    pub code: Option<ErrorCode>,
    /// In one line, for a person.
    pub title: String,
    /// What exactly.
    pub detail: String,
    /// Names the request in the server's logs.
    pub request_id: Option<String>,
    /// The fields that were refused.
    pub fields: Vec<FieldProblem>,
}

impl Problem {
    /// No answer came.
    pub fn unreachable(who: &str) -> Self {
        Self {
            code: None,
            title: format!("{who} cannot be reached"),
            detail: "No answer came. It may be restarting, or the connection is down.".to_owned(),
            request_id: None,
            fields: Vec::new(),
        }
    }

    /// The server no longer has a part of this dashboard.
    pub fn outdated() -> Self {
        Self {
            code: None,
            title: "This page is gone".to_owned(),
            detail: "The server has answered, but not with this page. It was probably updated since the dashboard was opened: reloading it brings the new one.".to_owned(),
            request_id: None,
            fields: Vec::new(),
        }
    }

    /// Whether only loading the dashboard anew can help.
    pub fn is_outdated(&self) -> bool {
        *self == Self::outdated()
    }

    /// An answer came that is not in our form.
    pub fn unreadable(status: u16) -> Self {
        Self {
            code: None,
            title: "The answer cannot be read".to_owned(),
            detail: format!(
                "It had the status {status} and was not what this page understands. Reloading the page may help."
            ),
            request_id: None,
            fields: Vec::new(),
        }
    }
}

impl From<ProblemBody> for Problem {
    fn from(body: ProblemBody) -> Self {
        Self {
            code: Some(body.code),
            title: body.title,
            detail: body.detail,
            request_id: Some(body.request_id),
            fields: body.fields,
        }
    }
}
