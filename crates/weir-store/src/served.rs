//! The statements with which gates load a table of rules, overrides or profiles.

use uuid::Uuid;

/// The rows that a gate loads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Selection {
    /// The rows that changed after this version of the rulebook.
    Since(i64),
    /// All rows of these tenants.
    Tenants(TenantRange),
}

/// Tenants by their ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TenantRange {
    /// The greatest id before the range.
    pub(crate) after: Uuid,
    /// The greatest id of the range.
    pub(crate) until: Uuid,
}

/// Defines `of_rulebook` and `remaining` for a table: its name, its columns beside the tenant, which begin with `r.id`, the
/// row as Postgres returns it, the conversion of that row, and the type of the id.
macro_rules! served_rows {
    ($table:literal, $columns:literal, $row:ident, $convert:ident -> $served:ty, $id:ty) => {
        /// Returns the selected rows.
        pub(crate) async fn of_rulebook(
            conn: &mut PooledConnection,
            selection: Selection,
        ) -> Result<Vec<(TenantId, $served)>, StoreError> {
            let rows = match selection {
                Selection::Tenants(tenants) => {
                    sqlx::query_as!(
                        $row,
                        "-- "
                            + $table
                            + ".of_rulebook
                            SELECT
                                r.tenant_id,
                                "
                            + $columns
                            + "
                            FROM "
                            + $table
                            + " r
                            WHERE r.tenant_id > $1 AND r.tenant_id <= $2
                            ORDER BY r.tenant_id, r.id",
                        tenants.after,
                        tenants.until,
                    )
                    .fetch_all(conn)
                    .await?
                }
                Selection::Since(since) => {
                    sqlx::query_as!(
                        $row,
                        "-- "
                            + $table
                            + ".of_rulebook_since
                            SELECT
                                r.tenant_id,
                                "
                            + $columns
                            + "
                            FROM tenant_changes c
                            JOIN "
                            + $table
                            + " r ON r.tenant_id = c.tenant_id AND r.sequence = c.sequence
                            WHERE c.rulebook_version > $1
                            ORDER BY r.tenant_id, r.id",
                        since,
                    )
                    .fetch_all(conn)
                    .await?
                }
            };
            let tenant = |row: &$row| TenantId::from_u128(row.tenant_id.as_u128());
            Ok(rows.into_iter().map(|row| (tenant(&row), $convert(row))).collect())
        }

        /// Returns the ids of all rows of the tenants that lost a row after version `since` of the rulebook.
        pub(crate) async fn remaining(
            conn: &mut PooledConnection,
            since: i64,
        ) -> Result<Vec<(TenantId, $id)>, StoreError> {
            let rows = sqlx::query!(
                "-- "
                    + $table
                    + ".remaining
                    SELECT
                        r.tenant_id,
                        r.id
                    FROM tenants t
                    JOIN "
                    + $table
                    + " r ON r.tenant_id = t.id
                    WHERE t.version > $1 AND t.removed_version > $1
                    ORDER BY r.tenant_id, r.id",
                since,
            )
            .fetch_all(conn)
            .await?;
            let rows = rows.into_iter().map(|row| {
                let tenant_id = TenantId::from_u128(row.tenant_id.as_u128());
                (tenant_id, <$id>::from_u128(row.id.as_u128()))
            });
            Ok(rows.collect())
        }
    };
}
pub(crate) use served_rows;
