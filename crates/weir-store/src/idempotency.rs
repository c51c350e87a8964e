//! Stored responses: a repeated request gets the first response and has no further effect.

use serde_json::Value;
use uuid::Uuid;
use weir_domain::id::{TenantId, UserId};
use weir_domain::time::Timestamp;

use crate::connection::{PooledConnection, State};
use crate::convert::{stored, uuid};
use crate::error::StoreError;
use crate::message::{Answers, statement};

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
        let message = claim.statements().join("; ");
        let answers = self.conn.send(message, State::InTransaction).await?;
        Claimed::of(&mut Answers::of_last(Claim::STATEMENTS, answers))
    }

    /// Stores the response for repeated requests. It must not contain a secret. It travels with the next statement.
    pub fn finish(self, claim: &Claim, status: u16, body: &Value) {
        self.conn.defer(statement!(
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
        ));
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
}

impl Claim {
    /// The number of statements of a claim.
    pub(crate) const STATEMENTS: usize = 3;

    /// The statements of a claim, which [`Claimed::of`] reads.
    pub(crate) fn statements(&self) -> [String; Self::STATEMENTS] {
        let purge = statement!(
            "-- idempotency.purge
            DELETE FROM idempotency_keys WHERE owner_id = $1 AND expires_at <= $2",
            self.owner.stored_id(),
            stored(self.now),
        );
        let claim = statement!(
            "-- idempotency.claim
            INSERT INTO idempotency_keys (
                owner_id,
                key,
                request_digest,
                expires_at
            )
            VALUES ($1, $2, $3, $4)
            ON CONFLICT ON CONSTRAINT idempotency_keys_owner_id_key_pkey
            DO NOTHING
            RETURNING true AS claimed",
            self.owner.stored_id(),
            self.key,
            self.request_digest.as_slice(),
            stored(self.expires_at),
        );
        let earlier = statement!(
            r#"-- idempotency.earlier
            SELECT
                request_digest = $3 AS "same!",
                status,
                body
            FROM idempotency_keys
            WHERE owner_id = $1 AND key = $2"#,
            self.owner.stored_id(),
            self.key,
            self.request_digest.as_slice(),
        );
        [purge, claim, earlier]
    }
}

impl Claimed {
    /// The answers to the statements of a claim.
    pub(crate) fn of(answers: &mut Answers) -> Result<Self, StoreError> {
        answers.skip();
        let claimed: Option<(bool,)> = answers.row()?;
        let earlier: Option<(bool, Option<i16>, Option<Value>)> = answers.row()?;
        match (claimed, earlier) {
            (Some(_), _) => Ok(Self::Fresh),
            (None, Some((false, ..))) => Ok(Self::Mismatch),
            (None, Some((true, Some(status), Some(body)))) => {
                let status =
                    status.try_into().map_err(|_| StoreError::corrupt("an HTTP status"))?;
                Ok(Self::Replay { status, body })
            }
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
