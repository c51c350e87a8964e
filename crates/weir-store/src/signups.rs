//! Sign-ups that wait for confirmation. Only digests of their tokens are stored.

use time::OffsetDateTime;
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{stored, timestamp};
use crate::error::StoreError;

/// A sign-up to be stored.
#[derive(Debug, Clone)]
pub struct NewSignup {
    /// The address in normal form.
    pub email: String,
    /// The name of the tenant to be created.
    pub tenant_name: String,
    /// The time of the request.
    pub now: Timestamp,
    /// The time after which the sign-up cannot be confirmed.
    pub expires_at: Timestamp,
}

/// A sign-up that waits for confirmation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignupRow {
    /// The address in normal form.
    pub email: String,
    /// The name of the tenant to be created.
    pub tenant_name: String,
    /// Whether a token was issued.
    pub issued: bool,
    /// The time of the request.
    pub created_at: Timestamp,
    /// The time after which the sign-up cannot be confirmed.
    pub expires_at: Timestamp,
}

/// The table of sign-ups that wait for confirmation.
#[derive(Debug)]
pub struct Signups<'t> {
    conn: &'t mut PooledConnection,
}

/// The most sign-ups that a list shows.
const LISTED_MAX: i64 = 1000;

impl<'t> Signups<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Stores a sign-up, unless `most` others wait. Never reads accounts, so the result and the duration are the same
    /// for addresses with and without an account.
    pub async fn request(self, new: &NewSignup, most: u32) -> Result<bool, StoreError> {
        let noted = sqlx::query_scalar!(
            r#"-- signups.request
            SELECT weir_request_signup($1, $2, $3, $4, $5) AS "noted!""#,
            new.email,
            new.tenant_name,
            stored(new.now),
            stored(new.expires_at),
            i32::try_from(most).unwrap_or(i32::MAX),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(noted)
    }

    /// Gives the sign-up of an address a token, which replaces an earlier one. `None` if no sign-up waits. Requires the
    /// owner's role.
    pub async fn issue(
        self,
        email: &str,
        digest: &[u8; 32],
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Option<SignupRow>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            r#"-- signups.issue
            UPDATE pending_signups
            SET digest = $2, expires_at = $4
            WHERE email = $1 AND expires_at > $3
            RETURNING email, tenant_name, digest IS NOT NULL AS "issued!", created_at, expires_at"#,
            email,
            digest,
            stored(now),
            stored(expires_at),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(SignupRow::from))
    }

    /// Gives a sign-up, as it was just requested, a token that replaces an earlier one. `false` if no sign-up of the address waits.
    pub async fn issue_mailed(
        self,
        new: &NewSignup,
        digest: &[u8; 32],
    ) -> Result<bool, StoreError> {
        let issued = sqlx::query_scalar!(
            r#"-- signups.issue_mailed
            SELECT weir_issue_signup($1, $2, $3, $4, $5) AS "issued!""#,
            new.email,
            new.tenant_name,
            digest,
            stored(new.now),
            stored(new.expires_at),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(issued)
    }

    /// Lists the oldest sign-ups that wait. Requires the owner's role.
    pub async fn list(self, now: Timestamp) -> Result<Vec<SignupRow>, StoreError> {
        let rows = sqlx::query_as!(
            Row,
            r#"-- signups.list
            SELECT email, tenant_name, digest IS NOT NULL AS "issued!", created_at, expires_at
            FROM pending_signups
            WHERE expires_at > $1
            ORDER BY created_at
            LIMIT $2"#,
            stored(now),
            LISTED_MAX,
        )
        .fetch_all(self.conn)
        .await?;
        Ok(rows.into_iter().map(SignupRow::from).collect())
    }

    /// Returns the sign-up with this token digest. Requires [`Tx::enter_signup`](crate::Tx::enter_signup) first.
    pub async fn presented(
        self,
        digest: &[u8; 32],
        now: Timestamp,
    ) -> Result<Option<SignupRow>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            r#"-- signups.presented
            SELECT email, tenant_name, digest IS NOT NULL AS "issued!", created_at, expires_at
            FROM pending_signups
            WHERE digest = $1 AND expires_at > $2"#,
            digest,
            stored(now),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(SignupRow::from))
    }

    /// Spends the token with this digest. `None` for all but one of several concurrent calls.
    pub async fn spend(
        self,
        digest: &[u8; 32],
        now: Timestamp,
    ) -> Result<Option<SignupRow>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            r#"-- signups.spend
            DELETE FROM pending_signups
            WHERE digest = $1 AND expires_at > $2
            RETURNING email, tenant_name, digest IS NOT NULL AS "issued!", created_at, expires_at"#,
            digest,
            stored(now),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(SignupRow::from))
    }
}

struct Row {
    email: String,
    tenant_name: String,
    issued: bool,
    created_at: OffsetDateTime,
    expires_at: OffsetDateTime,
}

impl From<Row> for SignupRow {
    fn from(row: Row) -> Self {
        Self {
            email: row.email,
            tenant_name: row.tenant_name,
            issued: row.issued,
            created_at: timestamp(row.created_at),
            expires_at: timestamp(row.expires_at),
        }
    }
}
