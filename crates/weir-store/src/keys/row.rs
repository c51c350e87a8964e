//! The columns of an API key.

use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row as _};
use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{KeyId, TenantId};
use weir_domain::time::Timestamp;

use crate::convert::{digest, timestamp};
use crate::error::StoreError;
use crate::message;

/// An API key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// The key's id.
    pub id: KeyId,
    /// The tenant that owns the key.
    pub tenant_id: TenantId,
    /// The display name.
    pub name: String,
    /// The operations that the key permits.
    pub scopes: Vec<String>,
    /// The only namespaces in which the key permits them. `None` permits them in all.
    pub namespaces: Option<Vec<String>>,
    /// The public part of the secret, by which people recognise the key.
    pub hint: String,
    /// The SHA-256 of the secret.
    pub digest: [u8; 32],
    /// The secret before the last rotation, while both work.
    pub previous: Option<PreviousDigest>,
    /// The time until which the key works.
    pub expires_at: Option<Timestamp>,
    /// The time of revocation.
    pub revoked_at: Option<Timestamp>,
    /// The time of the last recorded use.
    pub last_used_at: Option<Timestamp>,
    /// The creator: an e-mail address, or `key` and the key's name.
    pub created_by: String,
    /// The time of creation.
    pub created_at: Timestamp,
}

/// The secret before a rotation, which works until the overlap ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviousDigest {
    /// The SHA-256 of the secret.
    pub digest: [u8; 32],
    /// The time until which the secret works.
    pub expires_at: Timestamp,
}

/// The columns as Postgres returns them.
pub(super) struct Row {
    pub(super) tenant_id: Uuid,
    pub(super) id: Uuid,
    pub(super) name: String,
    pub(super) scopes: Vec<String>,
    pub(super) namespaces: Option<Vec<String>>,
    pub(super) hint: String,
    pub(super) digest: Vec<u8>,
    pub(super) previous_digest: Option<Vec<u8>>,
    pub(super) previous_expires_at: Option<OffsetDateTime>,
    pub(super) expires_at: Option<OffsetDateTime>,
    pub(super) revoked_at: Option<OffsetDateTime>,
    pub(super) last_used_at: Option<OffsetDateTime>,
    pub(super) created_by: String,
    pub(super) created_at: OffsetDateTime,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`. `$with` is the macro that makes it.
macro_rules! keys_with {
    ($with:ident, $head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        $with!(
            $head
                + "
                tenant_id,
                id,
                name,
                scopes,
                namespaces,
                hint,
                digest,
                previous_digest,
                previous_expires_at,
                expires_at,
                revoked_at,
                last_used_at,
                created_by,
                created_at
                "
                + $tail
            $(, $argument)*
        )
    };
}
pub(super) use keys_with;

macro_rules! key_rows {
    ($($statement:tt)*) => {
        sqlx::query_as!(Row, $($statement)*)
    };
}
pub(super) use key_rows;

/// A statement that returns [`Row`]s.
macro_rules! query_keys {
    ($($parts:tt)*) => {
        keys_with!(key_rows, $($parts)*)
    };
}
pub(super) use query_keys;

impl FromRow<'_, PgRow> for Row {
    fn from_row(row: &PgRow) -> Result<Self, sqlx::Error> {
        let time = |column: &str| message::time(row, column);
        Ok(Self {
            tenant_id: row.try_get("tenant_id")?,
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            scopes: row.try_get("scopes")?,
            namespaces: row.try_get("namespaces")?,
            hint: row.try_get("hint")?,
            digest: row.try_get("digest")?,
            previous_digest: row.try_get("previous_digest")?,
            previous_expires_at: time("previous_expires_at")?,
            expires_at: time("expires_at")?,
            revoked_at: time("revoked_at")?,
            last_used_at: time("last_used_at")?,
            created_by: row.try_get("created_by")?,
            created_at: time("created_at")?.ok_or(sqlx::Error::RowNotFound)?,
        })
    }
}

impl TryFrom<Row> for KeyRow {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let previous = match (row.previous_digest, row.previous_expires_at) {
            (Some(bytes), Some(at)) => {
                Some(PreviousDigest { digest: digest(bytes)?, expires_at: timestamp(at) })
            }
            _ => None,
        };
        Ok(Self {
            id: KeyId::from_u128(row.id.as_u128()),
            tenant_id: TenantId::from_u128(row.tenant_id.as_u128()),
            name: row.name,
            scopes: row.scopes,
            namespaces: row.namespaces,
            hint: row.hint,
            digest: digest(row.digest)?,
            previous,
            expires_at: row.expires_at.map(timestamp),
            revoked_at: row.revoked_at.map(timestamp),
            last_used_at: row.last_used_at.map(timestamp),
            created_by: row.created_by,
            created_at: timestamp(row.created_at),
        })
    }
}
