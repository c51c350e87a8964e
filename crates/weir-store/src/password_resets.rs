//! Tokens with which people set a new password. Only digests are stored, one for each account.

use uuid::Uuid;
use weir_domain::id::UserId;
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{stored, uuid};
use crate::error::StoreError;

/// The table of tokens.
#[derive(Debug)]
pub struct PasswordResets<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> PasswordResets<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Stores the token of an account, in place of an earlier one. Requires the owner's role.
    pub async fn replace(
        self,
        user_id: UserId,
        digest: &[u8; 32],
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "-- password_resets.replace
            INSERT INTO password_resets (user_id, digest, expires_at)
            VALUES ($1, $2, $3)
            ON CONFLICT ON CONSTRAINT password_resets_user_id_pkey
            DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at",
            uuid(user_id.to_u128()),
            digest,
            stored(expires_at),
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// The same in the scope of an operator, by the address of the account. `None` if there is no such account, or it is
    /// disabled or an operator's.
    pub async fn issue(
        self,
        email: &str,
        digest: &[u8; 32],
        expires_at: Timestamp,
    ) -> Result<Option<UserId>, StoreError> {
        let account = sqlx::query_scalar!(
            "-- password_resets.issue
            SELECT weir_issue_password_reset($1, $2, $3)",
            email,
            digest,
            stored(expires_at),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(account.map(user))
    }

    /// The same for a client without credentials that named the address. `None` if there is no such account, or it is
    /// disabled.
    pub async fn request(
        self,
        email: &str,
        digest: &[u8; 32],
        expires_at: Timestamp,
    ) -> Result<Option<UserId>, StoreError> {
        let account = sqlx::query_scalar!(
            "-- password_resets.request
            SELECT weir_request_password_reset($1, $2, $3)",
            email,
            digest,
            stored(expires_at),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(account.map(user))
    }

    /// Returns the account of a token. Requires [`Tx::enter_password_reset`](crate::Tx::enter_password_reset) first.
    pub async fn presented(
        self,
        digest: &[u8; 32],
        now: Timestamp,
    ) -> Result<Option<UserId>, StoreError> {
        let account = sqlx::query_scalar!(
            "-- password_resets.presented
            SELECT user_id FROM password_resets WHERE digest = $1 AND expires_at > $2",
            digest,
            stored(now),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(account.map(user))
    }

    /// Spends a token. `None` for all but one of several concurrent calls.
    pub async fn spend(
        self,
        digest: &[u8; 32],
        now: Timestamp,
    ) -> Result<Option<UserId>, StoreError> {
        let account = sqlx::query_scalar!(
            "-- password_resets.spend
            DELETE FROM password_resets WHERE digest = $1 AND expires_at > $2 RETURNING user_id",
            digest,
            stored(now),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(account.map(user))
    }
}

fn user(id: Uuid) -> UserId {
    UserId::from_u128(id.as_u128())
}
