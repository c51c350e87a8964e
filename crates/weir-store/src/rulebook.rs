//! The version of the rulebook, and the changes that gates load. They share a file because a load is complete only if
//! every transaction that changes served content raises the version as its last statement.

use std::collections::HashMap;

use weir_domain::ceilings::Ceiling;
use weir_domain::id::{OverrideId, RuleId, TenantId};

use crate::connection::PooledConnection;
use crate::convert::{signed, unsigned, uuid};
use crate::error::StoreError;
use crate::keys::{self, KeyRow};
use crate::overrides::{self, OverrideRow, ServedOverride};
use crate::rules::{self, RuleRow, Rules, ServedRule};

/// A version of the rulebook in one history of the database. After a restore, or a failover that lost commits, the same
/// number stands for other content and has another stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RulebookVersion {
    /// The sequential number.
    pub number: u64,
    /// A random number, drawn when the version was raised.
    pub stamp: u128,
}

/// The content that a gate loads.
#[derive(Debug, Clone, PartialEq)]
pub struct RulebookChanges {
    /// The version of the rulebook that this content leads to.
    pub version: RulebookVersion,
    /// Whether this is the whole rulebook rather than the changes since the gate's version.
    pub whole: bool,
    /// Whether rules are enforced, for all tenants.
    pub enforced: bool,
    /// The ceiling of checks per second of a tenant without a value of its own.
    pub checks_per_second: u64,
    /// The tenants that changed.
    pub tenants: Vec<TenantChanges>,
    /// The tenants that were deleted.
    pub deleted: Vec<TenantId>,
}

/// The changes of one tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct TenantChanges {
    /// The tenant.
    pub tenant_id: TenantId,
    /// Whether its keys are refused.
    pub suspended: bool,
    /// Whether gates record some of its checks for what-if runs.
    pub record_checks: bool,
    /// Whether its rules are enforced.
    pub enforced: bool,
    /// The tenant's own ceiling of checks per second.
    pub checks_per_second: Option<u64>,
    /// The version of the rulebook at which the tenant last changed.
    pub version: u64,
    /// The keys that were written. Revoked keys are included unless the whole rulebook is loaded.
    pub keys: Vec<KeyRow>,
    /// The rules that were written.
    pub rules: Vec<ServedRule>,
    /// The overrides that were written, including expired ones.
    pub overrides: Vec<ServedOverride>,
    /// The ids that the tenant still has, if a rule or an override was removed.
    pub remaining: Option<RemainingIds>,
}

/// The ids of the rules and overrides that a tenant still has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemainingIds {
    /// The ids of its rules, ascending.
    pub rules: Vec<RuleId>,
    /// The ids of its overrides, ascending.
    pub overrides: Vec<OverrideId>,
}

/// Rules with their overrides, for the control plane.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleRows {
    /// Rules, oldest first.
    pub rules: Vec<RuleRow>,
    /// Their overrides, oldest first, including expired ones.
    pub overrides: Vec<OverrideRow>,
}

/// The table of versions, and one tenant's part of the rulebook.
#[derive(Debug)]
pub struct Rulebook<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Rulebook<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Raises the version if this transaction changed content of the tenant that gates serve, and returns the new
    /// version. The response stored under `answer_key` gets the version as its `rulebook_version`.
    ///
    /// Must be the last statement of a transaction: it locks the row that all tenants share until the commit. A
    /// transaction that does not call it publishes when it commits.
    pub async fn publish(
        self,
        tenant_id: TenantId,
        answer_key: Option<&str>,
    ) -> Result<Option<u64>, StoreError> {
        let version = sqlx::query_scalar!(
            "-- rulebook.publish
            SELECT weir_publish($1, $2)",
            uuid(tenant_id.to_u128()),
            answer_key,
        )
        .fetch_one(self.conn)
        .await?;
        Ok(version.map(unsigned))
    }

    /// Raises the version if this transaction changed a setting of all tenants, and returns the new version. Must be
    /// the last statement of a transaction, like [`Rulebook::publish`].
    pub async fn publish_installation(self) -> Result<Option<u64>, StoreError> {
        let version = sqlx::query_scalar!(
            "-- rulebook.publish_installation
            SELECT weir_publish_installation()"
        )
        .fetch_one(self.conn)
        .await?;
        Ok(version.map(unsigned))
    }

    /// Returns the newest version.
    pub async fn version(self) -> Result<RulebookVersion, StoreError> {
        version(self.conn).await
    }

    /// Returns a rule with its overrides.
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

    /// Returns the rules of a namespace with their overrides.
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

/// Whether this version is one of the newest 10,000 in the history of this database.
pub(crate) async fn is_known(
    conn: &mut PooledConnection,
    held: RulebookVersion,
) -> Result<bool, StoreError> {
    let known = sqlx::query_scalar!(
        r#"-- rulebook.is_known
        SELECT EXISTS (
            SELECT FROM rulebook_stamps s
            JOIN rulebook_versions v ON s.version <= v.version
            WHERE s.version = $1 AND s.stamp = $2
        ) AS "known!""#,
        signed(held.number),
        uuid(held.stamp),
    )
    .fetch_one(conn)
    .await?;
    Ok(known)
}

/// Loads the whole rulebook, or the changes after version `since`. The caller's transaction is one snapshot.
pub(crate) async fn load(
    conn: &mut PooledConnection,
    since: Option<u64>,
) -> Result<RulebookChanges, StoreError> {
    let version = version(conn).await?;
    let since = since.map(signed);
    let (enforced, checks_per_second) = installation(conn).await?;
    let tenants = tenants(conn, since).await?;
    let deleted = match since {
        Some(since) => deleted_since(conn, since).await?,
        None => Vec::new(),
    };
    let whole = since.is_none();
    Ok(RulebookChanges { version, whole, enforced, checks_per_second, tenants, deleted })
}

pub(crate) async fn version(conn: &mut PooledConnection) -> Result<RulebookVersion, StoreError> {
    let row = sqlx::query!(
        "-- rulebook.version
        SELECT version, stamp FROM rulebook_versions"
    )
    .fetch_one(conn)
    .await?;
    Ok(RulebookVersion { number: unsigned(row.version), stamp: row.stamp.as_u128() })
}

async fn deleted_since(
    conn: &mut PooledConnection,
    since: i64,
) -> Result<Vec<TenantId>, StoreError> {
    let deleted = sqlx::query_scalar!(
        "-- rulebook.deleted
        SELECT tenant_id FROM deleted_tenants WHERE version > $1 ORDER BY version",
        since,
    )
    .fetch_all(conn)
    .await?;
    Ok(deleted.into_iter().map(|id| TenantId::from_u128(id.as_u128())).collect())
}

/// Returns whether rules are enforced for all tenants, and the default ceiling of checks per second.
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
    since: Option<i64>,
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
        WHERE $1::bigint IS NULL OR version > $1
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
    let lost_rows = |removed_version: i64| since.is_some_and(|since| removed_version > since);
    let (mut remaining_rules, mut remaining_overrides) = (HashMap::new(), HashMap::new());
    if let Some(since) = since
        && rows.iter().any(|row| lost_rows(row.removed_version))
    {
        remaining_rules = grouped(rules::remaining(conn, since).await?);
        remaining_overrides = grouped(overrides::remaining(conn, since).await?);
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
            remaining: lost_rows(row.removed_version).then(|| RemainingIds {
                rules: remaining_rules.remove(&tenant_id).unwrap_or_default(),
                overrides: remaining_overrides.remove(&tenant_id).unwrap_or_default(),
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
