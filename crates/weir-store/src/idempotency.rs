//! Stored responses: a repeated request gets the first response and has no further effect.

use serde_json::Value;
use uuid::Uuid;
use weir_domain::id::{TenantId, UserId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{stored, uuid};
use crate::error::StoreError;

/// A request with an idempotency key.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The sender, as in the scope of the transaction.
    pub owner: Owner,
    /// The idempotency key.
    pub key: String,
    /// The SHA-256 of all parts that identify the request.
    pub request_digest: [u8; 32],
    /// The current time.
    pub now: Timestamp,
    /// The time until which the response is retained.
    pub expires_at: Timestamp,
}

/// The sender of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A tenant.
    Tenant(TenantId),
    /// A person, for requests outside of tenants.
    User(UserId),
}

/// The result of claiming a key.
#[derive(Debug, Clone, PartialEq)]
pub enum Claimed {
    /// The key is new. Do the work, then call `finish`.
    Fresh,
    /// The request was sent before and got this response.
    Replay {
        /// The HTTP status.
        status: u16,
        /// The body, as JSON.
        body: Value,
    },
    /// The key was used with another request.
    Mismatch,
}

/// The table of responses.
#[derive(Debug)]
pub struct Idempotency<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Idempotency<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Claims a key, in the transaction of the work. A concurrent claim of the same key waits until the first commits.
    pub async fn claim(self, claim: &Claim) -> Result<Claimed, StoreError> {
        sqlx::query!(
            "-- idempotency.purge
            DELETE FROM idempotency_keys WHERE owner_id = $1 AND expires_at <= $2",
            claim.owner.stored_id(),
            stored(claim.now),
        )
        .execute(&mut *self.conn)
        .await?;
        let done = sqlx::query!(
            "-- idempotency.claim
            INSERT INTO idempotency_keys (
                owner_id,
                key,
                request_digest,
                expires_at
            )
            VALUES ($1, $2, $3, $4)
            ON CONFLICT ON CONSTRAINT idempotency_keys_owner_id_key_pkey
            DO NOTHING",
            claim.owner.stored_id(),
            claim.key,
            &claim.request_digest,
            stored(claim.expires_at),
        )
        .execute(&mut *self.conn)
        .await?;
        if done.rows_affected() > 0 { Ok(Claimed::Fresh) } else { self.earlier(claim).await }
    }

    /// Stores the response for repeated requests. It must not contain a secret.
    pub async fn finish(self, claim: &Claim, status: u16, body: &Value) -> Result<(), StoreError> {
        sqlx::query!(
            "-- idempotency.finish
            UPDATE idempotency_keys
            SET
                status = $3,
                body = $4
            WHERE owner_id = $1 AND key = $2",
            claim.owner.stored_id(),
            claim.key,
            i16::try_from(status).unwrap_or(i16::MAX),
            body,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Releases a key whose work failed, so that a repeat can try again.
    pub async fn release(self, claim: &Claim) -> Result<(), StoreError> {
        sqlx::query!(
            "-- idempotency.release
            DELETE FROM idempotency_keys WHERE owner_id = $1 AND key = $2",
            claim.owner.stored_id(),
            claim.key,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    async fn earlier(self, claim: &Claim) -> Result<Claimed, StoreError> {
        let row = sqlx::query!(
            "-- idempotency.earlier
            SELECT
                request_digest,
                status,
                body
            FROM idempotency_keys
            WHERE owner_id = $1 AND key = $2",
            claim.owner.stored_id(),
            claim.key,
        )
        .fetch_one(self.conn)
        .await?;
        if row.request_digest != claim.request_digest {
            return Ok(Claimed::Mismatch);
        }
        let status = row.status.and_then(|status| u16::try_from(status).ok());
        match (status, row.body) {
            (Some(status), Some(body)) => Ok(Claimed::Replay { status, body }),
            _ => Err(StoreError::corrupt("a claimed request was committed without its answer")),
        }
    }
}

impl Owner {
    fn stored_id(self) -> Uuid {
        match self {
            Self::Tenant(id) => uuid(id.to_u128()),
            Self::User(id) => uuid(id.to_u128()),
        }
    }
}
