//! Tenants: the customers of an installation.

use serde_json::Value;
use sqlx::query_scalar;
use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{TenantId, UserId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{all, stored, timestamp, unsigned, uuid};
use crate::error::{Constraint, StoreError};
use crate::members::MemberRole;
use crate::page::{Listing, Page};

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each column")]
pub struct TenantRow {
    /// The tenant's id.
    pub id: TenantId,
    /// The display name.
    pub name: String,
    /// Whether its checks are refused.
    pub suspended: bool,
    /// Whether gates record some of its checks for what-if runs.
    pub record_checks: bool,
    /// Whether its rules are enforced.
    pub enforced: bool,
    /// Whether rules are enforced, for all tenants.
    pub installation_enforced: bool,
    /// The attribute that names its customers.
    pub customer_attribute: Option<String>,
    /// The version of the rulebook at which the tenant last changed.
    pub version: u64,
    /// The time of creation.
    pub created_at: Timestamp,
}

/// A tenant with the role of one of its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MyTenant {
    /// The tenant.
    pub tenant: TenantRow,
    /// The member's role.
    pub role: MemberRole,
}

struct Row {
    id: Uuid,
    name: String,
    suspended: bool,
    record_checks: bool,
    enforced: bool,
    installation_enforced: Option<bool>,
    customer_attribute: Option<String>,
    version: i64,
    created_at: OffsetDateTime,
    /// The role of the person in scope; `None` for statements about the tenant alone.
    role: Option<String>,
}

/// A statement that returns [`Row`]s: `$head`, the columns with `$role`, `$tail`.
macro_rules! query_tenants {
    ($head:literal, $role:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + r#"
                tenants.id,
                tenants.name,
                tenants.suspended,
                tenants.record_checks,
                tenants.enforced,
                (SELECT i.enforced FROM installation i) AS installation_enforced,
                tenants.customer_attribute,
                tenants.version,
                tenants.created_at,
                "#
                + $role
                + r#" AS "role?"
                "#
                + $tail
            $(, $argument)*
        )
    };
}

/// The statement of [`Tenants::begin_change`]. `$with` is the macro that makes it.
macro_rules! begin_change_with {
    ($with:ident, $id:expr) => {
        $with!(
            "-- tenants.begin_change
            UPDATE tenants SET sequence = sequence + 1 WHERE id = $1 RETURNING sequence",
            uuid($id.to_u128()),
        )
    };
}
pub(crate) use begin_change_with;

/// The table of tenants.
#[derive(Debug)]
pub struct Tenants<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Tenants<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Inserts a tenant, in its own scope.
    pub async fn insert(
        self,
        id: TenantId,
        name: &str,
        now: Timestamp,
    ) -> Result<TenantRow, StoreError> {
        let row = query_tenants!(
            "-- tenants.insert
            INSERT INTO tenants (
                id,
                name,
                created_at
            )
            VALUES ($1, $2, $3)
            RETURNING",
            "NULL::text",
            "",
            uuid(id.to_u128()),
            name,
            stored(now),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(row.into())
    }

    /// Begins a change of a tenant and returns its number. Numbers ascend in the order of the commits, because other
    /// changes of the tenant wait until this transaction ends.
    pub async fn begin_change(self, id: TenantId) -> Result<u64, StoreError> {
        let sequence = begin_change_with!(query_scalar, id).fetch_optional(self.conn).await?;
        sequence.map(unsigned).ok_or(StoreError::Conflict(Constraint::TenantMissing))
    }

    /// Returns the tenant with this id.
    pub async fn find(self, id: TenantId) -> Result<Option<TenantRow>, StoreError> {
        let row = query_tenants!(
            "-- tenants.find
            SELECT",
            "NULL::text",
            "FROM tenants
            WHERE id = $1",
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(TenantRow::from))
    }

    /// Lists the tenants that a person is a member of, oldest first.
    pub async fn mine(
        self,
        user_id: UserId,
        page: &Page<TenantId>,
    ) -> Result<Listing<MyTenant>, StoreError> {
        let rows = query_tenants!(
            "-- tenants.mine
            SELECT",
            "m.role",
            "FROM memberships m
            JOIN tenants ON tenants.id = m.tenant_id
            WHERE m.user_id = $1 AND ($2::uuid IS NULL OR tenants.id > $2)
            ORDER BY tenants.id
            LIMIT $3",
            uuid(user_id.to_u128()),
            page.after.map(|id| uuid(id.to_u128())),
            page.fetch(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(all(rows)?))
    }

    /// Lists all tenants, oldest first. Requires an operator's scope.
    pub async fn all(self, page: &Page<TenantId>) -> Result<Listing<TenantRow>, StoreError> {
        let rows = query_tenants!(
            "-- tenants.all
            SELECT",
            "NULL::text",
            "FROM tenants
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

    /// Changes a tenant's name, whether some of its checks are recorded, whether its rules are enforced, and the attribute that
    /// names its customers. `None` leaves a setting as it is.
    pub async fn change(
        self,
        id: TenantId,
        name: Option<&str>,
        record_checks: Option<bool>,
        enforced: Option<bool>,
        customer_attribute: Option<Option<&str>>,
    ) -> Result<Option<TenantRow>, StoreError> {
        let row = query_tenants!(
            "-- tenants.change
            UPDATE tenants
            SET
                name = coalesce($2, name),
                record_checks = coalesce($3, record_checks),
                enforced = coalesce($4, enforced),
                customer_attribute = CASE WHEN $5 THEN $6 ELSE customer_attribute END
            WHERE id = $1
            RETURNING",
            "NULL::text",
            "",
            uuid(id.to_u128()),
            name,
            record_checks,
            enforced,
            customer_attribute.is_some(),
            customer_attribute.flatten(),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(TenantRow::from))
    }

    /// The JSON of the customers' own view of their usage. `None` if nobody has set it.
    pub async fn customer_view(self, id: TenantId) -> Result<Option<Value>, StoreError> {
        let view = sqlx::query_scalar!(
            "-- tenants.customer_view
            SELECT customer_view FROM tenants WHERE id = $1",
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(view.flatten())
    }

    /// Sets the customers' own view of their usage.
    pub async fn set_customer_view(self, id: TenantId, view: &Value) -> Result<(), StoreError> {
        sqlx::query!(
            "-- tenants.set_customer_view
            UPDATE tenants SET customer_view = $2 WHERE id = $1",
            uuid(id.to_u128()),
            view,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Suspends or resumes a tenant.
    pub async fn set_suspended(
        self,
        id: TenantId,
        suspended: bool,
    ) -> Result<Option<TenantRow>, StoreError> {
        let row = query_tenants!(
            "-- tenants.set_suspended
            UPDATE tenants
            SET suspended = $2
            WHERE id = $1
            RETURNING",
            "NULL::text",
            "",
            uuid(id.to_u128()),
            suspended,
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(TenantRow::from))
    }

    /// Deletes a tenant with all its rows except its audit entries. Returns whether it existed.
    pub async fn delete(self, id: TenantId) -> Result<bool, StoreError> {
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
        .execute(self.conn)
        .await?;
        Ok(true)
    }
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
            customer_attribute: row.customer_attribute,
            version: unsigned(row.version),
            created_at: timestamp(row.created_at),
        }
    }
}

impl TryFrom<Row> for MyTenant {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let role = MemberRole::from_stored(row.role.as_deref().unwrap_or_default())?;
        Ok(Self { tenant: row.into(), role })
    }
}
