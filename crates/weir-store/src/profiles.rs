//! Profiles, by which proxies ask.

mod row;
mod served;

use serde_json::Value;
use weir_domain::id::{ProfileId, TenantId};
use weir_domain::time::Timestamp;

use crate::actor::Actor;
use crate::connection::PooledConnection;
use crate::convert::{stored, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};
use crate::profile_revisions;
use crate::rule_revisions::RevisionRow;

pub use row::ProfileRow;
use row::{Row, query_profiles};
pub use served::ServedProfile;
pub(crate) use served::{changed, changed_statement, of_tenants, remaining, remaining_statement};

/// A profile to be inserted or updated.
#[derive(Debug, Clone)]
pub struct ProfileWrite {
    /// The tenant that owns the profile.
    pub tenant_id: TenantId,
    /// The profile's id.
    pub id: ProfileId,
    /// The name, unique in the tenant.
    pub name: String,
    /// The body in the API's format.
    pub spec: Value,
    /// The set of rules as code that the profile belongs to from then on. With `None`, a profile stays where it is, and a new
    /// one belongs to no set.
    pub managed_by: Option<String>,
    /// The current time.
    pub now: Timestamp,
}

/// The table of profiles.
#[derive(Debug)]
pub struct Profiles<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Profiles<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Inserts a profile and its first revision.
    pub async fn insert(self, new: &ProfileWrite, actor: &Actor) -> Result<ProfileRow, StoreError> {
        let row: ProfileRow = query_profiles!(
            "-- profiles.insert
            INSERT INTO profiles (
                tenant_id,
                id,
                name,
                spec,
                revision,
                created_at,
                updated_at,
                managed_by,
                applied_digest
            )
            VALUES (
                $1, $2, $3, $4, 1, $5, $5, $6,
                CASE WHEN $6::text IS NOT NULL THEN md5(concat_ws(' ', $3::text, $4::jsonb)) END
            )
            RETURNING",
            "",
            uuid(new.tenant_id.to_u128()),
            uuid(new.id.to_u128()),
            new.name,
            new.spec,
            stored(new.now),
            new.managed_by.as_deref(),
        )
        .fetch_one(&mut *self.conn)
        .await?
        .into();
        profile_revisions::insert(self.conn, None, &row, actor);
        Ok(row)
    }

    /// Updates a profile if it still has the revision that the caller read, and adds a revision. `None` if it does not
    /// exist.
    pub async fn update(
        self,
        write: &ProfileWrite,
        expected_revision: u64,
        actor: &Actor,
    ) -> Result<Option<ProfileRow>, StoreError> {
        let before = match lock(self.conn, write.tenant_id, write.id).await? {
            None => return Ok(None),
            Some(row) if row.revision != expected_revision => return Err(StoreError::Stale),
            Some(row) => row.spec,
        };
        let row: ProfileRow = query_profiles!(
            "-- profiles.update
            UPDATE profiles
            SET
                name = $3,
                spec = $4,
                revision = revision + 1,
                updated_at = $5,
                managed_by = coalesce($6, managed_by),
                applied_digest = CASE
                    WHEN $6::text IS NULL THEN applied_digest
                    ELSE md5(concat_ws(' ', $3::text, $4::jsonb))
                END
            WHERE tenant_id = $1 AND id = $2
            RETURNING",
            "",
            uuid(write.tenant_id.to_u128()),
            uuid(write.id.to_u128()),
            write.name,
            write.spec,
            stored(write.now),
            write.managed_by.as_deref(),
        )
        .fetch_one(&mut *self.conn)
        .await?
        .into();
        profile_revisions::insert(self.conn, Some(&before), &row, actor);
        Ok(Some(row))
    }

    /// Deletes a profile with its revisions, and returns its last content.
    pub async fn delete(
        self,
        tenant_id: TenantId,
        id: ProfileId,
        expected_revision: Option<u64>,
    ) -> Result<Option<ProfileRow>, StoreError> {
        let Some(row) = lock(self.conn, tenant_id, id).await? else {
            return Ok(None);
        };
        if expected_revision.is_some_and(|expected| expected != row.revision) {
            return Err(StoreError::Stale);
        }
        sqlx::query!(
            "-- profiles.delete
            DELETE FROM profiles WHERE tenant_id = $1 AND id = $2",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .execute(self.conn)
        .await?;
        Ok(Some(row))
    }

    /// Returns the profile with this id.
    pub async fn find(
        self,
        tenant_id: TenantId,
        id: ProfileId,
    ) -> Result<Option<ProfileRow>, StoreError> {
        let row = query_profiles!(
            "-- profiles.find
            SELECT",
            "FROM profiles
            WHERE tenant_id = $1 AND id = $2",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(ProfileRow::from))
    }

    /// Lists the profiles of a tenant by name: all, or those that check in one of `namespaces`.
    pub async fn list(
        self,
        tenant_id: TenantId,
        namespaces: Option<&[String]>,
        page: &Page<String>,
    ) -> Result<Listing<ProfileRow>, StoreError> {
        let rows = query_profiles!(
            "-- profiles.list
            SELECT",
            r#"FROM profiles
            WHERE tenant_id = $1
                AND ($2::text IS NULL OR name COLLATE "C" > $2)
                AND ($4::text[] IS NULL OR spec ->> 'namespace' = ANY($4))
            ORDER BY name COLLATE "C"
            LIMIT $3"#,
            uuid(tenant_id.to_u128()),
            page.after.as_deref(),
            page.fetch(),
            namespaces,
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(rows.into_iter().map(ProfileRow::from).collect()))
    }

    /// Lists the revisions of a profile, newest first. The page starts before a revision.
    pub async fn revisions(
        self,
        tenant_id: TenantId,
        id: ProfileId,
        page: &Page<u64>,
    ) -> Result<Listing<RevisionRow>, StoreError> {
        profile_revisions::list(self.conn, tenant_id, id, page).await
    }

    /// Returns one revision of a profile.
    pub async fn revision(
        self,
        tenant_id: TenantId,
        id: ProfileId,
        revision: u64,
    ) -> Result<Option<RevisionRow>, StoreError> {
        profile_revisions::find(self.conn, tenant_id, id, revision).await
    }

    /// Deletes all but the newest `most` revisions of a profile of the tenant in scope. Returns the number of deleted
    /// revisions.
    pub async fn keep_revisions(self, id: ProfileId, most: u64) -> Result<u64, StoreError> {
        profile_revisions::keep(self.conn, id, most).await
    }

    /// Returns the number of profiles of a tenant.
    pub async fn count(self, tenant_id: TenantId) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- profiles.count
            SELECT count(*) AS "count!" FROM profiles WHERE tenant_id = $1"#,
            uuid(tenant_id.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }
}

async fn lock(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    id: ProfileId,
) -> Result<Option<ProfileRow>, StoreError> {
    let row = query_profiles!(
        "-- profiles.lock
        SELECT",
        "FROM profiles
        WHERE tenant_id = $1 AND id = $2
        FOR UPDATE",
        uuid(tenant_id.to_u128()),
        uuid(id.to_u128()),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(ProfileRow::from))
}
