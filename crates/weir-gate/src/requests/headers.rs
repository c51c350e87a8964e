//! The rate-limit headers of an answer.
//!
//! `X-RateLimit-*` as is common, with `Reset` in seconds from now, and `RateLimit-Policy` and `RateLimit` by
//! draft-ietf-httpapi-ratelimit-headers-10, where an item names the policy.

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use weir_wire::check::{CheckAnswer, LimitAnswer};
use weir_wire::words::Mode;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const X_RETRY_AFTER: HeaderName = HeaderName::from_static("x-ratelimit-retry-after");
/// The rules that only report and are exceeded.
pub(crate) const OVER: HeaderName = HeaderName::from_static("x-ratelimit-over");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");

/// Adds the headers of an answer to its response.
pub(crate) fn add(answer: &CheckAnswer, headers: &mut HeaderMap) {
    each(answer, |name, value| {
        headers.insert(name, value);
    });
}

/// Passes on each header of an answer. There are none if no enforced limit decided and no reported one is exceeded.
pub(crate) fn each(answer: &CheckAnswer, mut header: impl FnMut(HeaderName, HeaderValue)) {
    if let (Some(limit), Some(remaining)) = (answer.limit, answer.remaining) {
        // A quota that never renews has no reset and no window.
        let reset_s = answer.reset_after_ms.map(|ms| ms.div_ceil(1000));
        header(LIMIT, number(limit));
        header(REMAINING, number(remaining));
        if let Some(reset_s) = reset_s {
            header(RESET, number(reset_s));
        }
        let decided_by = match answer.code {
            // No rule can have the name of a code.
            Some(code) => Some((code.as_str(), Some(1))),
            None => deciding(answer).map(|limit| {
                let window_s = (limit.window_ms > 0).then(|| limit.window_ms.div_ceil(1000));
                (&*limit.rule, window_s)
            }),
        };
        if let Some((rule, window_s)) = decided_by {
            let mut text = String::with_capacity(rule.len() + 64);
            let policy = value(&mut text, rule, [(";q=", Some(limit)), (";w=", window_s)]);
            let state = value(&mut text, rule, [(";r=", Some(remaining)), (";t=", reset_s)]);
            if let (Some(policy), Some(state)) = (policy, state) {
                header(POLICY, policy);
                header(STATE, state);
            }
        }
    }
    if !answer.over.is_empty()
        && let Ok(over) = HeaderValue::from_str(&answer.over.join(", "))
    {
        header(OVER, over);
    }
    if let (false, Some(retry_after_ms)) = (answer.allowed, answer.retry_after_ms) {
        let retry_s = retry_after_ms.div_ceil(1000).max(1);
        header(X_RETRY_AFTER, number(retry_s));
        header(RETRY_AFTER, number(retry_s));
    }
}

/// The limit whose numbers are those of the whole answer.
fn deciding(answer: &CheckAnswer) -> Option<&LimitAnswer> {
    answer.limits.iter().find(|limit| {
        limit.mode == Mode::Enforce
            && Some(limit.limit) == answer.limit
            && limit.remaining == answer.remaining
            && limit.reset_after_ms == answer.reset_after_ms
            && (answer.allowed || limit.retry_after_ms == answer.retry_after_ms)
    })
}

/// A header value of a number. It has exactly the size of its digits, and so needs one allocation.
fn number(number: u64) -> HeaderValue {
    HeaderValue::from_str(itoa::Buffer::new().format(number)).expect("digits are permitted")
}

/// A header value of a rule's name and those of its parameters that have a number, written into `text` first.
fn value(
    text: &mut String,
    rule: &str,
    parameters: [(&str, Option<u64>); 2],
) -> Option<HeaderValue> {
    text.clear();
    text.push('"');
    text.push_str(rule);
    text.push('"');
    for (name, number) in parameters {
        if let Some(number) = number {
            text.push_str(name);
            text.push_str(itoa::Buffer::new().format(number));
        }
    }
    HeaderValue::from_bytes(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests;
