//! The first messages of a request: its caller, the ceilings of its tenant, and the begin of a change. Each is one round trip.

use weir_domain::id::{SessionId, TenantId, UserId};
use weir_domain::time::Timestamp;

use crate::ceilings::{TenantCeilings, of_tenant_with};
use crate::convert::{stored, uuid};
use crate::error::{Constraint, StoreError};
use crate::idempotency::{Claim, Claimed};
use crate::keys::{self, KeyRow};
use crate::members::MemberRole;
use crate::message::statement;
use crate::sessions::{Membership, Person};
use crate::store::{FIRST_TIMEOUT, Store};
use crate::tenants::begin_change_with;
use crate::tx::{Scope, Tx};

/// A change of a tenant that has begun.
#[derive(Debug)]
pub struct BegunChange {
    /// The transaction, in the scope of the tenant.
    pub tx: Tx,
    /// The result of claiming the key. Drop the transaction unless it is fresh.
    pub claimed: Option<Claimed>,
    /// The ceilings of the tenant.
    pub ceilings: TenantCeilings,
}

impl Store {
    /// Claims the idempotency key of a request, if it has one, and begins a change as [`Tenants::begin_change`] does. Other changes
    /// of the tenant wait until the transaction ends. It costs one round trip.
    ///
    /// [`Tenants::begin_change`]: crate::Tenants::begin_change
    pub async fn begin_change(
        &self,
        name: &'static str,
        tenant_id: TenantId,
        claim: Option<&Claim>,
    ) -> Result<BegunChange, StoreError> {
        let mut statements = vec![self.scope(name, &Scope::Tenant(tenant_id))];
        statements.extend(claim.into_iter().flat_map(Claim::statements));
        statements.push(begin_change_with!(statement, tenant_id));
        statements.push(of_tenant_with!(statement, uuid(tenant_id.to_u128())));
        let (tx, mut answers) = self.begin_with(&statements).await?;
        answers.skip();
        let claimed = claim.map(|_| Claimed::of(&mut answers)).transpose()?;
        if answers.row::<(i64,)>()?.is_none() {
            return Err(StoreError::Conflict(Constraint::TenantMissing));
        }
        let ceilings = TenantCeilings::of(answers.rows::<(String, i64, bool)>()?);
        Ok(BegunChange { tx, claimed, ceilings })
    }

    /// Returns the values of a tenant and the defaults. It costs one round trip.
    pub async fn ceilings_of(&self, tenant_id: TenantId) -> Result<TenantCeilings, StoreError> {
        let statement = of_tenant_with!(statement, uuid(tenant_id.to_u128()));
        let scope = Scope::Tenant(tenant_id);
        let mut answers = self.read("ceilings.rate", &scope, statement).await?;
        Ok(TenantCeilings::of(answers.rows::<(String, i64, bool)>()?))
    }

    /// Returns the key that has this digest and works at `now`, and whether its tenant is suspended. It costs one round trip.
    pub async fn authenticate_key(
        &self,
        presented: &[u8; 32],
        now: Timestamp,
    ) -> Result<Option<(KeyRow, bool)>, StoreError> {
        let enter = statement!(
            "-- keys.enter_tenant
            SELECT set_config('weir.tenant', tenant_id::text, true) AS tenant
            FROM api_keys
            WHERE digest = $1 OR previous_digest = $1",
            presented,
        );
        let suspended = statement!(
            "-- keys.tenant
            SELECT suspended
            FROM tenants
            WHERE id = nullif(current_setting('weir.tenant', true), '')::uuid",
        );
        let scope = self.scope("keys.authenticate", &Scope::Key(*presented));
        let key = keys::by_digest_statement(presented, now);
        let statements = [scope, key, enter, suspended];
        let begin = "BEGIN READ ONLY; SET LOCAL bytea_output = hex";
        let mut answers = self.run(begin, &statements, FIRST_TIMEOUT).await?;
        answers.skip();
        let key = keys::by_digest_of(&mut answers)?;
        answers.skip();
        let suspended: Option<(bool,)> = answers.row()?;
        Ok(key.zip(suspended.map(|(suspended,)| suspended)))
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
        let email = row.email;
        let name = row.name;
        let operator = row.operator;
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
