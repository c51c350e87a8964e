//! API keys. Only digests are stored; a rotated key has two for the time of an overlap.

mod hours;
mod row;

use weir_domain::id::{KeyId, TenantId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{all, stored, unsigned, uuid};
use crate::error::StoreError;
use crate::message::{Answers, statement};
use crate::page::{Listing, Page};
use crate::served::TenantRange;

pub use hours::{KeyHour, KeyHourRow};
pub use row::{KeyRow, PreviousDigest};
use row::{Row, key_rows, keys_with, query_keys};

/// A key to be inserted.
#[derive(Debug, Clone)]
pub struct NewKey {
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
    /// The public part of the secret.
    pub hint: String,
    /// The SHA-256 of the secret.
    pub digest: [u8; 32],
    /// The time until which the key works.
    pub expires_at: Option<Timestamp>,
    /// The creator: an e-mail address, or `key` and the key's name.
    pub created_by: String,
    /// The current time.
    pub now: Timestamp,
}

/// A new secret for a key.
#[derive(Debug, Clone)]
pub struct KeyRotation {
    /// The key's id.
    pub id: KeyId,
    /// The tenant that owns the key.
    pub tenant_id: TenantId,
    /// The SHA-256 of the new secret.
    pub digest: [u8; 32],
    /// The public part of the new secret.
    pub hint: String,
    /// The time until which the old secret works.
    pub previous_expires_at: Timestamp,
}

/// The table of API keys.
#[derive(Debug)]
pub struct Keys<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Keys<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Inserts a key.
    pub async fn insert(self, new: &NewKey) -> Result<KeyRow, StoreError> {
        query_keys!(
            "-- keys.insert
            INSERT INTO api_keys (
                tenant_id,
                id,
                name,
                scopes,
                namespaces,
                hint,
                digest,
                expires_at,
                created_by,
                created_at
            )
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            RETURNING",
            "",
            uuid(new.tenant_id.to_u128()),
            uuid(new.id.to_u128()),
            new.name,
            &new.scopes,
            new.namespaces.as_deref(),
            new.hint,
            &new.digest,
            new.expires_at.map(stored),
            new.created_by,
            stored(new.now),
        )
        .fetch_one(self.conn)
        .await?
        .try_into()
    }

    /// Returns the number of a tenant's keys that are neither revoked nor expired.
    pub async fn count_usable(
        self,
        tenant_id: TenantId,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- keys.count_usable
            SELECT count(*) AS "count!"
            FROM api_keys
            WHERE tenant_id = $1
                AND revoked_at IS NULL
                AND (expires_at IS NULL OR expires_at > $2)"#,
            uuid(tenant_id.to_u128()),
            stored(now),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }

    /// Returns the key with this id, even if it is revoked.
    pub async fn find(self, tenant_id: TenantId, id: KeyId) -> Result<Option<KeyRow>, StoreError> {
        query_keys!(
            "-- keys.find
            SELECT",
            "FROM api_keys
            WHERE tenant_id = $1 AND id = $2",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?
        .map(KeyRow::try_from)
        .transpose()
    }

    /// Records when keys were last used.
    pub async fn used(self, uses: &[(TenantId, KeyId, Timestamp)]) -> Result<(), StoreError> {
        let tenants: Vec<_> =
            uses.iter().map(|(tenant_id, _, _)| uuid(tenant_id.to_u128())).collect();
        let ids: Vec<_> = uses.iter().map(|(_, key_id, _)| uuid(key_id.to_u128())).collect();
        let at: Vec<_> = uses.iter().map(|(_, _, at)| stored(*at)).collect();
        sqlx::query!(
            "-- keys.used
            UPDATE api_keys k SET last_used_at = GREATEST(k.last_used_at, u.at)
            FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) u (tenant_id, id, at)
            WHERE k.tenant_id = u.tenant_id AND k.id = u.id",
            &tenants,
            &ids,
            &at,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Lists the keys that are not revoked, newest first.
    pub async fn list(
        self,
        tenant_id: TenantId,
        page: &Page<KeyId>,
    ) -> Result<Listing<KeyRow>, StoreError> {
        let rows = query_keys!(
            "-- keys.list
            SELECT",
            "FROM api_keys
            WHERE tenant_id = $1 AND revoked_at IS NULL AND ($2::uuid IS NULL OR id < $2)
            ORDER BY id DESC
            LIMIT $3",
            uuid(tenant_id.to_u128()),
            page.after.map(|id| uuid(id.to_u128())),
            page.fetch(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(all(rows)?))
    }

    /// Lists the newest 200 working keys created by this e-mail address in normal form.
    pub async fn made_by(
        self,
        tenant_id: TenantId,
        created_by: &str,
        now: Timestamp,
    ) -> Result<Vec<KeyRow>, StoreError> {
        let rows = query_keys!(
            "-- keys.made_by
            SELECT",
            "FROM api_keys
            WHERE tenant_id = $1
                AND lower(created_by) = $2
                AND revoked_at IS NULL
                AND (expires_at IS NULL OR expires_at > $3)
            ORDER BY id DESC
            LIMIT 200",
            uuid(tenant_id.to_u128()),
            created_by,
            stored(now),
        )
        .fetch_all(self.conn)
        .await?;
        all(rows)
    }

    /// Returns the keys among `keys` that work at `now`.
    pub async fn working_of(
        self,
        tenant_id: TenantId,
        keys: &[KeyId],
        now: Timestamp,
    ) -> Result<Vec<KeyId>, StoreError> {
        let keys: Vec<_> = keys.iter().map(|key| uuid(key.to_u128())).collect();
        let found = sqlx::query_scalar!(
            "-- keys.working_of
            SELECT id
            FROM api_keys
            WHERE tenant_id = $1
                AND id = ANY($2)
                AND revoked_at IS NULL
                AND (expires_at IS NULL OR expires_at > $3)",
            uuid(tenant_id.to_u128()),
            &keys,
            stored(now),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(found.into_iter().map(|id| KeyId::from_u128(id.as_u128())).collect())
    }

    /// Gives a key a new secret. The old one works until the overlap ends.
    pub async fn rotate(self, rotation: &KeyRotation) -> Result<Option<KeyRow>, StoreError> {
        query_keys!(
            "-- keys.rotate
            UPDATE api_keys
            SET
                previous_digest = digest,
                previous_expires_at = $5,
                digest = $3,
                hint = $4
            WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL
            RETURNING",
            "",
            uuid(rotation.tenant_id.to_u128()),
            uuid(rotation.id.to_u128()),
            &rotation.digest,
            rotation.hint,
            stored(rotation.previous_expires_at),
        )
        .fetch_optional(self.conn)
        .await?
        .map(KeyRow::try_from)
        .transpose()
    }

    /// Revokes a key. `None` if it does not exist or is already revoked.
    pub async fn revoke(
        self,
        tenant_id: TenantId,
        id: KeyId,
        now: Timestamp,
    ) -> Result<Option<KeyRow>, StoreError> {
        query_keys!(
            "-- keys.revoke
            UPDATE api_keys
            SET revoked_at = $3
            WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL
            RETURNING",
            "",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
            stored(now),
        )
        .fetch_optional(self.conn)
        .await?
        .map(KeyRow::try_from)
        .transpose()
    }
}

/// Returns all keys of these tenants that are not revoked.
pub(crate) async fn of_tenants(
    conn: &mut PooledConnection,
    tenants: TenantRange,
) -> Result<Vec<KeyRow>, StoreError> {
    let rows = query_keys!(
        "-- keys.of_rulebook
        SELECT",
        "FROM api_keys
        WHERE revoked_at IS NULL AND tenant_id > $1 AND tenant_id <= $2
        ORDER BY tenant_id, id",
        tenants.after,
        tenants.until,
    )
    .fetch_all(conn)
    .await?;
    all(rows)
}

/// The statement that returns the keys that changed after version `since` of the rulebook, revoked ones included.
pub(crate) fn changed_statement(since: i64) -> String {
    keys_with!(
        statement,
        "-- keys.of_rulebook_since
        SELECT",
        "FROM api_keys
        WHERE
            (tenant_id, sequence) IN (
                SELECT c.tenant_id, c.sequence FROM tenant_changes c
                WHERE c.rulebook_version > $1
            )
        ORDER BY tenant_id, id",
        since,
    )
}

/// The keys that [`changed_statement`] returned.
pub(crate) fn changed(answers: &mut Answers) -> Result<Vec<KeyRow>, StoreError> {
    all(answers.rows::<Row>()?)
}

/// The statement that returns the [`KeyRow`] that has this digest and works at `now`.
///
/// Only it and the statement of the tenant's suspension find a tenant, because they determine that of a request.
pub(crate) fn by_digest_statement(presented: &[u8; 32], now: Timestamp) -> String {
    keys_with!(
        statement,
        "-- keys.by_digest
        SELECT",
        "FROM api_keys
        WHERE (digest = $1 OR (previous_digest = $1 AND previous_expires_at > $2))
            AND revoked_at IS NULL
            AND (expires_at IS NULL OR expires_at > $2)",
        presented,
        stored(now),
    )
}

/// The key of the answer to [`by_digest_statement`].
pub(crate) fn by_digest_of(answers: &mut Answers) -> Result<Option<KeyRow>, StoreError> {
    answers.row::<Row>()?.map(KeyRow::try_from).transpose()
}
