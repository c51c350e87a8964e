//! Loads the rulebook for gates, in one snapshot of the database.
//!
//! Changes come at once: they are at most those of 10,000 versions. The whole rulebook comes in parts of some 10,000 rows,
//! ordered by tenant, so that neither side ever holds all rows. The rows of a tenant are never divided.

use std::collections::HashMap;

use uuid::Uuid;
use weir_domain::ceilings::Ceiling;
use weir_domain::id::TenantId;

use crate::connection::PooledConnection;
use crate::convert::{signed, unsigned};
use crate::error::StoreError;
use crate::rulebook::{self, RemainingIds, RulebookChanges, TenantChanges};
use crate::served::{Selection, TenantRange};
use crate::{keys, namespaces, overrides, profiles, rules};

/// The columns of a tenant as Postgres returns them.
struct Row {
    id: Uuid,
    suspended: bool,
    record_checks: bool,
    enforced: bool,
    checks_per_second: Option<i64>,
    version: i64,
    removed_version: i64,
}

/// A statement that returns [`Row`]s: its name, the condition, and the argument of the condition after the name of the ceiling.
macro_rules! query_tenants {
    ($name:literal, $condition:literal $(, $argument:expr)+) => {
        sqlx::query_as!(
            Row,
            "-- "
                + $name
                + "
                SELECT
                    id,
                    suspended,
                    record_checks,
                    enforced,
                    (
                        SELECT c.value FROM tenant_ceilings c
                        WHERE c.tenant_id = tenants.id AND c.name = $1
                    ) AS checks_per_second,
                    version,
                    removed_version
                FROM tenants
                WHERE "
                + $condition
                + "
                ORDER BY id",
            Ceiling::ChecksPerSecond.as_str(),
            $($argument),+
        )
    };
}

/// Loads the changes after version `since`.
pub(crate) async fn changes(
    conn: &mut PooledConnection,
    since: u64,
) -> Result<RulebookChanges, StoreError> {
    let since = signed(since);
    let mut changes = without_tenants(conn, false).await?;
    let rows = query_tenants!("rulebook.tenants_since", "version > $2", since)
        .fetch_all(&mut *conn)
        .await?;
    let lost_rows: Vec<_> = rows.iter().map(|row| row.removed_version > since).collect();
    changes.tenants = with_rows(conn, rows, Selection::Since(since)).await?;
    if lost_rows.contains(&true) {
        let mut rules = grouped(rules::remaining(conn, since).await?);
        let mut overrides = grouped(overrides::remaining(conn, since).await?);
        let mut profiles = grouped(profiles::remaining(conn, since).await?);
        for (tenant, _) in changes.tenants.iter_mut().zip(lost_rows).filter(|(_, lost)| *lost) {
            let rules = rules.remove(&tenant.tenant_id).unwrap_or_default();
            let overrides = overrides.remove(&tenant.tenant_id).unwrap_or_default();
            let profiles = profiles.remove(&tenant.tenant_id).unwrap_or_default();
            tenant.remaining = Some(RemainingIds { rules, overrides, profiles });
        }
    }
    changes.deleted = deleted_since(conn, since).await?;
    Ok(changes)
}

/// The state of a load of the whole rulebook.
#[derive(Debug)]
pub(crate) struct WholeLoad {
    empty: RulebookChanges,
    rows_per_part: u32,
    /// The last tenant that was loaded. `None` after the last part.
    after: Option<Uuid>,
}

impl WholeLoad {
    /// Begins to load the rulebook. A part has at most this number of rows of each table, unless a single tenant has more.
    pub(crate) async fn begin(
        conn: &mut PooledConnection,
        rows_per_part: u32,
    ) -> Result<Self, StoreError> {
        let empty = without_tenants(conn, true).await?;
        Ok(Self { empty, rows_per_part: rows_per_part.max(1), after: Some(Uuid::nil()) })
    }

    /// Loads the next part. There is at least one.
    pub(crate) async fn next(
        &mut self,
        conn: &mut PooledConnection,
    ) -> Result<Option<RulebookChanges>, StoreError> {
        let Some(after) = self.after else { return Ok(None) };
        let end = part_end(conn, after, self.rows_per_part).await?;
        let range = TenantRange { after, until: end.unwrap_or_else(Uuid::max) };
        let rows =
            query_tenants!("rulebook.tenants", "id > $2 AND id <= $3", range.after, range.until)
                .fetch_all(&mut *conn)
                .await?;
        let tenants = with_rows(conn, rows, Selection::Tenants(range)).await?;
        self.after = end;
        Ok(Some(RulebookChanges { tenants, ..self.empty.clone() }))
    }
}

/// The last tenant of the part after a tenant: the first one with which a table reaches `rows`. `None` for the last part.
async fn part_end(
    conn: &mut PooledConnection,
    after: Uuid,
    rows: u32,
) -> Result<Option<Uuid>, StoreError> {
    let end = sqlx::query_scalar!(
        r#"-- rulebook.part_end
        SELECT least(
            (SELECT id FROM tenants WHERE id > $1 ORDER BY id OFFSET $2 LIMIT 1),
            (SELECT tenant_id FROM api_keys WHERE tenant_id > $1 ORDER BY tenant_id OFFSET $2 LIMIT 1),
            (SELECT tenant_id FROM rules WHERE tenant_id > $1 ORDER BY tenant_id OFFSET $2 LIMIT 1),
            (SELECT tenant_id FROM overrides WHERE tenant_id > $1 ORDER BY tenant_id OFFSET $2 LIMIT 1),
            (SELECT tenant_id FROM profiles WHERE tenant_id > $1 ORDER BY tenant_id OFFSET $2 LIMIT 1)
        ) AS "end""#,
        after,
        i64::from(rows) - 1,
    )
    .fetch_one(conn)
    .await?;
    Ok(end)
}

/// Everything but the tenants.
async fn without_tenants(
    conn: &mut PooledConnection,
    whole: bool,
) -> Result<RulebookChanges, StoreError> {
    let version = rulebook::version(conn).await?;
    let (enforced, checks_per_second) = installation(conn).await?;
    let (tenants, deleted) = (Vec::new(), Vec::new());
    Ok(RulebookChanges { version, whole, enforced, checks_per_second, tenants, deleted })
}

async fn with_rows(
    conn: &mut PooledConnection,
    tenants: Vec<Row>,
    selection: Selection,
) -> Result<Vec<TenantChanges>, StoreError> {
    let keys = keys::of_rulebook(conn, selection).await?;
    let mut keys = grouped(keys.into_iter().map(|key| (key.tenant_id, key)));
    let mut rules = grouped(rules::of_rulebook(conn, selection).await?);
    let mut overrides = grouped(overrides::of_rulebook(conn, selection).await?);
    let mut profiles = grouped(profiles::of_rulebook(conn, selection).await?);
    let mut spread = grouped(namespaces::spread(conn, selection).await?);
    let tenants = tenants.into_iter().map(|row| {
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
            profiles: profiles.remove(&tenant_id).unwrap_or_default(),
            spread: spread.remove(&tenant_id).unwrap_or_default(),
            remaining: None,
        }
    });
    Ok(tenants.collect())
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

fn grouped<T>(rows: impl IntoIterator<Item = (TenantId, T)>) -> HashMap<TenantId, Vec<T>> {
    let mut groups: HashMap<TenantId, Vec<T>> = HashMap::new();
    for (tenant_id, row) in rows {
        groups.entry(tenant_id).or_default().push(row);
    }
    groups
}
