//! The body of a write, together with its `Idempotency-Key`.
//!
//! A `POST` with this header is executed once. The claim on the key is part of the transaction that does the work, so a
//! repeat within a day gets the first answer and does nothing. A repeat with another body is refused.

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};
use weir_domain::time::Timestamp;
use weir_http::json;
use weir_http::problem::Problem;
use weir_store::{Claim, Claimed, Owner, Tx};
use weir_wire::problem::ErrorCode;

use crate::answers::answer;
use crate::error::ControlError;

/// A checked body with the idempotency key of its request.
#[derive(Debug)]
pub(crate) struct Input<T> {
    pub(crate) body: T,
    pub(crate) once: Once,
}

/// The idempotency key of a request, if it has one, and the digest of the request.
#[derive(Debug, Clone)]
pub(crate) struct Once(Option<(String, [u8; 32])>);

/// A key that was claimed for this request.
#[derive(Debug)]
pub(crate) struct Claiming(Option<Claim>);

const STORED_MS: i64 = 24 * 60 * 60 * 1000;
const HEADER: &str = "idempotency-key";

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Input<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        if !json::is_json(request.headers()) {
            let detail = "send the body as `Content-Type: application/json`";
            return Err(Problem::new(ErrorCode::UnsupportedMediaType, detail));
        }
        let is_post = request.method() == Method::POST;
        let key = if is_post { key(request.headers())? } else { None };
        let path = request.uri().path().to_owned();
        let bytes = json::read(request).await?;
        let body = json::parse(&bytes)?;
        let digest = |key| {
            let mut hasher = Sha256::new();
            hasher.update(path.as_bytes());
            hasher.update([0]);
            hasher.update(&bytes);
            (key, hasher.finalize().into())
        };
        Ok(Self { body, once: Once(key.map(digest)) })
    }
}

impl Once {
    /// A request whose answer is not stored, because it is not a `POST` or its repeat does no harm.
    pub(crate) const fn not_stored() -> Self {
        Self(None)
    }

    /// The claim of the key, if the request has one.
    pub(crate) fn claim(self, owner: Owner, now: Timestamp) -> Option<Claim> {
        let (key, request_digest) = self.0?;
        Some(Claim { owner, key, request_digest, now, expires_at: now.plus_ms(STORED_MS) })
    }

    /// Claims the key in a transaction that has begun. A repeated request ends here with its first answer.
    pub(crate) async fn claim_in(
        self,
        tx: &mut Tx,
        owner: Owner,
        now: Timestamp,
    ) -> Result<Claiming, ControlError> {
        let Some(claim) = self.claim(owner, now) else { return Ok(Claiming(None)) };
        let claimed = tx.idempotency().claim(&claim).await?;
        Claiming::new(Some(claim), Some(claimed))
    }
}

impl Claiming {
    /// The key was claimed with this result. A repeated request ends here with its first answer.
    pub(crate) fn new(
        claim: Option<Claim>,
        claimed: Option<Claimed>,
    ) -> Result<Self, ControlError> {
        match claimed {
            None | Some(Claimed::Fresh) => Ok(Self(claim)),
            Some(Claimed::Replay { status, body }) => {
                Err(ControlError::Replayed(Box::new(replay(status, &body))))
            }
            Some(Claimed::Mismatch) => {
                let reason = "was used for another request";
                Err(Problem::invalid_field("Idempotency-Key", reason).into())
            }
        }
    }

    /// The key under which the answer is retained, if the request has one.
    pub(crate) fn key(&self) -> Option<&str> {
        self.0.as_ref().map(|claim| claim.key.as_str())
    }

    /// Stores the answer, which must not contain a secret.
    pub(crate) fn finish(&self, tx: &mut Tx, status: StatusCode, body: &Value) {
        if let Some(claim) = &self.0 {
            tx.idempotency().finish(claim, status.as_u16(), body);
        }
    }

    /// Releases the key of a request that failed, so that a repeat can try again.
    pub(crate) async fn release(&self, tx: &mut Tx) -> Result<(), ControlError> {
        if let Some(claim) = &self.0 {
            tx.idempotency().release(claim).await?;
        }
        Ok(())
    }
}

/// The answer of a repeat. An answer that must not be shown again is stored as a conflict, with the sentence for repeats.
fn replay(status: u16, body: &Value) -> Response {
    if let Some(detail) = body.as_str() {
        return Problem::new(ErrorCode::Conflict, detail.to_owned()).into_response();
    }
    answer(StatusCode::from_u16(status).unwrap_or(StatusCode::OK), body)
}

fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(HEADER).iter();
    let (Some(value), next) = (values.next(), values.next()) else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| (1..=128).contains(&text.len()));
    match (text, next) {
        (Some(text), None) => Ok(Some(text.to_owned())),
        _ => {
            let reason = "must be one value of 1 to 128 printable characters";
            Err(Problem::invalid_field("Idempotency-Key", reason))
        }
    }
}
