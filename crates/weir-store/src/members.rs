//! Members of tenants and their roles.

use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{TenantId, UserId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{all, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};

/// A member's role, from the least privileges to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemberRole {
    /// Reads.
    Viewer,
    /// Writes rules and overrides, and tests them.
    Editor,
    /// Everything except deleting the tenant and changing its owners.
    Admin,
    /// Everything.
    Owner,
}

impl MemberRole {
    /// The role's name in the API and in Postgres.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }

    /// The role with this name.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Viewer, Self::Editor, Self::Admin, Self::Owner]
            .into_iter()
            .find(|role| role.as_str() == word)
    }

    pub(crate) fn from_stored(word: &str) -> Result<Self, StoreError> {
        Self::parse(word).ok_or_else(|| StoreError::corrupt(format!("a member's role {word}")))
    }
}

/// A member of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRow {
    /// The person's id.
    pub user_id: UserId,
    /// The e-mail address.
    pub email: String,
    /// The display name.
    pub name: String,
    /// The role.
    pub role: MemberRole,
    /// The time of joining.
    pub created_at: Timestamp,
    /// The time of a recent request in the tenant, if there was one.
    pub last_seen_at: Option<Timestamp>,
}

struct Row {
    user_id: Uuid,
    email: String,
    name: String,
    role: String,
    created_at: OffsetDateTime,
    last_seen_at: Option<OffsetDateTime>,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_members {
    ($head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + "
                m.user_id,
                u.email,
                u.name,
                m.role,
                m.created_at,
                m.last_seen_at
                "
                + $tail
            $(, $argument)*
        )
    };
}

/// The table of memberships.
#[derive(Debug)]
pub struct Members<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Members<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Makes a person a member.
    pub async fn insert(
        self,
        tenant_id: TenantId,
        user_id: UserId,
        role: MemberRole,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "-- members.insert
            INSERT INTO memberships (
                tenant_id,
                user_id,
                role,
                created_at
            )
            VALUES ($1, $2, $3, $4)",
            uuid(tenant_id.to_u128()),
            uuid(user_id.to_u128()),
            role.as_str(),
            stored(now),
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Returns the role of a person in a tenant.
    pub async fn role(
        self,
        tenant_id: TenantId,
        user_id: UserId,
    ) -> Result<Option<MemberRole>, StoreError> {
        let role = sqlx::query_scalar!(
            "-- members.role
            SELECT role FROM memberships WHERE tenant_id = $1 AND user_id = $2",
            uuid(tenant_id.to_u128()),
            uuid(user_id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        role.map(|role| MemberRole::from_stored(&role)).transpose()
    }

    /// Records that a member was seen in the tenant, unless that was recorded at `after` or later.
    pub async fn seen(
        self,
        tenant_id: TenantId,
        user_id: UserId,
        now: Timestamp,
        after: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "-- members.seen
            UPDATE memberships
            SET last_seen_at = $3
            WHERE tenant_id = $1
                AND user_id = $2
                AND (last_seen_at IS NULL OR last_seen_at < $4)",
            uuid(tenant_id.to_u128()),
            uuid(user_id.to_u128()),
            stored(now),
            stored(after),
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Lists the members of a tenant in the order in which their accounts were created.
    pub async fn list(
        self,
        tenant_id: TenantId,
        page: &Page<UserId>,
    ) -> Result<Listing<MemberRow>, StoreError> {
        let rows = query_members!(
            "-- members.list
            SELECT",
            "FROM memberships m
            JOIN users u ON u.id = m.user_id
            WHERE m.tenant_id = $1 AND ($2::uuid IS NULL OR m.user_id > $2)
            ORDER BY m.user_id
            LIMIT $3",
            uuid(tenant_id.to_u128()),
            page.after.map(|id| uuid(id.to_u128())),
            page.fetch(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(all(rows)?))
    }

    /// Returns one member of a tenant.
    pub async fn find(
        self,
        tenant_id: TenantId,
        user_id: UserId,
    ) -> Result<Option<MemberRow>, StoreError> {
        query_members!(
            "-- members.find
            SELECT",
            "FROM memberships m
            JOIN users u ON u.id = m.user_id
            WHERE m.tenant_id = $1 AND m.user_id = $2",
            uuid(tenant_id.to_u128()),
            uuid(user_id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?
        .map(MemberRow::try_from)
        .transpose()
    }

    /// Whether an address in normal form belongs to a member of the tenant.
    pub async fn has_email(self, tenant_id: TenantId, email: &str) -> Result<bool, StoreError> {
        let found = sqlx::query_scalar!(
            r#"-- members.has_email
            SELECT EXISTS (
                SELECT
                FROM memberships m
                JOIN users u ON u.id = m.user_id
                WHERE m.tenant_id = $1 AND u.email = $2
            ) AS "found!""#,
            uuid(tenant_id.to_u128()),
            email,
        )
        .fetch_one(self.conn)
        .await?;
        Ok(found)
    }

    /// Returns the number of owners of a tenant. The number is stable until the end of the transaction only after
    /// `Tenants::begin_change`, which serialises changes of a tenant.
    pub async fn count_owners(self, tenant_id: TenantId) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- members.count_owners
            SELECT count(*) AS "count!" FROM memberships WHERE tenant_id = $1 AND role = 'owner'"#,
            uuid(tenant_id.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }

    /// Returns the number of tenants that a person is a member of.
    pub async fn count_of(self, user_id: UserId) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- members.count_of
            SELECT count(*) AS "count!" FROM memberships WHERE user_id = $1"#,
            uuid(user_id.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }

    /// Returns the addresses among `emails`, in normal form, that belong to members of the tenant.
    pub async fn emails_of(
        self,
        tenant_id: TenantId,
        emails: &[String],
    ) -> Result<Vec<String>, StoreError> {
        let found = sqlx::query_scalar!(
            "-- members.emails_of
            SELECT u.email
            FROM memberships m
            JOIN users u ON u.id = m.user_id
            WHERE m.tenant_id = $1 AND u.email = ANY($2)",
            uuid(tenant_id.to_u128()),
            emails,
        )
        .fetch_all(self.conn)
        .await?;
        Ok(found)
    }

    /// Returns the people among `users` that are members of the tenant and whose accounts are not disabled.
    pub async fn active_of(
        self,
        tenant_id: TenantId,
        users: &[UserId],
    ) -> Result<Vec<UserId>, StoreError> {
        let users: Vec<_> = users.iter().map(|user| uuid(user.to_u128())).collect();
        let found = sqlx::query_scalar!(
            "-- members.active_of
            SELECT m.user_id
            FROM memberships m
            JOIN users u ON u.id = m.user_id
            WHERE m.tenant_id = $1 AND m.user_id = ANY($2) AND u.disabled_at IS NULL",
            uuid(tenant_id.to_u128()),
            &users,
        )
        .fetch_all(self.conn)
        .await?;
        Ok(found.into_iter().map(|id| UserId::from_u128(id.as_u128())).collect())
    }

    /// Changes a member's role.
    pub async fn set_role(
        self,
        tenant_id: TenantId,
        user_id: UserId,
        role: MemberRole,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- members.set_role
            UPDATE memberships SET role = $3 WHERE tenant_id = $1 AND user_id = $2",
            uuid(tenant_id.to_u128()),
            uuid(user_id.to_u128()),
            role.as_str(),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Removes a member from a tenant.
    pub async fn delete(self, tenant_id: TenantId, user_id: UserId) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "-- members.delete
            DELETE FROM memberships WHERE tenant_id = $1 AND user_id = $2",
            uuid(tenant_id.to_u128()),
            uuid(user_id.to_u128()),
        )
        .execute(self.conn)
        .await?;
        Ok(done.rows_affected() > 0)
    }
}

impl TryFrom<Row> for MemberRow {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            user_id: UserId::from_u128(row.user_id.as_u128()),
            role: MemberRole::from_stored(&row.role)?,
            email: row.email,
            name: row.name,
            created_at: timestamp(row.created_at),
            last_seen_at: row.last_seen_at.map(timestamp),
        })
    }
}
