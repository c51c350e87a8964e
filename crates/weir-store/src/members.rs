//! Who belongs to a tenant, and as what.

use sqlx::PgConnection;
use weir_domain::id::{TenantId, UserId};
use weir_domain::time::Timestamp;

use crate::convert::{stored, uuid};
use crate::error::StoreError;

/// What a member may do, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemberRole {
    /// Reads.
    Viewer,
    /// Writes rules and overrides, and tests them.
    Editor,
    /// All but deleting the tenant and its owners.
    Admin,
    /// All.
    Owner,
}

impl MemberRole {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }

    /// From how it is written.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Viewer, Self::Editor, Self::Admin, Self::Owner]
            .into_iter()
            .find(|role| role.as_str() == word)
    }

    pub(crate) fn from_stored(word: &str) -> Result<Self, StoreError> {
        Self::parse(word).ok_or_else(|| StoreError::corrupt(format!("a member's role {word}")))
    }
}

/// The table of memberships.
#[derive(Debug)]
pub struct Members<'t> {
    conn: &'t mut PgConnection,
}

impl<'t> Members<'t> {
    pub(crate) fn new(conn: &'t mut PgConnection) -> Self {
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

    /// What a person is in a tenant.
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
}
