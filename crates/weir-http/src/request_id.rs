//! Names for requests, ours alone: what a client sends as `X-Request-Id` is ignored.

use std::fmt;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::problem::Problem;

/// The name of one request: `req_` and 26 letters and digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

/// Where request ids come from; the randomness is supplied.
#[derive(Clone)]
pub struct RequestIds(Arc<dyn Fn() -> u128 + Send + Sync>);

impl RequestId {
    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl RequestIds {
    /// Ids from a source of random numbers; a time in the upper bits makes them sort.
    pub fn new(random: impl Fn() -> u128 + Send + Sync + 'static) -> Self {
        Self(Arc::new(random))
    }

    /// The next id.
    pub fn next(&self) -> RequestId {
        const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        let value = (self.0)();
        let mut text = String::with_capacity(30);
        text.push_str("req_");
        for place in (0..26).rev() {
            let digit = (value >> (place * 5)) & 31;
            text.push(char::from(LETTERS[digit as usize]));
        }
        RequestId(text.into())
    }
}

impl fmt::Debug for RequestIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestIds")
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let id = parts.extensions.get::<Self>().cloned();
        id.ok_or_else(|| Problem::internal("the router is not wrapped in its plane"))
    }
}
