//! Sessions. A session is one family of refresh tokens, of which only digests are stored.

use weir_domain::id::{SessionId, TenantId, UserId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{signed, stored, timestamp, uuid};
use crate::error::StoreError;
use crate::members::MemberRole;

/// A session to be inserted.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The session's id, which the refresh token contains.
    pub id: SessionId,
    /// The person.
    pub user_id: UserId,
    /// The SHA-256 of the refresh token.
    pub refresh_digest: [u8; 32],
    /// The `User-Agent` of the request.
    pub user_agent: String,
    /// The IPv4 address or the /64 of IPv6 from which the session was opened, if known.
    pub network: Option<String>,
    /// The current time.
    pub now: Timestamp,
    /// The time at which the session ends unless it is refreshed.
    pub expires_at: Timestamp,
}

/// A session that can be refreshed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// The session's id, which the refresh token and access tokens contain.
    pub id: SessionId,
    /// The `User-Agent` of the request that opened the session.
    pub user_agent: String,
    /// The network from which the session was opened, if known.
    pub network: Option<String>,
    /// The time at which the session was opened.
    pub created_at: Timestamp,
    /// The time of the last refresh.
    pub refreshed_at: Timestamp,
    /// The time at which the session ends unless it is refreshed.
    pub expires_at: Timestamp,
}

/// The most sessions of an account, including ended ones. The oldest above the bound are deleted.
pub const SESSIONS_MAX: u32 = 50;

/// A refresh token that was presented, and its successor.
#[derive(Debug, Clone)]
pub struct Rotation {
    /// The session that the token names.
    pub id: SessionId,
    /// The SHA-256 of the presented token.
    pub presented: [u8; 32],
    /// The SHA-256 of its successor.
    pub next: [u8; 32],
    /// The current time.
    pub now: Timestamp,
    /// The time in milliseconds for which the predecessor of the newest token counts as a race and not as theft.
    pub grace_ms: u64,
    /// The new end of the session.
    pub expires_at: Timestamp,
}

/// The result of presenting a refresh token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotated {
    /// The successor is now valid.
    Rotated {
        /// The person that owns the session.
        user_id: UserId,
    },
    /// The predecessor of the newest token was presented during the grace period. Nothing was written; the newest token
    /// stays valid.
    Grace {
        /// The person that owns the session.
        user_id: UserId,
    },
    /// A spent token was presented, so the session was revoked. Commit, then refuse the request.
    Reused {
        /// The person that owned the session.
        user_id: UserId,
    },
    /// The session does not exist or has ended.
    Unknown,
}

/// The person that owns a live session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The person's id.
    pub user_id: UserId,
    /// The e-mail address.
    pub email: String,
    /// The display name.
    pub name: String,
    /// Whether the person is an operator of the installation.
    pub operator: bool,
    /// The time at which the person was last recorded as seen, in any tenant.
    pub last_seen_at: Option<Timestamp>,
    /// The person's membership in the requested tenant, if any.
    pub membership: Option<Membership>,
}

/// A person's membership in a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    /// The tenant.
    pub tenant_id: TenantId,
    /// The role in it.
    pub role: MemberRole,
    /// Whether the tenant is suspended.
    pub suspended: bool,
    /// The time at which the member was last recorded as seen in the tenant.
    pub last_seen_at: Option<Timestamp>,
}

/// The table of sessions.
#[derive(Debug)]
pub struct Sessions<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Sessions<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Inserts a session. Deletes the account's expired sessions, and the oldest beyond [`SESSIONS_MAX`].
    pub async fn insert(self, new: &NewSession) -> Result<(), StoreError> {
        sqlx::query!(
            "-- sessions.trim
            DELETE FROM sessions
            WHERE user_id = $1
                AND (
                    expires_at <= $2
                    OR id IN (
                        SELECT id
                        FROM sessions
                        WHERE user_id = $1
                        ORDER BY revoked_at IS NULL DESC, rotated_at DESC
                        OFFSET $3
                    )
                )",
            uuid(new.user_id.to_u128()),
            stored(new.now),
            i64::from(SESSIONS_MAX - 1),
        )
        .execute(&mut *self.conn)
        .await?;
        sqlx::query!(
            "-- sessions.insert
            INSERT INTO sessions (
                id,
                user_id,
                refresh_digest,
                rotated_at,
                user_agent,
                network,
                created_at,
                expires_at
            )
            VALUES ($1, $2, $3, $5, $4, $7, $5, $6)",
            uuid(new.id.to_u128()),
            uuid(new.user_id.to_u128()),
            &new.refresh_digest,
            new.user_agent,
            stored(new.now),
            stored(new.expires_at),
            new.network,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Lists the live sessions of an account, the most recently used first.
    pub async fn list(
        self,
        user_id: UserId,
        now: Timestamp,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let rows = sqlx::query!(
            "-- sessions.list
            SELECT
                id,
                user_agent,
                network,
                created_at,
                rotated_at,
                expires_at
            FROM sessions
            WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > $2
            ORDER BY rotated_at DESC, id DESC
            LIMIT $3",
            uuid(user_id.to_u128()),
            stored(now),
            i64::from(SESSIONS_MAX),
        )
        .fetch_all(self.conn)
        .await?;
        let session = rows.into_iter().map(|row| SessionRow {
            id: SessionId::from_u128(row.id.as_u128()),
            user_agent: row.user_agent,
            network: row.network,
            created_at: timestamp(row.created_at),
            refreshed_at: timestamp(row.rotated_at),
            expires_at: timestamp(row.expires_at),
        });
        Ok(session.collect())
    }

    /// Whether an account has or had a session from this network.
    pub async fn has_network(self, user_id: UserId, network: &str) -> Result<bool, StoreError> {
        let found = sqlx::query_scalar!(
            r#"-- sessions.has_network
            SELECT EXISTS (
                SELECT FROM sessions WHERE user_id = $1 AND network = $2
            ) AS "found!""#,
            uuid(user_id.to_u128()),
            network,
        )
        .fetch_one(self.conn)
        .await?;
        Ok(found)
    }

    /// Spends a refresh token. A token that was spent before ends the session.
    pub async fn rotate(self, rotation: &Rotation) -> Result<Rotated, StoreError> {
        let Some(row) = sqlx::query!(
            "-- sessions.lock
            SELECT
                user_id,
                refresh_digest,
                previous_digest,
                rotated_at
            FROM sessions
            WHERE id = $1 AND revoked_at IS NULL AND expires_at > $2
            FOR UPDATE",
            uuid(rotation.id.to_u128()),
            stored(rotation.now),
        )
        .fetch_optional(&mut *self.conn)
        .await?
        else {
            return Ok(Rotated::Unknown);
        };
        let user_id = UserId::from_u128(row.user_id.as_u128());
        let grace_ends = timestamp(row.rotated_at).plus_ms(signed(rotation.grace_ms));
        if row.refresh_digest == rotation.presented {
            self.spend(rotation).await?;
            Ok(Rotated::Rotated { user_id })
        } else if row.previous_digest.as_deref() == Some(&rotation.presented)
            && rotation.now <= grace_ends
        {
            Ok(Rotated::Grace { user_id })
        } else {
            self.revoke(rotation.id, rotation.now).await?;
            Ok(Rotated::Reused { user_id })
        }
    }

    /// Revokes a session. `false` if it does not exist or was revoked before.
    pub async fn revoke(self, id: SessionId, now: Timestamp) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- sessions.revoke
            UPDATE sessions SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
            uuid(id.to_u128()),
            stored(now),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Ends all sessions of a person except one.
    pub async fn revoke_all(
        self,
        user_id: UserId,
        except: Option<SessionId>,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let done = sqlx::query!(
            "-- sessions.revoke_all
            UPDATE sessions
            SET revoked_at = $3
            WHERE user_id = $1 AND revoked_at IS NULL AND id IS DISTINCT FROM $2",
            uuid(user_id.to_u128()),
            except.map(|id| uuid(id.to_u128())),
            stored(now),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected())
    }

    /// Ends one live session of a person. Returns whether it existed.
    pub async fn revoke_of(
        self,
        user_id: UserId,
        id: SessionId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- sessions.revoke_of
            UPDATE sessions
            SET revoked_at = $3
            WHERE user_id = $1 AND id = $2 AND revoked_at IS NULL AND expires_at > $3",
            uuid(user_id.to_u128()),
            uuid(id.to_u128()),
            stored(now),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Ends all sessions of all people. Requires the owner's role, which sees them.
    pub async fn revoke_everybody(self, now: Timestamp) -> Result<u64, StoreError> {
        let done = sqlx::query!(
            "-- sessions.revoke_everybody
            UPDATE sessions SET revoked_at = $1 WHERE revoked_at IS NULL",
            stored(now),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected())
    }

    async fn spend(self, rotation: &Rotation) -> Result<u64, StoreError> {
        let done = sqlx::query!(
            "-- sessions.rotate
            UPDATE sessions
            SET
                previous_digest = refresh_digest,
                refresh_digest = $2,
                rotated_at = $3,
                expires_at = $4
            WHERE id = $1",
            uuid(rotation.id.to_u128()),
            &rotation.next,
            stored(rotation.now),
            stored(rotation.expires_at),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected())
    }
}
