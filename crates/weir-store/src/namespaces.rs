//! Namespaces: those that have rules, and the settings of those that have any.

use uuid::Uuid;
use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{stored, unsigned, uuid};
use crate::error::StoreError;
use crate::message::{Answers, statement};
use crate::page::{Listing, Page};
use crate::served::TenantRange;

/// A namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceRow {
    /// The name.
    pub name: String,
    /// The number of its rules.
    pub rules: u64,
    /// The attributes by whose values its counters are spread.
    pub spread_by: Vec<String>,
    /// The number of writes of its settings so far.
    pub revision: u64,
    /// The version of the rulebook from which gates serve its settings; 0 if they were never written, and inside the
    /// transaction that writes them.
    pub rulebook_version: u64,
}

/// The settings of a namespace to be written.
#[derive(Debug, Clone)]
pub struct NamespaceWrite {
    /// The tenant.
    pub tenant_id: TenantId,
    /// The name.
    pub name: String,
    /// The attributes by whose values its counters are spread.
    pub spread_by: Vec<String>,
    /// The current time.
    pub now: Timestamp,
}

/// The table of namespaces.
#[derive(Debug)]
pub struct Namespaces<'t> {
    conn: &'t mut PooledConnection,
}

/// The columns as Postgres returns them.
struct Row {
    name: String,
    rules: i64,
    spread_by: Vec<String>,
    revision: i64,
    rulebook_version: Option<i64>,
}

impl<'t> Namespaces<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Returns a namespace. One that nobody wrote has the default settings and revision 0.
    pub async fn find(self, tenant_id: TenantId, name: &str) -> Result<NamespaceRow, StoreError> {
        let only = [name.to_owned()];
        let found = select(self.conn, tenant_id, None, Some(&only), 1).await?.pop();
        Ok(found.unwrap_or_else(|| NamespaceRow {
            name: name.to_owned(),
            rules: 0,
            spread_by: Vec::new(),
            revision: 0,
            rulebook_version: 0,
        }))
    }

    /// Lists the namespaces of a tenant that have rules or settings, by name: all, or those of `only`.
    pub async fn list(
        self,
        tenant_id: TenantId,
        only: Option<&[String]>,
        page: &Page<String>,
    ) -> Result<Listing<NamespaceRow>, StoreError> {
        let after = page.after.as_deref();
        Ok(page.listing(select(self.conn, tenant_id, after, only, page.fetch()).await?))
    }

    /// Returns the number of namespaces of a tenant whose counters are spread.
    pub async fn count_spread(self, tenant_id: TenantId) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- namespaces.count_spread
            SELECT count(*) AS "count!"
            FROM namespaces
            WHERE tenant_id = $1 AND spread_by <> '{}'"#,
            uuid(tenant_id.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }

    /// Writes the settings of a namespace if they still have the revision that the caller read. Changes of a tenant wait for
    /// each other, so the row needs no lock.
    pub async fn set(
        self,
        write: &NamespaceWrite,
        expected_revision: u64,
    ) -> Result<NamespaceRow, StoreError> {
        let before = Namespaces::new(&mut *self.conn).find(write.tenant_id, &write.name).await?;
        if before.revision != expected_revision {
            return Err(StoreError::Stale);
        }
        sqlx::query!(
            "-- namespaces.set
            INSERT INTO namespaces (tenant_id, name, spread_by, revision, created_at, updated_at)
            VALUES ($1, $2, $3, 1, $4, $4)
            ON CONFLICT (tenant_id, name) DO UPDATE
            SET
                spread_by = excluded.spread_by,
                revision = namespaces.revision + 1,
                updated_at = excluded.updated_at",
            uuid(write.tenant_id.to_u128()),
            write.name,
            &write.spread_by,
            stored(write.now),
        )
        .execute(&mut *self.conn)
        .await?;
        Namespaces::new(self.conn).find(write.tenant_id, &write.name).await
    }
}

/// A namespace of a tenant with the attributes by which its counters are spread.
type Spread = (TenantId, (String, Vec<String>));

/// Returns all namespaces of these tenants whose counters are spread.
pub(crate) async fn spread_of_tenants(
    conn: &mut PooledConnection,
    tenants: TenantRange,
) -> Result<Vec<Spread>, StoreError> {
    let rows = sqlx::query!(
        "-- namespaces.of_rulebook
        SELECT tenant_id, name, spread_by
        FROM namespaces
        WHERE spread_by <> '{}' AND tenant_id > $1 AND tenant_id <= $2
        ORDER BY tenant_id, name",
        tenants.after,
        tenants.until,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| spread((row.tenant_id, row.name, row.spread_by))).collect())
}

/// The statement that returns the same of the tenants that changed after version `since` of the rulebook.
pub(crate) fn changed_spread_statement(since: i64) -> String {
    statement!(
        "-- namespaces.of_rulebook_since
        SELECT n.tenant_id, n.name, n.spread_by
        FROM namespaces n
        JOIN tenants t ON t.id = n.tenant_id
        WHERE n.spread_by <> '{}' AND t.version > $1
        ORDER BY n.tenant_id, n.name",
        since,
    )
}

/// The namespaces that [`changed_spread_statement`] returned.
pub(crate) fn changed_spread(answers: &mut Answers) -> Result<Vec<Spread>, StoreError> {
    Ok(answers.rows()?.into_iter().map(spread).collect())
}

fn spread((tenant_id, name, spread_by): (Uuid, String, Vec<String>)) -> Spread {
    (TenantId::from_u128(tenant_id.as_u128()), (name, spread_by))
}

/// The namespaces after a name: all, or those of a list.
async fn select(
    conn: &mut PooledConnection,
    tenant_id: TenantId,
    after: Option<&str>,
    only: Option<&[String]>,
    limit: i64,
) -> Result<Vec<NamespaceRow>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        r#"-- namespaces.select
        SELECT
            known.name AS "name!",
            (
                SELECT count(*) FROM rules r
                WHERE r.tenant_id = $1 AND r.namespace = known.name
            ) AS "rules!",
            coalesce(n.spread_by, '{}') AS "spread_by!",
            coalesce(n.revision, 0) AS "revision!",
            (
                SELECT c.rulebook_version FROM tenant_changes c
                WHERE c.tenant_id = $1 AND c.sequence = n.sequence
            ) AS rulebook_version
        FROM (
            SELECT r.namespace AS name FROM rules r WHERE r.tenant_id = $1
            UNION
            SELECT m.name FROM namespaces m WHERE m.tenant_id = $1
        ) known
        LEFT JOIN namespaces n ON n.tenant_id = $1 AND n.name = known.name
        WHERE
            ($2::text IS NULL OR known.name COLLATE "C" > $2)
            AND ($3::text[] IS NULL OR known.name = ANY($3))
        ORDER BY known.name COLLATE "C"
        LIMIT $4"#,
        uuid(tenant_id.to_u128()),
        after,
        only,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(NamespaceRow::from).collect())
}

impl From<Row> for NamespaceRow {
    fn from(row: Row) -> Self {
        Self {
            name: row.name,
            rules: unsigned(row.rules),
            spread_by: row.spread_by,
            revision: unsigned(row.revision),
            rulebook_version: row.rulebook_version.map_or(0, unsigned),
        }
    }
}
