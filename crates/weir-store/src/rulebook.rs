//! The rulebook's version, and the load that gates do. They sit side by side on purpose: the load
//! is right only because every change bumps the one counter row in its own transaction.

use std::collections::HashMap;

use weir_domain::ceilings::Ceiling;
use weir_domain::id::{OverrideId, RuleId, TenantId};

use crate::connection::PooledConnection;
use crate::convert::{signed, unsigned, uuid};
use crate::error::{Constraint, StoreError};
use crate::keys::{self, KeyRow};
use crate::overrides::{self, OverrideRow, ServedOverride};
use crate::rules::{self, RuleRow, Rules, ServedRule};

/// What a gate loads.
#[derive(Debug, Clone, PartialEq)]
pub struct RulebookChanges {
    /// The version all of this is of.
    pub version: u64,
    /// Whether rules decide at all, for every tenant.
    pub enforced: bool,
    /// Checks a second of a tenant that has no value of its own.
    pub checks_per_second: u64,
    /// Tenants that changed.
    pub tenants: Vec<TenantChanges>,
    /// Tenants that are gone.
    pub deleted: Vec<TenantId>,
}

/// What a gate does not know yet of one tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct TenantChanges {
    /// Which.
    pub tenant_id: TenantId,
    /// Whether its checks are refused.
    pub suspended: bool,
    /// Whether gates keep some of its checks for what-if runs.
    pub record_checks: bool,
    /// Whether its rules decide.
    pub enforced: bool,
    /// Its own ceiling of checks a second.
    pub checks_per_second: Option<u64>,
    /// The version at which it last changed.
    pub version: u64,
    /// Its keys that were written; revoked ones too, unless all were asked for.
    pub keys: Vec<KeyRow>,
    /// Its rules that were written.
    pub rules: Vec<ServedRule>,
    /// Its overrides that were written, expired ones too.
    pub overrides: Vec<ServedOverride>,
    /// All it still has, if something of it was removed.
    pub left: Option<Left>,
}

/// What a tenant has left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Left {
    /// Its rules, in order.
    pub rules: Vec<RuleId>,
    /// Its overrides, in order.
    pub overrides: Vec<OverrideId>,
}

/// Rules as the control plane looks at them.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleRows {
    /// Rules, oldest first.
    pub rules: Vec<RuleRow>,
    /// Their overrides, oldest first, expired ones too.
    pub overrides: Vec<OverrideRow>,
}

/// The version counter and one tenant's part of the rulebook.
#[derive(Debug)]
pub struct Rulebook<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Rulebook<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Makes the next version, with a change of this tenant.
    ///
    /// To be the first write of a transaction: it holds the counter's row until the end, so that
    /// versions become visible in their order, and writers never wait for each other crosswise.
    pub async fn bump(self, tenant_id: TenantId) -> Result<u64, StoreError> {
        let version = sqlx::query_scalar!(
            "-- rulebook.bump
            UPDATE rulebook_versions SET version = version + 1 RETURNING version"
        )
        .fetch_one(&mut *self.conn)
        .await?;
        let done = sqlx::query!(
            "-- rulebook.mark_tenant
            UPDATE tenants SET version = $2 WHERE id = $1",
            uuid(tenant_id.to_u128()),
            version,
        )
        .execute(self.conn)
        .await?;
        if done.rows_affected() == 0 {
            return Err(StoreError::Conflict(Constraint::TenantMissing));
        }
        Ok(unsigned(version))
    }

    /// Makes the next version, with a change of what holds for all tenants. To be the first write of a transaction,
    /// as [`Rulebook::bump`] is.
    pub async fn bump_installation(self) -> Result<u64, StoreError> {
        let version = sqlx::query_scalar!(
            "-- rulebook.bump_installation
            UPDATE rulebook_versions SET version = version + 1 RETURNING version"
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(version))
    }

    /// The newest version.
    pub async fn version(self) -> Result<u64, StoreError> {
        version(self.conn).await
    }

    /// A rule with its overrides.
    pub async fn rule(
        self,
        tenant_id: TenantId,
        id: RuleId,
    ) -> Result<Option<(RuleRow, Vec<OverrideRow>)>, StoreError> {
        let Some(rule) = Rules::new(&mut *self.conn).find(tenant_id, id).await? else {
            return Ok(None);
        };
        Ok(Some((rule, overrides::of_rule(self.conn, tenant_id, id).await?)))
    }

    /// The rules of a namespace.
    pub async fn namespace(
        self,
        tenant_id: TenantId,
        namespace: &str,
    ) -> Result<RuleRows, StoreError> {
        let rules = rules::of_namespace(self.conn, tenant_id, namespace).await?;
        let overrides = overrides::of_namespace(self.conn, tenant_id, namespace).await?;
        Ok(RuleRows { rules, overrides })
    }
}

/// Loads what changed after `since`; the caller's transaction is one snapshot.
pub(crate) async fn load(
    conn: &mut PooledConnection,
    since: Option<u64>,
) -> Result<RulebookChanges, StoreError> {
    let version = version(conn).await?;
    // Versions start at 0, so everything is later than -1.
    let floor = since.map_or(-1, signed);
    let (enforced, checks_per_second) = installation(conn).await?;
    let tenants = tenants(conn, floor).await?;
    let deleted = sqlx::query_scalar!(
        "-- rulebook.deleted
        SELECT tenant_id FROM deleted_tenants WHERE version > $1 ORDER BY version",
        floor,
    )
    .fetch_all(conn)
    .await?;
    let deleted = deleted.into_iter().map(|id| TenantId::from_u128(id.as_u128())).collect();
    Ok(RulebookChanges { version, enforced, checks_per_second, tenants, deleted })
}

async fn version(conn: &mut PooledConnection) -> Result<u64, StoreError> {
    let version = sqlx::query_scalar!(
        "-- rulebook.version
        SELECT version FROM rulebook_versions"
    )
    .fetch_one(conn)
    .await?;
    Ok(unsigned(version))
}

/// Whether rules decide at all, and the default ceiling of checks a second.
async fn installation(conn: &mut PooledConnection) -> Result<(bool, u64), StoreError> {
    let ceiling = Ceiling::ChecksPerSecond;
    let row = sqlx::query!(
        "-- rulebook.installation
        SELECT
            enforced,
            (SELECT value FROM default_ceilings WHERE name = $1) AS checks_per_second
        FROM installation",
        ceiling.as_str(),
    )
    .fetch_one(conn)
    .await?;
    let value = row.checks_per_second.map_or_else(|| ceiling.default_value(), unsigned);
    Ok((row.enforced, value))
}

async fn tenants(
    conn: &mut PooledConnection,
    since: i64,
) -> Result<Vec<TenantChanges>, StoreError> {
    let rows = sqlx::query!(
        "-- rulebook.tenants
        SELECT
            id,
            suspended,
            record_checks,
            enforced,
            (
                SELECT c.value FROM tenant_ceilings c
                WHERE c.tenant_id = tenants.id AND c.name = $2
            ) AS checks_per_second,
            version,
            removed_version
        FROM tenants
        WHERE version > $1
        ORDER BY id",
        since,
        Ceiling::ChecksPerSecond.as_str(),
    )
    .fetch_all(&mut *conn)
    .await?;
    let keys = keys::of_rulebook(conn, since).await?;
    let mut keys = grouped(keys.into_iter().map(|key| (key.tenant_id, key)));
    let mut rules = grouped(rules::of_rulebook(conn, since).await?);
    let mut overrides = grouped(overrides::of_rulebook(conn, since).await?);
    let lost = |removed_version: i64| since >= 0 && removed_version > since;
    let (mut rules_left, mut overrides_left) = (HashMap::new(), HashMap::new());
    if rows.iter().any(|row| lost(row.removed_version)) {
        rules_left = grouped(rules::left(conn, since).await?);
        overrides_left = grouped(overrides::left(conn, since).await?);
    }
    let tenants = rows.into_iter().map(|row| {
        let tenant_id = TenantId::from_u128(row.id.as_u128());
        TenantChanges {
            tenant_id,
            suspended: row.suspended,
            record_checks: row.record_checks,
            enforced: row.enforced,
            checks_per_second: row.checks_per_second.map(unsigned),
            version: unsigned(row.version),
            keys: keys.remove(&tenant_id).unwrap_or_default(),
            rules: rules.remove(&tenant_id).unwrap_or_default(),
            overrides: overrides.remove(&tenant_id).unwrap_or_default(),
            left: lost(row.removed_version).then(|| Left {
                rules: rules_left.remove(&tenant_id).unwrap_or_default(),
                overrides: overrides_left.remove(&tenant_id).unwrap_or_default(),
            }),
        }
    });
    Ok(tenants.collect())
}

fn grouped<T>(rows: impl IntoIterator<Item = (TenantId, T)>) -> HashMap<TenantId, Vec<T>> {
    let mut groups: HashMap<TenantId, Vec<T>> = HashMap::new();
    for (tenant_id, row) in rows {
        groups.entry(tenant_id).or_default().push(row);
    }
    groups
}
