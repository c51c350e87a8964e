//! People's accounts.

use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::UserId;
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{stored, timestamp, uuid};
use crate::error::StoreError;

/// A person's account.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRow {
    /// The person's id.
    pub id: UserId,
    /// The address in normal form ([`weir_domain::email::EmailAddress`]); unique.
    pub email: String,
    /// The display name.
    pub name: String,
    /// The password's hash in Argon2's text format.
    pub password_hash: String,
    /// Whether the person is an operator of the installation.
    pub operator: bool,
    /// Whether an operator has disabled the account, which prevents signing in.
    pub disabled: bool,
    /// The time of creation.
    pub created_at: Timestamp,
}

/// An account to be inserted.
#[derive(Clone)]
pub struct NewUser {
    /// The person's id.
    pub id: UserId,
    /// The address in normal form ([`weir_domain::email::EmailAddress`]).
    pub email: String,
    /// The display name.
    pub name: String,
    /// The password's hash in Argon2's text format.
    pub password_hash: String,
    /// The current time.
    pub now: Timestamp,
}

struct Row {
    id: Uuid,
    email: String,
    name: String,
    password_hash: String,
    operator: bool,
    disabled_at: Option<OffsetDateTime>,
    created_at: OffsetDateTime,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_users {
    ($head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + "
                id,
                email,
                name,
                password_hash,
                operator,
                disabled_at,
                created_at
                "
                + $tail
            $(, $argument)*
        )
    };
}

/// The table of accounts.
#[derive(Debug)]
pub struct Users<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Users<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Inserts an account, in the scope of the same person.
    pub async fn insert(self, new: &NewUser) -> Result<UserRow, StoreError> {
        let row = query_users!(
            "-- users.insert
            INSERT INTO users (
                id,
                email,
                name,
                password_hash,
                created_at
            )
            VALUES ($1, $2, $3, $4, $5)
            RETURNING",
            "",
            uuid(new.id.to_u128()),
            new.email,
            new.name,
            new.password_hash,
            stored(new.now),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(row.into())
    }

    /// Returns the account with this id.
    pub async fn find(self, id: UserId) -> Result<Option<UserRow>, StoreError> {
        let row = query_users!(
            "-- users.find
            SELECT",
            "FROM users
            WHERE id = $1",
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(UserRow::from))
    }

    /// Returns the account with this address, which must be in normal form.
    pub async fn by_email(self, email: &str) -> Result<Option<UserRow>, StoreError> {
        let row = query_users!(
            "-- users.by_email
            SELECT",
            "FROM users
            WHERE email = $1",
            email,
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(UserRow::from))
    }

    /// Changes the display name.
    pub async fn rename(self, id: UserId, name: &str) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- users.rename
            UPDATE users SET name = $2 WHERE id = $1",
            uuid(id.to_u128()),
            name,
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Records that a person was seen, unless that was recorded at `after` or later.
    pub async fn seen(
        self,
        id: UserId,
        now: Timestamp,
        after: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "-- users.seen
            UPDATE users
            SET last_seen_at = $2
            WHERE id = $1 AND (last_seen_at IS NULL OR last_seen_at < $3)",
            uuid(id.to_u128()),
            stored(now),
            stored(after),
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Changes a password.
    pub async fn set_password(self, id: UserId, password_hash: &str) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- users.set_password
            UPDATE users SET password_hash = $2 WHERE id = $1",
            uuid(id.to_u128()),
            password_hash,
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Makes a person an operator, or revokes that. Requires the owner's role.
    pub async fn set_operator(self, id: UserId, operator: bool) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- users.set_operator
            UPDATE users SET operator = $2 WHERE id = $1",
            uuid(id.to_u128()),
            operator,
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Disables or enables an account. Requires the owner's role.
    pub async fn set_disabled(
        self,
        id: UserId,
        disabled_at: Option<Timestamp>,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- users.set_disabled
            UPDATE users SET disabled_at = $2 WHERE id = $1",
            uuid(id.to_u128()),
            disabled_at.map(stored),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Locks the account until the transaction ends, so that counts of its rows stay valid.
    pub async fn lock(self, id: UserId) -> Result<(), StoreError> {
        sqlx::query!(
            "-- users.lock
            SELECT id FROM users WHERE id = $1 FOR UPDATE",
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(())
    }
}

impl std::fmt::Debug for UserRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserRow").field("id", &self.id).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for NewUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewUser").field("id", &self.id).finish_non_exhaustive()
    }
}

impl From<Row> for UserRow {
    fn from(row: Row) -> Self {
        Self {
            id: UserId::from_u128(row.id.as_u128()),
            email: row.email,
            name: row.name,
            password_hash: row.password_hash,
            operator: row.operator,
            disabled: row.disabled_at.is_some(),
            created_at: timestamp(row.created_at),
        }
    }
}
