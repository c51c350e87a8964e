//! Rate-limit headers from an answer (pure).
//!
//! `X-RateLimit-*` as the field uses them, with `Reset` in seconds from now; and `RateLimit-Policy`
//! and `RateLimit` by draft-ietf-httpapi-ratelimit-headers-10, where an item names the policy.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use weir_wire::check::{CheckAnswer, LimitAnswer};

/// The headers of an answer; none where no enforced limit was asked.
pub(crate) fn of(answer: &CheckAnswer) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut set = |name: &'static str, value: String| {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    if let (Some(limit), Some(remaining), Some(reset_after_ms)) =
        (answer.limit, answer.remaining, answer.reset_after_ms)
    {
        let reset_s = reset_after_ms.div_ceil(1000);
        set("x-ratelimit-limit", limit.to_string());
        set("x-ratelimit-remaining", remaining.to_string());
        set("x-ratelimit-reset", reset_s.to_string());
        if let Some(it) = deciding(answer) {
            let window_s = it.window_ms.div_ceil(1000).max(1);
            set("ratelimit-policy", format!("\"{}\";q={limit};w={window_s}", it.rule));
            set("ratelimit", format!("\"{}\";r={remaining};t={reset_s}", it.rule));
        }
    }
    if let (false, Some(retry_after_ms)) = (answer.allowed, answer.retry_after_ms) {
        let retry_s = retry_after_ms.div_ceil(1000).max(1);
        set("x-ratelimit-retry-after", retry_s.to_string());
        headers.insert(header::RETRY_AFTER, HeaderValue::from(retry_s));
    }
    headers
}

/// The entry whose numbers are the summary's.
fn deciding(answer: &CheckAnswer) -> Option<&LimitAnswer> {
    answer.limits.iter().find(|it| {
        it.mode == weir_wire::words::Mode::Enforce
            && Some(it.limit) == answer.limit
            && it.remaining == answer.remaining
            && it.reset_after_ms == answer.reset_after_ms
            && (answer.allowed || it.retry_after_ms == answer.retry_after_ms)
    })
}

#[cfg(test)]
mod tests;
