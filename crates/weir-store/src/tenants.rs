//! Tenants: the customers of an installation.

use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{TenantId, UserId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{all, signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::members::MemberRole;
use crate::page::{Listing, Page};

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each column")]
pub struct TenantRow {
    /// Which.
    pub id: TenantId,
    /// What people call it.
    pub name: String,
    /// Whether its checks are refused.
    pub suspended: bool,
    /// Whether gates keep some of its checks for what-if runs.
    pub record_checks: bool,
    /// Whether its rules decide.
    pub enforced: bool,
    /// Whether rules decide at all, for every tenant.
    pub installation_enforced: bool,
    /// The rulebook version at which it last changed.
    pub version: u64,
    /// Since when.
    pub created_at: Timestamp,
}

/// A tenant a person is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MyTenant {
    /// Which.
    pub tenant: TenantRow,
    /// As what.
    pub role: MemberRole,
}

/// The table of tenants.
#[derive(Debug)]
pub struct Tenants<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Tenants<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Makes a tenant, in its own scope. Bump the rulebook after it.
    pub async fn insert(
        self,
        id: TenantId,
        name: &str,
        now: Timestamp,
    ) -> Result<TenantRow, StoreError> {
        let row = sqlx::query_as!(
            Row,
            "-- tenants.insert
            INSERT INTO tenants (
                id,
                name,
                created_at
            )
            VALUES ($1, $2, $3)
            RETURNING
                id,
                name,
                suspended,
                record_checks,
                enforced,
                (SELECT i.enforced FROM installation i) AS installation_enforced,
                version,
                created_at",
            uuid(id.to_u128()),
            name,
            stored(now),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(row.into())
    }

    /// The tenant with this id.
    pub async fn find(self, id: TenantId) -> Result<Option<TenantRow>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            "-- tenants.find
            SELECT
                id,
                name,
                suspended,
                record_checks,
                enforced,
                (SELECT i.enforced FROM installation i) AS installation_enforced,
                version,
                created_at
            FROM tenants
            WHERE id = $1",
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(TenantRow::from))
    }

    /// The tenants a person is in, oldest first.
    pub async fn mine(
        self,
        user_id: UserId,
        page: &Page<TenantId>,
    ) -> Result<Listing<MyTenant>, StoreError> {
        let rows = sqlx::query_as!(
            MyRow,
            "-- tenants.mine
            SELECT
                t.id,
                t.name,
                t.suspended,
                t.record_checks,
                t.enforced,
                (SELECT i.enforced FROM installation i) AS installation_enforced,
                t.version,
                t.created_at,
                m.role
            FROM memberships m
            JOIN tenants t ON t.id = m.tenant_id
            WHERE m.user_id = $1 AND ($2::uuid IS NULL OR t.id > $2)
            ORDER BY t.id
            LIMIT $3",
            uuid(user_id.to_u128()),
            page.after.map(|id| uuid(id.to_u128())),
            page.fetch(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(all(rows)?))
    }

    /// Every tenant, oldest first: an operator's view.
    pub async fn all(self, page: &Page<TenantId>) -> Result<Listing<TenantRow>, StoreError> {
        let rows = sqlx::query_as!(
            Row,
            "-- tenants.all
            SELECT
                id,
                name,
                suspended,
                record_checks,
                enforced,
                (SELECT i.enforced FROM installation i) AS installation_enforced,
                version,
                created_at
            FROM tenants
            WHERE $1::uuid IS NULL OR id > $1
            ORDER BY id
            LIMIT $2",
            page.after.map(|id| uuid(id.to_u128())),
            page.fetch(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(rows.into_iter().map(TenantRow::from).collect()))
    }

    /// Changes a tenant's name, whether its checks are kept, and whether its rules decide, each if it is given. Bump
    /// the rulebook before it.
    pub async fn change(
        self,
        id: TenantId,
        name: Option<&str>,
        record_checks: Option<bool>,
        enforced: Option<bool>,
    ) -> Result<Option<TenantRow>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            "-- tenants.change
            UPDATE tenants
            SET
                name = coalesce($2, name),
                record_checks = coalesce($3, record_checks),
                enforced = coalesce($4, enforced)
            WHERE id = $1
            RETURNING
                id,
                name,
                suspended,
                record_checks,
                enforced,
                (SELECT i.enforced FROM installation i) AS installation_enforced,
                version,
                created_at",
            uuid(id.to_u128()),
            name,
            record_checks,
            enforced,
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(TenantRow::from))
    }

    /// Suspends a tenant or lets it go on. Bump the rulebook before it.
    pub async fn set_suspended(
        self,
        id: TenantId,
        suspended: bool,
    ) -> Result<Option<TenantRow>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            "-- tenants.set_suspended
            UPDATE tenants
            SET suspended = $2
            WHERE id = $1
            RETURNING
                id,
                name,
                suspended,
                record_checks,
                enforced,
                (SELECT i.enforced FROM installation i) AS installation_enforced,
                version,
                created_at",
            uuid(id.to_u128()),
            suspended,
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(TenantRow::from))
    }

    /// Deletes a tenant and all it has, but for its audit entries, and leaves a note for the
    /// gates. Bump the rulebook before it.
    pub async fn delete(
        self,
        id: TenantId,
        rulebook_version: u64,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- tenants.delete
            DELETE FROM tenants WHERE id = $1",
            uuid(id.to_u128()),
        )
        .execute(&mut *self.conn)
        .await?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        sqlx::query!(
            "-- tenants.forget_answers
            DELETE FROM idempotency_keys WHERE owner_id = $1",
            uuid(id.to_u128()),
        )
        .execute(&mut *self.conn)
        .await?;
        sqlx::query!(
            "-- tenants.leave_tombstone
            INSERT INTO deleted_tenants (tenant_id, version, deleted_at)
            VALUES ($1, $2, $3)",
            uuid(id.to_u128()),
            signed(rulebook_version),
            stored(now),
        )
        .execute(self.conn)
        .await?;
        Ok(true)
    }
}

struct Row {
    id: Uuid,
    name: String,
    suspended: bool,
    record_checks: bool,
    enforced: bool,
    installation_enforced: Option<bool>,
    version: i64,
    created_at: OffsetDateTime,
}

struct MyRow {
    id: Uuid,
    name: String,
    suspended: bool,
    record_checks: bool,
    enforced: bool,
    installation_enforced: Option<bool>,
    version: i64,
    created_at: OffsetDateTime,
    role: String,
}

impl From<Row> for TenantRow {
    fn from(row: Row) -> Self {
        Self {
            id: TenantId::from_u128(row.id.as_u128()),
            name: row.name,
            suspended: row.suspended,
            record_checks: row.record_checks,
            enforced: row.enforced,
            installation_enforced: row.installation_enforced.unwrap_or(true),
            version: unsigned(row.version),
            created_at: timestamp(row.created_at),
        }
    }
}

impl TryFrom<MyRow> for MyTenant {
    type Error = StoreError;

    fn try_from(row: MyRow) -> Result<Self, StoreError> {
        let role = MemberRole::from_stored(&row.role)?;
        let tenant = Row {
            id: row.id,
            name: row.name,
            suspended: row.suspended,
            record_checks: row.record_checks,
            enforced: row.enforced,
            installation_enforced: row.installation_enforced,
            version: row.version,
            created_at: row.created_at,
        };
        Ok(Self { tenant: tenant.into(), role })
    }
}
