//! Request ids. Each is made here; a client's `X-Request-Id` is ignored.

use std::fmt;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::request::Parts;
use weir_domain::id;

use crate::problem::Problem;

/// The id of one request: `req_` and 26 letters and digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId([u8; 30]);

/// A source of request ids, whose randomness is supplied.
#[derive(Clone)]
pub struct RequestIds(Arc<dyn Fn() -> u128 + Send + Sync>);

impl RequestId {
    /// The id as a value of a header.
    pub(crate) fn header_value(&self) -> HeaderValue {
        HeaderValue::from_bytes(&self.0).expect("letters and digits are permitted")
    }

    /// The id as a number with its kind, which is what a log stores.
    pub fn id(&self) -> id::RequestId {
        self.as_str().parse().expect("the source writes the text of an id")
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl RequestIds {
    /// A source from random numbers. The upper bits of an id are a time, so ids sort.
    pub fn new(random: impl Fn() -> u128 + Send + Sync + 'static) -> Self {
        Self(Arc::new(random))
    }

    /// The next id.
    pub fn next(&self) -> RequestId {
        const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        let value = (self.0)();
        let mut text = *b"req_00000000000000000000000000";
        for (character, place) in text[4..].iter_mut().zip((0..26).rev()) {
            *character = LETTERS[((value >> (place * 5)) & 31) as usize];
        }
        RequestId(text)
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
        let id = parts.extensions.get::<Self>().copied();
        id.ok_or_else(|| Problem::internal("the router is not wrapped in its plane"))
    }
}
