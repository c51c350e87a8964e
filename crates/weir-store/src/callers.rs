//! The reads before the work of a request: its caller and the ceilings of its tenant, in one message each.

use weir_domain::id::{SessionId, TenantId, UserId};
use weir_domain::time::Timestamp;

use crate::ceilings::{TenantCeilings, of_tenant_with};
use crate::convert::{stored, uuid};
use crate::error::StoreError;
use crate::members::MemberRole;
use crate::message::statement;
use crate::sessions::{Membership, Person};
use crate::store::Store;
use crate::tx::Scope;

impl Store {
    /// Returns the values of a tenant and the defaults. It costs one round trip.
    pub async fn ceilings_of(&self, tenant_id: TenantId) -> Result<TenantCeilings, StoreError> {
        let statement = of_tenant_with!(statement, uuid(tenant_id.to_u128()));
        let scope = Scope::Tenant(tenant_id);
        let mut answers = self.read("ceilings.rate", &scope, statement).await?;
        Ok(TenantCeilings::of(answers.rows::<(String, i64, bool)>()?))
    }

    /// Returns the person that owns a live session, with the membership in a tenant. It costs one round trip.
    pub async fn authenticate(
        &self,
        id: SessionId,
        user_id: UserId,
        tenant: Option<TenantId>,
        now: Timestamp,
    ) -> Result<Option<Person>, StoreError> {
        let statement = statement!(
            r#"-- sessions.authenticate
            SELECT
                u.email,
                u.name,
                u.operator,
                (extract(epoch FROM u.last_seen_at) * 1000)::bigint AS last_seen_ms,
                m.role,
                (extract(epoch FROM m.last_seen_at) * 1000)::bigint AS seen_in_tenant_ms,
                t.suspended
            FROM sessions s
            JOIN users u ON u.id = s.user_id
            LEFT JOIN memberships m ON m.user_id = s.user_id AND m.tenant_id = $3
            LEFT JOIN tenants t ON t.id = m.tenant_id
            WHERE s.id = $1
                AND s.user_id = $2
                AND s.revoked_at IS NULL
                AND s.expires_at > $4
                AND u.disabled_at IS NULL"#,
            uuid(id.to_u128()),
            uuid(user_id.to_u128()),
            tenant.map(|tenant| uuid(tenant.to_u128())),
            stored(now),
        );
        let scope = Scope::User(user_id);
        let mut answers = self.read("sessions.authenticate", &scope, statement).await?;
        let Some(row) = answers.row::<PersonRow>()? else { return Ok(None) };
        let membership = match (tenant, row.role, row.suspended) {
            (Some(tenant_id), Some(role), Some(suspended)) => {
                let role = MemberRole::from_stored(&role)?;
                let last_seen_at = row.seen_in_tenant_ms.map(Timestamp::from_millis);
                Some(Membership { tenant_id, role, suspended, last_seen_at })
            }
            _ => None,
        };
        let (email, name, operator) = (row.email, row.name, row.operator);
        let last_seen_at = row.last_seen_ms.map(Timestamp::from_millis);
        Ok(Some(Person { user_id, email, name, operator, last_seen_at, membership }))
    }
}

#[derive(sqlx::FromRow)]
struct PersonRow {
    email: String,
    name: String,
    operator: bool,
    last_seen_ms: Option<i64>,
    role: Option<String>,
    seen_in_tenant_ms: Option<i64>,
    suspended: Option<bool>,
}
