//! The headers of an answer.

use http::{HeaderMap, HeaderName, HeaderValue, Response};

use crate::answer::{Answer, LimitAnswer, Mode};

impl Answer {
    /// The headers that a gate sends with this answer. None if no enforced limit decided.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut add = |name: &'static str, value: String| {
            let value =
                HeaderValue::try_from(value).expect("numbers and quotable names are printable");
            headers.insert(HeaderName::from_static(name), value);
        };
        if let (Some(limit), Some(remaining)) = (self.limit, self.remaining) {
            // A quota that never renews has no reset and no window.
            let reset_s = self.reset_after_ms.map(|reset_ms| reset_ms.div_ceil(1000));
            add("x-ratelimit-limit", limit.to_string());
            add("x-ratelimit-remaining", remaining.to_string());
            if let Some(reset_s) = reset_s {
                add("x-ratelimit-reset", reset_s.to_string());
            }
            if let Some((name, window_ms)) = self.policy().filter(|(name, _)| is_quotable(name)) {
                let part = |key: &str, s: Option<u64>| {
                    s.map_or_else(String::new, |s| format!(";{key}={s}"))
                };
                let window = part("w", (window_ms > 0).then(|| window_ms.div_ceil(1000)));
                let reset = part("t", reset_s);
                add("ratelimit-policy", format!("\"{name}\";q={limit}{window}"));
                add("ratelimit", format!("\"{name}\";r={remaining}{reset}"));
            }
        }
        if let (false, Some(retry_ms)) = (self.allowed, self.retry_after_ms) {
            let retry_s = retry_ms.div_ceil(1000).max(1).to_string();
            add("x-ratelimit-retry-after", retry_s.clone());
            add("retry-after", retry_s);
        }
        headers
    }

    /// The name and the window of what decides: the code, or a rule.
    fn policy(&self) -> Option<(&str, u64)> {
        if let Some(code) = &self.code {
            return Some((code, 1000));
        }
        let limit = self.limits.iter().find(|limit| self.is_decided_by(limit))?;
        Some((&limit.rule, limit.window_ms))
    }

    /// Whether the numbers of this limit are those of the whole answer.
    fn is_decided_by(&self, limit: &LimitAnswer) -> bool {
        limit.mode == Mode::Enforce
            && Some(limit.limit) == self.limit
            && limit.remaining == self.remaining
            && limit.reset_after_ms == self.reset_after_ms
            && (self.allowed || limit.retry_after_ms == self.retry_after_ms)
    }
}

/// The headers that list all limits of a response, the outermost one first.
const LISTS: [&str; 2] = ["ratelimit", "ratelimit-policy"];
/// The headers of one limit.
const NUMBERS: [&str; 3] = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
/// The headers of a refusal.
const RETRIES: [&str; 2] = ["retry-after", "x-ratelimit-retry-after"];

/// The state of the headers that the limits around a service have written into its response, from the innermost outwards. An extension of it.
#[derive(Debug, Clone, Copy, Default)]
struct Written {
    /// Of the limit whose `X-RateLimit-*` the response has.
    remaining: Option<u64>,
    refused: bool,
}

/// Adds the headers of one more limit to a response.
pub(crate) fn add_headers<B>(answer: &Answer, with_headers: bool, response: &mut Response<B>) {
    let mut own = answer.headers();
    if !with_headers {
        let retry = own.remove("retry-after");
        own.clear();
        own.extend(retry.map(|retry| (http::header::RETRY_AFTER, retry)));
    }
    let written = response.extensions().get::<Written>().copied().unwrap_or_default();
    let headers = response.headers_mut();
    for name in LISTS {
        let Some(value) = own.get(name) else { continue };
        let before = headers.get_all(name).iter().filter_map(|before| before.to_str().ok());
        let all: Vec<_> = value.to_str().into_iter().chain(before).collect();
        if let Ok(list) = HeaderValue::try_from(all.join(", ")) {
            headers.insert(name, list);
        }
    }
    for name in RETRIES {
        if let Some(value) = own.get(name) {
            headers.entry(name).or_insert_with(|| value.clone());
        }
    }
    let mut remaining = written.remaining;
    if let Some(left) = answer.remaining.filter(|_| own.contains_key("x-ratelimit-remaining")) {
        let replaces = match remaining {
            Some(least) => !written.refused && left <= least,
            // Those of the service itself stay.
            None => !NUMBERS.iter().any(|name| headers.contains_key(*name)),
        };
        if replaces {
            remaining = Some(left);
            for name in NUMBERS {
                match own.get(name) {
                    Some(value) => headers.insert(name, value.clone()),
                    // A quota that never renews has no reset.
                    None => headers.remove(name),
                };
            }
        }
    }
    let refused = written.refused || !answer.allowed;
    response.extensions_mut().insert(Written { remaining, refused });
}

/// Whether a header can carry the name in quotes.
fn is_quotable(name: &str) -> bool {
    name.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\')
}
