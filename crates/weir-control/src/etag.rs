//! Revisions in headers: `ETag` on answers, `If-Match` on updates.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use weir_http::problem::Problem;
use weir_wire::problem::ErrorCode;

/// The value of `If-Match`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMatch {
    /// The header is missing.
    Absent,
    /// The revision the change is based on.
    Revision(u64),
    /// A value that was never a revision.
    Nothing,
}

impl IfMatch {
    /// The revision. An update without one is 428.
    pub(crate) fn required(self) -> Result<u64, Problem> {
        match self {
            Self::Absent => Err(Problem::new(
                ErrorCode::PreconditionRequired,
                "send the `ETag` you last read as `If-Match`",
            )),
            Self::Revision(revision) => Ok(revision),
            Self::Nothing => Err(stale()),
        }
    }

    /// The revision, for operations where the header is optional.
    pub(crate) fn optional(self) -> Result<Option<u64>, Problem> {
        match self {
            Self::Absent => Ok(None),
            Self::Revision(revision) => Ok(Some(revision)),
            Self::Nothing => Err(stale()),
        }
    }

    fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(header::IF_MATCH).iter();
        match (values.next(), values.next()) {
            (None, _) => Self::Absent,
            (Some(value), None) => revision(value).map_or(Self::Nothing, Self::Revision),
            (Some(_), Some(_)) => Self::Nothing,
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self::of(&parts.headers))
    }
}

/// The `ETag` of a revision.
pub(crate) fn etag(revision: u64) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{revision}\"")).expect("digits and quotes are printable")
}

fn revision(value: &HeaderValue) -> Option<u64> {
    let digits = value.to_str().ok()?.trim().strip_prefix('"')?.strip_suffix('"')?;
    let is_ours = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_ours { digits.parse().ok() } else { None }
}

fn stale() -> Problem {
    Problem::new(ErrorCode::Stale, "`If-Match` is not an `ETag` of this API")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_form_we_hand_out_is_read() {
        let of = |text: &'static str| {
            let value = HeaderValue::from_static(text);
            IfMatch::of(&HeaderMap::from_iter([(header::IF_MATCH, value)]))
        };
        assert_eq!(IfMatch::of(&HeaderMap::new()), IfMatch::Absent);
        assert_eq!(of("\"17\""), IfMatch::Revision(17));
        assert_eq!(etag(17), "\"17\"");
        for other in ["17", "*", "W/\"17\"", "\"+1\"", "\"\"", "\"1\", \"2\""] {
            assert_eq!(of(other), IfMatch::Nothing, "{other}");
        }
    }
}
