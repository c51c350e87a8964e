//! Identities of people at the OpenID Connect provider.

use weir_domain::id::UserId;
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{stored, uuid};
use crate::error::StoreError;

/// An identity to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIdentity {
    /// The digest of the issuer and the subject.
    pub digest: [u8; 32],
    /// The person.
    pub user_id: UserId,
    /// The provider.
    pub issuer: String,
    /// The id of the person at the provider.
    pub subject: String,
    /// The current time.
    pub now: Timestamp,
}

/// The table of identities.
#[derive(Debug)]
pub struct Identities<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Identities<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Returns the person of an identity. Requires [`Tx::enter_identity`](crate::Tx::enter_identity) first.
    pub async fn presented(self, digest: &[u8; 32]) -> Result<Option<UserId>, StoreError> {
        let found = sqlx::query_scalar!(
            "-- identities.presented
            SELECT user_id FROM identities WHERE digest = $1",
            digest,
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(found.map(|id| UserId::from_u128(id.as_u128())))
    }

    /// Whether a person has an identity at this provider, in the scope of that person.
    pub async fn is_linked(self, user_id: UserId, issuer: &str) -> Result<bool, StoreError> {
        let found = sqlx::query_scalar!(
            r#"-- identities.is_linked
            SELECT EXISTS (
                SELECT FROM identities WHERE user_id = $1 AND issuer = $2
            ) AS "found!""#,
            uuid(user_id.to_u128()),
            issuer,
        )
        .fetch_one(self.conn)
        .await?;
        Ok(found)
    }

    /// Removes all identities of a person. Returns their number. Requires the owner's role.
    pub async fn unlink(self, user_id: UserId) -> Result<u64, StoreError> {
        let done = sqlx::query!(
            "-- identities.unlink
            DELETE FROM identities WHERE user_id = $1",
            uuid(user_id.to_u128()),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected())
    }

    /// Links an identity to a person, in the scope of that person. `false` if another request has linked it meanwhile, or the
    /// person has another identity at the provider.
    pub async fn insert(self, new: &NewIdentity) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- identities.insert
            INSERT INTO identities (digest, user_id, issuer, subject, created_at)
            VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT DO NOTHING",
            &new.digest,
            uuid(new.user_id.to_u128()),
            new.issuer,
            new.subject,
            stored(new.now),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Whether an address in normal form has an invitation to any tenant.
    pub async fn is_invited(self, email: &str, now: Timestamp) -> Result<bool, StoreError> {
        let found = sqlx::query_scalar!(
            r#"-- identities.is_invited
            SELECT weir_is_invited($1, $2) AS "found!""#,
            email,
            stored(now),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(found)
    }
}
