//! The headers of an answer.

use http::{HeaderMap, HeaderName, HeaderValue};

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
        if let (Some(limit), Some(remaining), Some(reset_ms)) =
            (self.limit, self.remaining, self.reset_after_ms)
        {
            let reset_s = reset_ms.div_ceil(1000);
            add("x-ratelimit-limit", limit.to_string());
            add("x-ratelimit-remaining", remaining.to_string());
            add("x-ratelimit-reset", reset_s.to_string());
            if let Some((name, window_ms)) = self.policy().filter(|(name, _)| is_quotable(name)) {
                let window_s = window_ms.div_ceil(1000).max(1);
                add("ratelimit-policy", format!("\"{name}\";q={limit};w={window_s}"));
                add("ratelimit", format!("\"{name}\";r={remaining};t={reset_s}"));
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

/// Whether a header can carry the name in quotes.
fn is_quotable(name: &str) -> bool {
    name.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\')
}
