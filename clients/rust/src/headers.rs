//! The headers of an answer.

use std::sync::Arc;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};

use crate::answer::{Answer, LimitAnswer, Mode};

impl Answer {
    /// The headers that a gate sends with this answer. None if no limit decided or is exceeded.
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
        if let Some(over) = over_of([self]) {
            add(OVER, over);
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

const OVER: &str = "x-ratelimit-over";

/// The exceeded rules in the mode `report`, each once, as a header lists them; `None` if there are none.
fn over_of<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in answers.into_iter().flat_map(|answer| &answer.over) {
        if is_quotable(name) && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// The headers that list all limits of a response, the outermost one first.
const LISTS: [&str; 2] = ["ratelimit-policy", "ratelimit"];

/// The answers whose headers the response to a request has, the outermost limit first. An extension of the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShownAnswers(Vec<Arc<Answer>>);

/// An extension of a response that has the headers of all limits.
#[derive(Debug, Clone, Copy)]
struct HasHeaders;

impl ShownAnswers {
    /// Those of the outer limits and this one.
    pub(crate) fn of<B>(request: &Request<B>, answer: &Answer, with_headers: bool) -> Self {
        let mut shown: Self = request.extensions().get().cloned().unwrap_or_default();
        shown.0.extend(with_headers.then(|| Arc::new(answer.clone())));
        shown
    }

    /// `RateLimit` and `RateLimit-Policy` are lists, and `X-RateLimit-Over` names the rules of all. The others are those of a refusal, which is the last answer, or of the answer with the
    /// least left, the first one of equals.
    fn headers(&self) -> HeaderMap {
        let all: Vec<HeaderMap> = self.0.iter().map(|answer| answer.headers()).collect();
        let refusal = self.0.iter().rposition(|answer| !answer.allowed);
        let left = |at: &usize| self.0[*at].remaining.unwrap_or(u64::MAX);
        let chosen = refusal.or_else(|| (0..all.len()).min_by_key(left));
        let mut headers = chosen.map_or_else(HeaderMap::new, |at| all[at].clone());
        for name in LISTS {
            let items = all.iter().filter_map(|one| one.get(name)?.to_str().ok());
            let list = items.collect::<Vec<_>>().join(", ");
            if let (false, Ok(list)) = (list.is_empty(), HeaderValue::try_from(list)) {
                headers.insert(name, list);
            }
        }
        let over = over_of(self.0.iter().map(Arc::as_ref));
        if let Some(over) = over.and_then(|over| HeaderValue::try_from(over).ok()) {
            headers.insert(OVER, over);
        }
        headers
    }

    /// Adds the headers to the response within the innermost limit, whose answer this is; those that it has stay.
    pub(crate) fn add_to<B>(&self, response: &mut Response<B>, answer: &Answer) {
        if response.extensions_mut().insert(HasHeaders).is_some() {
            return;
        }
        let mut headers = self.headers();
        // Also without the other headers.
        if let Some(retry) = answer.headers().remove(RETRY_AFTER) {
            headers.insert(RETRY_AFTER, retry);
        }
        for (name, value) in &headers {
            response.headers_mut().entry(name).or_insert_with(|| value.clone());
        }
    }
}

/// Whether a header can carry the name in quotes.
fn is_quotable(name: &str) -> bool {
    name.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\')
}
