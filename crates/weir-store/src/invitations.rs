//! Invitations to join a tenant. Only digests of their tokens are stored.

use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{InvitationId, TenantId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{all, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::members::MemberRole;
use crate::page::{Listing, Page};

/// An invitation to be inserted.
#[derive(Debug, Clone)]
pub struct NewInvitation {
    /// The invitation's id.
    pub id: InvitationId,
    /// The tenant to join.
    pub tenant_id: TenantId,
    /// The invited address.
    pub email: String,
    /// The role of the new member.
    pub role: MemberRole,
    /// The SHA-256 of the token.
    pub digest: [u8; 32],
    /// The inviter: an e-mail address, or `key` and the key's name.
    pub invited_by: String,
    /// The current time.
    pub now: Timestamp,
    /// The time until which the invitation can be accepted.
    pub expires_at: Timestamp,
}

/// An invitation that was not accepted yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationRow {
    /// The invitation's id.
    pub id: InvitationId,
    /// The tenant to join.
    pub tenant_id: TenantId,
    /// The invited address.
    pub email: String,
    /// The role of the new member.
    pub role: MemberRole,
    /// The inviter: an e-mail address, or `key` and the key's name.
    pub invited_by: String,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time until which the invitation can be accepted.
    pub expires_at: Timestamp,
}

struct Row {
    tenant_id: Uuid,
    id: Uuid,
    email: String,
    role: String,
    invited_by: String,
    created_at: OffsetDateTime,
    expires_at: OffsetDateTime,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_invitations {
    ($head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + "
                tenant_id,
                id,
                email,
                role,
                invited_by,
                created_at,
                expires_at
                "
                + $tail
            $(, $argument)*
        )
    };
}

/// The table of invitations.
#[derive(Debug)]
pub struct Invitations<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Invitations<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Inserts an invitation. It replaces an open invitation of the same address.
    pub async fn replace(self, new: &NewInvitation) -> Result<InvitationRow, StoreError> {
        sqlx::query!(
            "-- invitations.end_former
            DELETE FROM invitations WHERE tenant_id = $1 AND email = $2",
            uuid(new.tenant_id.to_u128()),
            new.email,
        )
        .execute(&mut *self.conn)
        .await?;
        query_invitations!(
            "-- invitations.insert
            INSERT INTO invitations (
                tenant_id,
                id,
                email,
                role,
                digest,
                invited_by,
                created_at,
                expires_at
            )
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            RETURNING",
            "",
            uuid(new.tenant_id.to_u128()),
            uuid(new.id.to_u128()),
            new.email,
            new.role.as_str(),
            &new.digest,
            new.invited_by,
            stored(new.now),
            stored(new.expires_at),
        )
        .fetch_one(self.conn)
        .await?
        .try_into()
    }

    /// Returns the number of invitations that can still be accepted.
    pub async fn count_open(self, tenant_id: TenantId, now: Timestamp) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- invitations.count_open
            SELECT count(*) AS "count!"
            FROM invitations
            WHERE tenant_id = $1 AND expires_at > $2"#,
            uuid(tenant_id.to_u128()),
            stored(now),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }

    /// Lists the invitations that can still be accepted, newest first.
    pub async fn list_open(
        self,
        tenant_id: TenantId,
        now: Timestamp,
        page: &Page<InvitationId>,
    ) -> Result<Listing<InvitationRow>, StoreError> {
        let rows = query_invitations!(
            "-- invitations.list_open
            SELECT",
            "FROM invitations
            WHERE tenant_id = $1 AND expires_at > $2 AND ($3::uuid IS NULL OR id < $3)
            ORDER BY id DESC
            LIMIT $4",
            uuid(tenant_id.to_u128()),
            stored(now),
            page.after.map(|id| uuid(id.to_u128())),
            page.fetch(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(all(rows)?))
    }

    /// Returns the invitation with this token digest, if it can still be accepted.
    pub async fn presented(
        self,
        digest: &[u8; 32],
        now: Timestamp,
    ) -> Result<Option<InvitationRow>, StoreError> {
        query_invitations!(
            "-- invitations.presented
            SELECT",
            "FROM invitations
            WHERE digest = $1 AND expires_at > $2",
            digest,
            stored(now),
        )
        .fetch_optional(self.conn)
        .await?
        .map(InvitationRow::try_from)
        .transpose()
    }

    /// Deletes an invitation that was accepted or revoked. `None` if it does not exist any more.
    pub async fn delete(
        self,
        tenant_id: TenantId,
        id: InvitationId,
    ) -> Result<Option<InvitationRow>, StoreError> {
        query_invitations!(
            "-- invitations.delete
            DELETE FROM invitations
            WHERE tenant_id = $1 AND id = $2
            RETURNING",
            "",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?
        .map(InvitationRow::try_from)
        .transpose()
    }

    /// Revokes all invitations of this inviter: an e-mail address, or `key` and the key's name.
    pub async fn revoke_made_by(
        self,
        tenant_id: TenantId,
        invited_by: &str,
    ) -> Result<Vec<InvitationRow>, StoreError> {
        let rows = query_invitations!(
            "-- invitations.revoke_made_by
            DELETE FROM invitations
            WHERE tenant_id = $1 AND lower(invited_by) = $2
            RETURNING",
            "",
            uuid(tenant_id.to_u128()),
            invited_by,
        )
        .fetch_all(self.conn)
        .await?;
        all(rows)
    }

    /// Revokes the invitations of all tenants that the person in the scope made.
    pub async fn revoke_own(self) -> Result<Vec<InvitationRow>, StoreError> {
        let rows = sqlx::query_as!(
            Row,
            r#"-- invitations.revoke_own
            SELECT
                tenant_id AS "tenant_id!",
                id AS "id!",
                email AS "email!",
                role AS "role!",
                invited_by AS "invited_by!",
                created_at AS "created_at!",
                expires_at AS "expires_at!"
            FROM weir_revoke_own_invitations()
            ORDER BY tenant_id, id"#,
        )
        .fetch_all(self.conn)
        .await?;
        all(rows)
    }
}

impl TryFrom<Row> for InvitationRow {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: InvitationId::from_u128(row.id.as_u128()),
            tenant_id: TenantId::from_u128(row.tenant_id.as_u128()),
            role: MemberRole::from_stored(&row.role)?,
            email: row.email,
            invited_by: row.invited_by,
            created_at: timestamp(row.created_at),
            expires_at: timestamp(row.expires_at),
        })
    }
}
