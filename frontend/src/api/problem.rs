//! The error of an API call.

use weir_wire::problem::{ErrorCode, FieldProblem, ProblemBody};

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The error code; `None` if the response did not come from Weir.
    pub code: Option<ErrorCode>,
    /// A summary in one line.
    pub title: String,
    /// The details.
    pub detail: String,
    /// The id of the request in the server's logs.
    pub request_id: Option<String>,
    /// The rejected fields.
    pub fields: Vec<FieldProblem>,
}

impl Problem {
    /// The server did not respond.
    pub fn unreachable(origin: &str) -> Self {
        Self {
            code: None,
            title: format!("{origin} cannot be reached"),
            detail: "No response. The server may be restarting, or the connection is down."
                .to_owned(),
            request_id: None,
            fields: Vec::new(),
        }
    }

    /// The title and the details in one line.
    pub fn text(&self) -> String {
        if self.detail.is_empty() {
            self.title.clone()
        } else {
            format!("{}: {}", self.title, self.detail)
        }
    }

    /// Whether Weir did not respond.
    pub fn is_unreachable(&self) -> bool {
        *self == Self::unreachable("Weir")
    }

    /// The server no longer serves this file of the dashboard.
    pub fn outdated() -> Self {
        Self {
            code: None,
            title: "Weir was updated".to_owned(),
            detail: "This page belongs to a version of the dashboard that is no longer served. Reload to get the new version.".to_owned(),
            request_id: None,
            fields: Vec::new(),
        }
    }

    /// Whether the dashboard must be reloaded.
    pub fn is_outdated(&self) -> bool {
        *self == Self::outdated()
    }

    /// A replay needs more time than the server gives it.
    pub fn too_slow() -> Self {
        Self {
            code: None,
            title: "This took too long".to_owned(),
            detail: "The server stops a replay after a few seconds. Try a shorter time.".to_owned(),
            request_id: None,
            fields: Vec::new(),
        }
    }

    /// Other replays run.
    pub fn other_replays() -> Self {
        Self {
            code: None,
            title: "Another replay is running".to_owned(),
            detail: "The server runs few replays at a time. Try again in a few seconds.".to_owned(),
            request_id: None,
            fields: Vec::new(),
        }
    }

    /// The problem of a replay, in words of its own if the server stopped it or runs others.
    pub fn of_replay(self) -> Self {
        let stopped = |field: &FieldProblem| {
            field.field == "from" && field.reason.starts_with("took longer than")
        };
        let others = ["`what_if_runs`", "other what-if runs"];
        if self.fields.iter().any(stopped) {
            Self::too_slow()
        } else if others.iter().any(|words| self.detail.contains(words)) {
            Self::other_replays()
        } else {
            self
        }
    }

    /// Whether a shorter time would help.
    pub fn is_too_slow(&self) -> bool {
        *self == Self::too_slow()
    }

    /// The response is not in Weir's format.
    pub fn unreadable(status: u16) -> Self {
        Self {
            code: None,
            title: "Unexpected response".to_owned(),
            detail: format!(
                "The server responded with status {status} in an unknown format. Try again, or reload the page."
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_says_in_plain_words_that_others_run() {
        let of = |detail: &str| {
            Problem { detail: detail.to_owned(), ..Problem::unreadable(429) }.of_replay()
        };
        assert_eq!(of("the tenant's ceiling `what_if_runs` is 1"), Problem::other_replays());
        assert_eq!(of("other what-if runs are in progress"), Problem::other_replays());
        let other = "nothing was recorded";
        assert_eq!(of(other).detail, other);
    }
}
