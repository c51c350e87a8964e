//! Second factors of people, and their recovery codes, of which only digests are stored.

use weir_domain::id::UserId;
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;

/// A second factor.
#[derive(Clone, PartialEq, Eq)]
pub struct SecondFactorRow {
    /// The sealed secret.
    pub secret: Vec<u8>,
    /// The time from which a code is required. `None` until the person has proven to have the secret.
    pub confirmed_at: Option<Timestamp>,
    /// The number of unused recovery codes.
    pub recovery_codes: u64,
}

/// The tables of second factors and recovery codes.
#[derive(Debug)]
pub struct SecondFactors<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> SecondFactors<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Returns the second factor of a person, confirmed or not.
    pub async fn find(self, user_id: UserId) -> Result<Option<SecondFactorRow>, StoreError> {
        let row = sqlx::query!(
            r#"-- second_factors.find
            SELECT
                secret,
                confirmed_at,
                (SELECT count(*) FROM recovery_codes r WHERE r.user_id = $1) AS "recovery_codes!"
            FROM second_factors
            WHERE user_id = $1"#,
            uuid(user_id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(|row| SecondFactorRow {
            secret: row.secret,
            confirmed_at: row.confirmed_at.map(timestamp),
            recovery_codes: unsigned(row.recovery_codes),
        }))
    }

    /// Stores a secret that is not confirmed yet, in place of an earlier one. `false` if a confirmed one exists.
    pub async fn begin(
        self,
        user_id: UserId,
        secret: &[u8],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- second_factors.begin
            INSERT INTO second_factors AS stored (user_id, secret, last_step, created_at)
            VALUES ($1, $2, 0, $3)
            ON CONFLICT ON CONSTRAINT second_factors_user_id_pkey
            DO UPDATE SET secret = excluded.secret, last_step = 0, created_at = excluded.created_at
            WHERE stored.confirmed_at IS NULL",
            uuid(user_id.to_u128()),
            secret,
            stored(now),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Confirms a secret by a code of this step. `false` if there is none to confirm.
    pub async fn confirm(
        self,
        user_id: UserId,
        step: u64,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- second_factors.confirm
            UPDATE second_factors SET confirmed_at = $3, last_step = $2
            WHERE user_id = $1 AND confirmed_at IS NULL",
            uuid(user_id.to_u128()),
            signed(step),
            stored(now),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Accepts a code of this step, and stores the secret as it is sealed now. `false` if a code of this or of a later step
    /// was accepted before.
    pub async fn use_step(
        self,
        user_id: UserId,
        step: u64,
        secret: &[u8],
    ) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- second_factors.use_step
            UPDATE second_factors SET last_step = $2, secret = $3
            WHERE user_id = $1 AND confirmed_at IS NOT NULL AND last_step < $2",
            uuid(user_id.to_u128()),
            signed(step),
            secret,
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Spends a recovery code. `false` if it does not exist or was spent before.
    pub async fn use_recovery_code(
        self,
        user_id: UserId,
        digest: &[u8; 32],
    ) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- second_factors.use_recovery_code
            DELETE FROM recovery_codes WHERE user_id = $1 AND digest = $2",
            uuid(user_id.to_u128()),
            digest,
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Replaces all recovery codes.
    pub async fn replace_recovery_codes(
        self,
        user_id: UserId,
        digests: &[[u8; 32]],
    ) -> Result<(), StoreError> {
        let digests: Vec<Vec<u8>> = digests.iter().map(|digest| digest.to_vec()).collect();
        sqlx::query!(
            "-- second_factors.delete_recovery_codes
            DELETE FROM recovery_codes WHERE user_id = $1",
            uuid(user_id.to_u128()),
        )
        .execute(&mut *self.conn)
        .await?;
        sqlx::query!(
            "-- second_factors.insert_recovery_codes
            INSERT INTO recovery_codes (user_id, digest) SELECT $1, n.digest FROM unnest($2::bytea[]) AS n (digest)",
            uuid(user_id.to_u128()),
            &digests,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Deletes the second factor of a person with its recovery codes. `false` if there was none.
    pub async fn delete(self, user_id: UserId) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- second_factors.delete
            DELETE FROM second_factors WHERE user_id = $1",
            uuid(user_id.to_u128()),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }
}

impl std::fmt::Debug for SecondFactorRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecondFactorRow")
            .field("confirmed_at", &self.confirmed_at)
            .finish_non_exhaustive()
    }
}
