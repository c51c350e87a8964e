//! Rate-limit headers from an answer (pure).
//!
//! `X-RateLimit-*` as the field uses them, with `Reset` in seconds from now; and `RateLimit-Policy`
//! and `RateLimit` by draft-ietf-httpapi-ratelimit-headers-10, where an item names the policy.

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use weir_wire::check::{CheckAnswer, LimitAnswer};
use weir_wire::words::Mode;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const X_RETRY_AFTER: HeaderName = HeaderName::from_static("x-ratelimit-retry-after");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");

/// Adds the headers of an answer to those of its response; none where no enforced limit was asked.
pub(crate) fn add(answer: &CheckAnswer, headers: &mut HeaderMap) {
    if let (Some(limit), Some(remaining), Some(reset_after_ms)) =
        (answer.limit, answer.remaining, answer.reset_after_ms)
    {
        let reset_s = reset_after_ms.div_ceil(1000);
        headers.insert(LIMIT, limit.into());
        headers.insert(REMAINING, remaining.into());
        headers.insert(RESET, reset_s.into());
        let decided_by = match answer.code {
            // No rule can have this name.
            Some(code) => Some((code.as_str(), 1)),
            None => deciding(answer).map(|it| (&*it.rule, it.window_ms.div_ceil(1000).max(1))),
        };
        if let Some((rule, window_s)) = decided_by {
            let policy = value(rule, [(";q=", limit), (";w=", window_s)]);
            let state = value(rule, [(";r=", remaining), (";t=", reset_s)]);
            headers.extend(policy.map(|it| (POLICY, it)));
            headers.extend(state.map(|it| (STATE, it)));
        }
    }
    if let (false, Some(retry_after_ms)) = (answer.allowed, answer.retry_after_ms) {
        let retry_s = retry_after_ms.div_ceil(1000).max(1);
        headers.insert(X_RETRY_AFTER, retry_s.into());
        headers.insert(header::RETRY_AFTER, retry_s.into());
    }
}

/// The entry whose numbers are the summary's.
fn deciding(answer: &CheckAnswer) -> Option<&LimitAnswer> {
    answer.limits.iter().find(|it| {
        it.mode == Mode::Enforce
            && Some(it.limit) == answer.limit
            && it.remaining == answer.remaining
            && it.reset_after_ms == answer.reset_after_ms
            && (answer.allowed || it.retry_after_ms == answer.retry_after_ms)
    })
}

/// A rule's name and its parameters, written once and not copied again.
fn value(rule: &str, parameters: [(&str, u64); 2]) -> Option<HeaderValue> {
    let mut written = String::with_capacity(rule.len() + 64);
    written.push('"');
    written.push_str(rule);
    written.push('"');
    for (name, number) in parameters {
        written.push_str(name);
        written.push_str(itoa::Buffer::new().format(number));
    }
    HeaderValue::from_maybe_shared(Bytes::from(written)).ok()
}

#[cfg(test)]
mod tests;
