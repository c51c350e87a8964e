//! Profiles, by which proxies ask.

mod row;
mod served;

use serde_json::Value;
use weir_domain::id::{ProfileId, TenantId};

use crate::actor::Actor;
use crate::connection::PooledConnection;
use crate::convert::{all, signed, stored, unsigned, uuid};
use crate::error::StoreError;
use crate::message::statement;
use crate::page::{Listing, Page};
use crate::revisions::{RevisionRow, revised, revision_writes};
use crate::specs::{Revised, Spec, SpecRow, SpecWrite, Specs, spec_statements};

pub use row::ProfileColumns;
use row::query_profiles;
pub use served::ServedProfile;
pub(crate) use served::{changed, changed_statement, of_tenants, remaining, remaining_statement};

/// The fields of a profile that its author sets.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileBody {
    /// The name, unique in the tenant.
    pub name: String,
    /// The body in the API's format.
    pub spec: Value,
}

/// The kind of profiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileSpec;

/// A profile.
pub type ProfileRow = SpecRow<ProfileSpec>;
/// A profile to be inserted or updated.
pub type ProfileWrite = SpecWrite<ProfileSpec>;
/// The table of profiles.
pub type Profiles<'t> = Specs<'t, ProfileSpec>;

/// A statement that writes a profile and returns it.
macro_rules! write_profile {
    ($write:ident, $sql:literal $(, $more:expr)?) => {
        query_profiles!(
            $sql,
            "",
            uuid($write.tenant_id.to_u128()),
            uuid($write.id.to_u128()),
            $write.body.name,
            $write.body.spec,
            stored($write.now),
            $write.managed_by.as_deref()
            $(, $more)?
        )
    };
}

impl Spec for ProfileSpec {
    type Id = ProfileId;
    type Columns = ProfileColumns;
    type Body = ProfileBody;

    spec_statements!("profiles", query_profiles);
    revision_writes!("profile_revisions", "profile_id", "weir_keep_profile_revisions");

    async fn insert(
        conn: &mut PooledConnection,
        new: &ProfileWrite,
    ) -> Result<ProfileRow, StoreError> {
        let inserted = write_profile!(
            new,
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
            RETURNING"
        );
        Ok(inserted.fetch_one(conn).await?)
    }

    async fn update(
        conn: &mut PooledConnection,
        write: &ProfileWrite,
        revision: u64,
    ) -> Result<Option<ProfileRow>, StoreError> {
        let updated = write_profile!(
            write,
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
            WHERE tenant_id = $1 AND id = $2 AND revision = $7
            RETURNING",
            signed(revision)
        );
        Ok(updated.fetch_optional(conn).await?)
    }
}

revised!(ProfileSpec, "profile_revisions", "profile_id");

impl Profiles<'_> {
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
        Ok(page.listing(rows))
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
